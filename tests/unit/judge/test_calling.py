"""One call: its reasons, what it counts, and what the breaker hears of it."""

from random import Random

import pytest
import structlog
from fake_judge import USAGE, FakeJudge, price

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.breaker import Breaker, BreakerConfig, BreakerState
from otel_raglog.judge.calling import Caller, Reason, Tally, expected_of_ask, expected_of_question
from otel_raglog.judge.client import Ask, Question, Reply, Usage, YesShare
from otel_raglog.judge.retrying import Retrier, RetryConfig

ASK = Ask("Grade.", "A run.", "graded_stage", {"type": "object"})
REPLY = Reply("{}", USAGE)
QUESTION = Question("Answer.", "Is it so?")


class Calls:
    """A caller of a fake LLM that fails as told, each try taking ``seconds``."""

    def __init__(self, *failures, seconds=1.0, reply=REPLY, opens_after=1):
        self.clock = ManualClock()
        self.failures = list(failures)
        self.seconds = seconds
        self.reply = reply
        self.judge = FakeJudge(self.answer, self.share)
        self.breaker = Breaker(self.clock, BreakerConfig(failures=opens_after))
        retries = RetryConfig(tries=3, seconds=30)
        retrier = Retrier(retries, self.clock, Random(1), self.wait)
        self.caller = Caller(self.judge, retrier, self.breaker, self.clock)
        self.tally = Tally(price)

    def wait(self, seconds):
        self.clock.advance(seconds)
        return False

    def answer(self, _):
        self.clock.advance(self.seconds)
        if self.failures:
            raise self.failures.pop(0)
        return self.reply

    def share(self, _):
        self.answer(_)
        return YesShare(0.75, USAGE)

    def ask(self, seconds=30.0):
        return self.caller.ask(ASK, self.clock.monotonic() + seconds, self.tally)


def test_a_reply_is_counted_with_its_tokens_and_their_price():
    """And closes the breaker."""
    calls = Calls()
    assert calls.ask() is REPLY
    tally = calls.tally
    assert (tally.calls, tally.retries, tally.usage) == (1, 0, USAGE)
    assert tally.cost_usd == pytest.approx(110 * 0.00001)
    assert tally.spent() == (110, tally.cost_usd)


def test_tries_after_the_first_are_retries():
    """All of them are calls; only the answer's tokens were told."""
    calls = Calls(Unavailable("x", 1.0), Unavailable("x", 1.0))
    assert isinstance(calls.ask(), Reply)
    assert (calls.tally.calls, calls.tally.retries, calls.tally.usage) == (3, 2, USAGE)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Unavailable("x", 60.0), Reason.RATE_LIMITED),
        (Unavailable("x", 1.0), Reason.RATE_LIMITED),
        (Unavailable("x"), Reason.UNAVAILABLE),
        (Rejected("x", "unauthorized"), Reason.UNAUTHORIZED),
        (Rejected("x", "too_large"), Reason.TOO_LARGE),
        (Rejected("x", "malformed"), Reason.MALFORMED),
        (Rejected("x", "refused"), Reason.REFUSED),
        (Rejected("x", "no_logprobs"), Reason.NO_LOGPROBS),
        (Rejected("x", "http_418"), Reason.ERROR),
    ],
)
def test_each_failure_has_its_reason(failure, reason):
    """In words that a metric can have."""
    assert Calls(*[failure] * 3).ask() is reason


def test_a_call_that_takes_all_its_time_is_a_time_out():
    """Whatever the client calls it."""
    assert Calls(Unavailable("no whole reply"), seconds=30).ask() is Reason.TIMEOUT


def test_without_time_left_there_is_no_call():
    """The run waited for its turn for too long."""
    calls = Calls()
    assert calls.ask(seconds=0) is Reason.TIMEOUT
    assert calls.tally.calls == 0


def test_while_the_breaker_is_open_there_is_no_call():
    """Nor a retry once another call has opened it."""
    calls = Calls(Unavailable("x"))
    calls.breaker.failed()
    assert calls.ask() is Reason.BREAKER_OPEN
    assert calls.tally.calls == 0


def test_an_answer_that_was_cut_off_costs_and_is_none():
    """Its JSON has no end."""
    calls = Calls(reply=Reply('{"a": ', USAGE, complete=False))
    assert calls.ask() is Reason.CUT_OFF
    assert calls.tally.usage == USAGE


@pytest.mark.parametrize(
    ("failures", "state"),
    [
        ([Unavailable("x")] * 3, BreakerState.OPEN),
        ([Unavailable("x")] * 2, BreakerState.CLOSED),
        ([Rejected("x", "unauthorized")], BreakerState.OPEN),
        ([Rejected("x", "malformed")], BreakerState.OPEN),
        ([Rejected("x", "refused")], BreakerState.CLOSED),
        ([Rejected("x", "prompt_too_large")], BreakerState.CLOSED),
    ],
)
def test_the_breaker_hears_of_calls_not_of_tries(failures, state):
    """What a provider says of this run alone is no failure of the provider."""
    calls = Calls(*failures)
    calls.ask()
    assert calls.breaker.state is state


@pytest.mark.parametrize(("seconds", "state"), [(30, "open"), (5, "open"), (1, "closed")])
def test_a_time_out_counts_against_the_provider_if_it_had_time(seconds, state):
    """A run that waited long for its turn leaves little."""
    calls = Calls(Unavailable("x"), seconds=seconds)
    assert calls.ask(seconds) is Reason.TIMEOUT
    assert calls.breaker.state.value == state


@pytest.mark.parametrize("reason", ["too_large", "malformed"])
def test_what_a_provider_may_charge_for_without_saying_so_is_spent(reason):
    """The budget counts it; the cost that is shown does not."""
    calls = Calls(Rejected("x", reason))
    calls.ask()
    tokens, usd = calls.tally.spent()
    assert (tokens, calls.tally.cost_usd) == (expected_of_ask(ASK).total, 0.0)
    assert usd == pytest.approx(tokens * 0.00001)


def test_without_a_price_the_cost_is_unknown():
    """Also before the first call."""
    tally = Tally(lambda _: None)
    tally.charge(USAGE)
    assert (tally.cost_usd, tally.spent()) == (None, (110, None))


def test_a_question_is_asked_like_a_check():
    """With its tokens."""
    calls = Calls(Unavailable("x", 1.0))
    share = calls.caller.first_token(QUESTION, 30.0, calls.tally)
    assert (share, calls.tally.calls) == (YesShare(0.75, USAGE), 2)


def test_the_first_failure_of_each_kind_is_logged():
    """With what the client said, once."""
    calls = Calls(
        Rejected("HTTP 402", "x"), Rejected("HTTP 402", "x"), Unavailable("broken", 90.0),
        opens_after=9,
    )  # fmt: skip
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            calls.ask()
    assert [(line["reason"], line["problem"]) for line in logs] == [
        ("error", "HTTP 402"),
        ("rate_limited", "broken"),
    ]


def test_what_is_expected_is_rather_more_than_less():
    """A quarter of the characters, and a long answer, but no longer than allowed."""
    assert expected_of_ask(Ask("s" * 400, "p" * 4_000, "x", {}, 1_500)) == Usage(1_101, 500)
    assert expected_of_ask(Ask("", "", "x", {}, 50)).completion_tokens == 50
    assert expected_of_question(Question("s" * 400, "p" * 4_000)) == Usage(1_100, 1)

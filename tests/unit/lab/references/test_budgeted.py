"""Requests to an LLM that cost no more than they may."""

from random import Random

import pytest
from judge_fakes import FakeClient

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.budget import Budget, BudgetLimits
from otel_raglog.judge.client import Ask, Question, Reply, Usage
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.lab.references.asking import PatientClient
from otel_raglog.lab.references.budgeted import BudgetedClient

REQUEST = Ask("system", "prompt", "word", {}, max_tokens=10)
REPLY = Reply("{}", Usage(3, 2))


def priced(usage):
    return usage.total / 100


class Waits:
    """Waits by turning the clock; remembers how long."""

    def __init__(self, clock):
        self.clock = clock
        self.seconds = []

    def __call__(self, seconds):
        self.seconds.append(seconds)
        self.clock.advance(seconds)
        return False


def limited(says, **limits):
    """Return a client within a budget, the one that it asks, its waits, and the budget."""
    clock = ManualClock()
    asked, waits = FakeClient(says), Waits(clock)
    budget = Budget(BudgetLimits(**limits), None, clock)
    patient = PatientClient(asked, Retrier(RetryConfig(2, 30), clock, Random(1), waits))
    return BudgetedClient(patient, budget, priced, clock, waits), asked, waits, budget


def test_what_a_reply_took_is_counted_in_place_of_what_was_expected():
    """Tokens and USD, for the budget and in all."""
    client, _, _, budget = limited([REPLY])
    assert client.ask(REQUEST, 9) == REPLY
    client.ask(REQUEST, 9)
    assert (client.calls, client.usage, client.cost_usd) == (2, Usage(6, 4), pytest.approx(0.1))
    assert budget.spent().minute_tokens == 10
    assert budget.spent().hour_usd == pytest.approx(0.1)


def test_nothing_is_sent_beyond_the_budget():
    """Not even what would fit: it has ended for good."""
    client, asked, waits, _ = limited([Reply("{}", Usage(50, 40))])
    client.ask(REQUEST, 9)
    for request in (REQUEST, Ask("", "", "w", {}, max_tokens=1)):
        with pytest.raises(Rejected, match="usd_per_hour") as error:
            client.ask(request, 9)
        assert error.value.reason == "budget"
    assert (len(asked.asked), waits.seconds) == (1, [])


def test_tokens_of_the_next_minute_are_waited_for():
    """That limit keeps calls apart, and ends nothing."""
    client, asked, waits, _ = limited([Reply("{}", Usage(9, 9))], tokens_per_minute=20)
    client.ask(REQUEST, 9)
    client.ask(REQUEST, 9)
    assert len(asked.asked) == 2
    assert 0 < sum(waits.seconds) <= 61


def test_a_request_beyond_a_limit_at_any_time_stops_no_other():
    """It alone is refused."""
    client, asked, _, _ = limited([REPLY], tokens_per_minute=20)
    with pytest.raises(Rejected):
        client.ask(Ask("system", "prompt " * 100, "word", {}), 9)
    client.ask(REQUEST, 9)
    assert len(asked.asked) == 1


@pytest.mark.parametrize(
    ("failure", "charged"),
    [
        (Rejected("no", "malformed"), True),
        (Rejected("no", "prompt_too_large"), False),
        (Unavailable("busy"), False),
    ],
)
def test_failures_that_may_be_charged_for_stay_spent(failure, charged):
    """Each try is a call; what the provider did not tell is no usage."""
    client, asked, _, budget = limited([failure])
    with pytest.raises(type(failure)):
        client.ask(REQUEST, 9)
    assert bool(budget.spent().minute_tokens) is charged
    assert client.calls == len(asked.asked)
    assert client.usage == Usage()


def test_a_call_that_ran_out_of_time_stays_spent():
    """The provider may have answered."""
    client, _, waits, budget = limited(lambda _: (waits(9), Unavailable("slow"))[1])
    with pytest.raises(Unavailable):
        client.ask(REQUEST, 9)
    assert budget.spent().minute_tokens > 0


def test_it_is_the_client_that_it_asks():
    """By name; it closes it, and knows no questions of yes and no."""
    client, asked, _, _ = limited([REPLY])
    assert (client.provider, client.model) == ("fake", "m")
    with pytest.raises(Rejected):
        client.first_token(Question("", ""), 1)
    client.close()
    assert asked.closed

"""T41: whatever a provider of LLMs does, a check ends with an answer or with its reason."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_judge import UNLIMITED, make_asker
from handbook_runs import make_run
from judge_behaviours import (
    Behaviour,
    after,
    breaks_api,
    breaks_json,
    breaks_schema,
    drips,
    fails,
    floods,
    refuses,
    resets,
    truncates,
)
from judge_server import JudgeServer

from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.clock import SystemClock
from otel_raglog.judge.asking import AskerConfig
from otel_raglog.judge.breaker import Breaker, BreakerConfig, BreakerState
from otel_raglog.judge.budget import Budget, BudgetLimits
from otel_raglog.judge.calling import Reason
from otel_raglog.judge.clients import build_client
from otel_raglog.judge.parts import Mode
from otel_raglog.judge.retrying import RetryConfig

RUN = make_run(rewrites=["vacation days"], embedded=["vacation days"], selected=["vacation"])
KEYS = [check.key for check in JUDGE_CHECKS]
CLOCK = SystemClock()
QUICK = RetryConfig(tries=3, seconds=20, first_seconds=0.01, most_seconds=0.02)
LONG = 20.0


@pytest.fixture
def server():
    with JudgeServer() as server:
        yield server


def client_of(server, provider):
    return build_client(
        provider,
        "test-model",
        endpoint=server.url_anthropic if provider == "anthropic" else server.url_openai,
        key="test-key",
        max_reply_bytes=1_000_000,
        connections=8,
        clock=CLOCK,
    )


@pytest.fixture(params=["anthropic", "openai"])
def provider(request):
    return request.param


@pytest.fixture
def askers(server):
    """Make askers of the server, and close them afterwards."""
    made = []

    def make(provider, retries=QUICK, breaker=None, budget=None, mode=Mode.JSON):
        made.append(
            make_asker(
                client_of(server, provider),
                CLOCK,
                config=AskerConfig(mode=mode, retries=retries),
                breaker=breaker or Breaker(CLOCK, BreakerConfig(failures=99)),
                budget=budget or Budget(UNLIMITED, None, CLOCK),
            )
        )
        return made[-1]

    yield make
    for asker in made:
        asker.close()


def test_t41_the_five_checks_of_a_run_take_as_long_as_the_slowest(askers, server, provider):
    """The server answers none before all five are there, and they never queue."""
    barrier = threading.Barrier(len(KEYS))

    def answer(_):
        barrier.wait(LONG)

    server.answer = answer
    outcome = askers(provider).ask(RUN)
    assert (outcome.abstained, outcome.calls) == ({}, 5)
    assert server.peak == 5


@pytest.mark.parametrize(
    ("behaviour", "reason", "calls"),
    [
        pytest.param(fails(429, retry_after="60"), Reason.RATE_LIMITED, 1, id="429-later"),
        pytest.param(fails(429, retry_after="0.01"), Reason.RATE_LIMITED, 3, id="429-soon"),
        pytest.param(fails(500), Reason.UNAVAILABLE, 3, id="500"),
        pytest.param(fails(529), Reason.UNAVAILABLE, 3, id="529"),
        pytest.param(resets(), Reason.UNAVAILABLE, 3, id="reset"),
        pytest.param(floods(), Reason.TOO_LARGE, 1, id="10-MB"),
        pytest.param(breaks_api(), Reason.MALFORMED, 1, id="no-reply-of-the-API"),
        pytest.param(breaks_json(), Reason.MALFORMED, 2, id="malformed-JSON"),
        pytest.param(breaks_schema(), Reason.MALFORMED, 2, id="wrong-schema"),
        pytest.param(refuses(), Reason.REFUSED, 1, id="declined"),
        pytest.param(truncates(), Reason.CUT_OFF, 1, id="cut-off"),
        # These open the breaker at once: the other checks are to be out by then.
        pytest.param(after(0.5, fails(401)), Reason.UNAUTHORIZED, 1, id="401"),
        pytest.param(after(0.5, fails(403)), Reason.UNAUTHORIZED, 1, id="403"),
        pytest.param(fails(402), Reason.PAYMENT_REQUIRED, 1, id="402"),
        pytest.param(fails(404), Reason.NO_SUCH_MODEL, 1, id="404"),
        pytest.param(fails(413), Reason.PROMPT_TOO_LARGE, 1, id="413"),
    ],
)
def test_t41_each_failure_ends_in_its_reason(askers, server, provider, behaviour, reason, calls):
    """The other checks are answered, and it is tried as often as it makes sense."""

    def answer(request):
        return behaviour if request.check == "verification" else None

    server.answer = answer
    outcome = askers(provider).ask(RUN)
    assert outcome.abstained == {"verification": reason}
    assert server.count("verification") == calls
    assert outcome.calls == calls + 4
    assert outcome.answers.statements is not None
    assert not any("verified" in item.name for item in outcome.measurements)


@pytest.mark.parametrize("behaviour", [drips(0.2), drips(0.2, headers=True), Behaviour(delay=LONG)])
def test_t41_a_reply_that_takes_too_long_is_a_time_out(askers, server, provider, behaviour):
    """However slowly bytes come."""
    server.answer = lambda request: behaviour if request.check == "verification" else None
    outcome = askers(provider, RetryConfig(seconds=1.0)).ask(RUN)
    assert outcome.abstained == {"verification": Reason.TIMEOUT}
    assert server.count("verification") == 1


@pytest.mark.parametrize(
    "first", [fails(429, retry_after="0.01"), fails(500), resets(), breaks_json(), breaks_schema()]
)
def test_t41_what_passes_costs_a_retry(askers, server, provider, first):
    """A run whose calls all fail once is answered all the same."""
    seen = set()

    def answer(request):
        return None if request.check in seen else seen.add(request.check) or first

    server.answer = answer
    outcome = askers(provider).ask(RUN)
    assert (outcome.abstained, outcome.calls, outcome.retries) == ({}, 10, 5)


def test_t41_without_a_server_checks_abstain(provider):
    """A refused connection is tried again, and no exception leaves."""
    with JudgeServer() as gone:
        client = client_of(gone, provider)
    asker = make_asker(client, CLOCK, config=AskerConfig(retries=QUICK))
    outcome = asker.ask(RUN)
    asker.close()
    assert outcome.abstained == dict.fromkeys(KEYS, Reason.UNAVAILABLE)
    assert outcome.retries == 10


def test_t41_a_provider_that_is_down_is_left_alone(askers, server, provider):
    """After the calls of one run, until the back-off is over."""
    server.answer = lambda _: fails(500)
    breaker = Breaker(CLOCK)
    asker = askers(provider, RetryConfig(tries=1), breaker)
    assert asker.ask(RUN).abstained == dict.fromkeys(KEYS, Reason.UNAVAILABLE)
    assert breaker.state is BreakerState.OPEN
    assert asker.ask(RUN).abstained == dict.fromkeys(KEYS, Reason.BREAKER_OPEN)
    assert server.count() == 5


def test_t41_a_server_without_log_probabilities_cannot_be_asked_by_first_tokens(askers, server):
    """The reason says what is missing; with them, every question is answered."""
    asker = askers("openai", mode=Mode.FIRST_TOKEN)
    found = asker.ask(RUN)
    assert found.abstained == {}
    assert all(item.value == pytest.approx(0.1) for item in found.measurements)
    server.logprobs = False
    assert set(asker.ask(RUN).abstained.values()) == {Reason.NO_LOGPROBS}


def test_t41_a_budget_that_is_used_up_ends_all_calls_and_a_restart_does_not_forget(
    askers, server, provider, tmp_path
):
    """The second run would cost more than is left, also for the next process."""
    limits = BudgetLimits(usd_per_hour=0.25, usd_per_day=0.25, tokens_per_minute=0)
    budgets = [Budget(limits, tmp_path / "spent.json", CLOCK)]
    asker = askers(provider, budget=budgets[0])
    outcomes = [asker.ask(RUN) for _ in range(12)]
    asked = [outcome for outcome in outcomes if outcome.calls]
    assert 0 < len(asked) < 12
    assert outcomes[-1].abstained == dict.fromkeys(KEYS, Reason.BUDGET)
    budgets[0].close()
    again = askers(provider, budget=Budget(limits, tmp_path / "spent.json", CLOCK))
    assert again.ask(RUN).abstained == dict.fromkeys(KEYS, Reason.BUDGET)
    assert server.count() == 5 * len(asked)


PROCESS = """
import sys
from pathlib import Path
from fake_judge import UNLIMITED, make_asker
from handbook_runs import make_run
from otel_raglog.clock import SystemClock
from otel_raglog.judge.budget import Budget
from otel_raglog.judge.clients import build_client
clock = SystemClock()
client = build_client(
    sys.argv[1], "m", endpoint=sys.argv[2], key="k", max_reply_bytes=10**6, connections=8, clock=clock
)
asker = make_asker(client, clock, budget=Budget(UNLIMITED, Path(sys.argv[3]), clock))
future = asker.submit(make_run())
input()
asker.close(0.1)
print(sorted(set(future.result().abstained.values())))
"""


@pytest.fixture
def process(server, provider, tmp_path):
    """Another process whose calls hang, once all of them are there."""
    arrived, leave = threading.Semaphore(0), threading.Event()

    def answer(_):
        arrived.release()
        leave.wait(LONG)

    server.answer = answer
    url = server.url_anthropic if provider == "anthropic" else server.url_openai
    command = [sys.executable, "-c", PROCESS, provider, url, tmp_path / "spent.json"]
    support = Path(__file__).parent.parent / "support"
    with subprocess.Popen(
        command, cwd=support, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in KEYS:
            assert arrived.acquire(timeout=LONG)
        yield process
        leave.set()
        process.kill()


def test_t41_what_a_killed_process_was_about_to_spend_is_spent(process, tmp_path):
    """Its calls are out: the provider may charge for them."""
    process.kill()
    assert process.wait(LONG) == -signal.SIGKILL
    spent = Budget(UNLIMITED, tmp_path / "spent.json", CLOCK).spent()
    assert spent.minute_tokens > 1_000
    assert spent.hour_usd > 0


def test_t41_calls_that_hang_do_not_keep_a_process_from_ending(process):
    """It ends when told, not when the calls do."""
    out, _ = process.communicate("\n", timeout=10)
    assert process.returncode == 0
    assert "stopped" in out

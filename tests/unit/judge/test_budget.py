"""The budget: what it admits, what it counts, and what outlives the process."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import structlog

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError
from otel_raglog.judge.budget import Budget, BudgetLimits, Limit, Refusal, Reservation, Spent

NOON = 1_800_014_400
LIMITS = BudgetLimits(usd_per_hour=1, usd_per_day=3, tokens_per_minute=1_000)


@pytest.fixture
def clock():
    return ManualClock(NOON)


def budget(clock, path=None, *, priced=True, **limits):
    chosen = BudgetLimits(**limits) if limits else LIMITS
    return Budget(chosen, path, clock, priced=priced)


def spend(found, tokens=0, usd=0.0):
    """Reserve and settle so much, which must be admitted."""
    reservation = found.admit(tokens, usd)
    assert isinstance(reservation, Reservation), reservation
    found.settle(reservation, tokens, usd)


def test_what_is_reserved_counts_until_it_is_settled(clock):
    """Then what it came to does."""
    found = budget(clock)
    reservation = found.admit(400, 0.5)
    assert found.spent() == Spent(0.5, 0.5, 400)
    found.settle(reservation, 100, 0.25)
    assert found.spent() == Spent(0.25, 0.25, 100)


def test_an_hour_that_is_spent_ends_with_the_hour(clock):
    """The refusal says when that is."""
    found = budget(clock)
    clock.advance(600)
    spend(found, usd=0.9)
    refusal = found.admit(0, 0.2)
    assert (refusal.limit, refusal.retry_after_seconds) == (Limit.USD_PER_HOUR, 3_000)
    assert "0.1000 of 1 USD are left" in refusal.message
    clock.advance(3_000)
    spend(found, usd=0.2)


def test_a_day_that_is_spent_ends_at_midnight(clock):
    """However little the hour has cost."""
    found = budget(clock)
    for _ in range(3):
        spend(found, usd=1.0)
        clock.advance(3_600)
    refusal = found.admit(0, 0.1)
    assert (refusal.limit, refusal.retry_after_seconds) == (Limit.USD_PER_DAY, 9 * 3_600)
    clock.advance(9 * 3_600)
    spend(found, usd=0.1)


def test_no_minute_has_more_tokens_than_the_limit(clock):
    """Any minute, not one by the clock."""
    found = budget(clock)
    spend(found, tokens=600)
    clock.advance(30)
    spend(found, tokens=400)
    refusal = found.admit(500, None)
    assert (refusal.limit, refusal.retry_after_seconds) == (Limit.TOKENS_PER_MINUTE, 31)
    clock.advance(30)
    assert isinstance(found.admit(500, None), Refusal)
    clock.advance(1)
    spend(found, tokens=500)


@pytest.mark.parametrize(("tokens", "usd"), [(1_001, None), (0, 1.1), (0, 3.1)])
def test_a_run_that_no_budget_is_enough_for_is_refused_for_good(clock, tokens, usd):
    """There is no point in waiting."""
    assert budget(clock).admit(tokens, usd).retry_after_seconds is None


def test_the_limits_can_be_reached_and_not_passed(clock):
    """The last cent and the last token can be spent."""
    found = budget(clock)
    spend(found, tokens=1_000, usd=1.0)
    assert isinstance(found.admit(1, 0.0), Refusal)
    assert isinstance(found.admit(0, 0.001), Refusal)


def test_without_a_price_only_tokens_are_limited(clock):
    """And the description says so."""
    found = budget(clock, priced=False)
    spend(found, tokens=1_000, usd=None)
    assert found.admit(1, None).limit is Limit.TOKENS_PER_MINUTE
    assert "no known price" in found.describe()


def test_no_limit_on_tokens_and_no_usd_at_all(clock):
    """0 means the one and the other."""
    found = budget(clock, usd_per_hour=0, usd_per_day=0, tokens_per_minute=0)
    spend(found, tokens=10**9, usd=0.0)
    assert found.admit(1, 0.0001).limit is Limit.USD_PER_HOUR
    assert found.describe() == "any number of tokens; at most 0 USD an hour and 0 USD a day (UTC)"


def test_runs_that_are_asked_about_at_once_do_not_pass_a_limit_together(clock, tmp_path):
    """Of 32 that would cost 0.1 USD, ten go."""
    found = budget(clock, tmp_path / "spent.json")
    barrier, answers = threading.Barrier(32), []

    def admit():
        barrier.wait()
        answers.append(found.admit(1, 0.0999))

    threads = [threading.Thread(target=admit) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(answer, Reservation) for answer in answers) == 10


def test_a_restart_does_not_forget(clock, tmp_path):
    """Not the hour, the day or the minute, nor what was reserved."""
    first = budget(clock, tmp_path / "spent.json")
    spend(first, tokens=300, usd=0.5)
    first.admit(200, 0.25)
    assert budget(clock, tmp_path / "spent.json").spent() == Spent(0.75, 0.75, 500)


def test_processes_with_one_file_share_a_budget(clock, tmp_path):
    """A service, and a command beside it."""
    service, command = (budget(clock, tmp_path / "spent.json") for _ in range(2))
    reservation = service.admit(0, 0.75)
    assert isinstance(command.admit(0, 0.5), Refusal)
    service.settle(reservation, 0, 0.25)
    spend(command, usd=0.5)
    assert service.spent().hour_usd == 0.75


def test_who_deletes_the_file_begins_anew(clock, tmp_path):
    """Without a restart."""
    found = budget(clock, tmp_path / "spent.json")
    spend(found, usd=1.0)
    (tmp_path / "spent.json").unlink()
    spend(found, usd=1.0)


KILLED = """
import os, signal, sys
from pathlib import Path
from otel_raglog.clock import ManualClock
from otel_raglog.judge.budget import Budget, BudgetLimits
budget = Budget(BudgetLimits(1, 3, 1_000), Path(sys.argv[1]), ManualClock(float(sys.argv[2])))
budget.settle(budget.admit(10, 0.125), 10, 0.125)
budget.admit(500, 0.5)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_was_about_to_spend_what_it_had_reserved(clock, tmp_path):
    """It may have sent the calls: what they cost nobody knows any more."""
    path = tmp_path / "spent.json"
    killed = subprocess.run([sys.executable, "-c", KILLED, path, str(NOON)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert budget(clock, path).spent() == Spent(0.625, 0.625, 510)


@pytest.mark.parametrize(("hour", "day_usd"), [(0, 1.0), (1, 2.0), (12, 3.0)])
def test_after_damage_what_may_have_been_spent_counts_as_spent(tmp_path, hour, day_usd):
    """The hour's limit for each hour of the day, at most the day's; the file is put aside, and told."""
    path = tmp_path / "spent.json"
    path.write_text("{")
    clock = ManualClock(NOON + (hour - 12) * 3_600)
    with structlog.testing.capture_logs() as logs:
        found = budget(clock, path)
        assert found.spent() == Spent(1.0, day_usd, 1_000)
    assert [line["event"] for line in logs] == ["judge_budget_damaged"]
    assert (tmp_path / "spent.json.damaged").read_text() == "{"
    clock.advance(3_600)
    assert isinstance(found.admit(0, 0.5), Refusal) is (hour == 12)


def test_damage_while_it_runs_is_the_same(clock, tmp_path):
    """Whoever wrote into the file."""
    found = budget(clock, tmp_path / "spent.json")
    (tmp_path / "spent.json").write_text("")
    assert found.spent().hour_usd == 1.0


def test_a_place_where_nothing_can_be_written_is_told_at_the_start(clock, tmp_path):
    """With the option's name."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"judge\.budget\.path"):
        budget(clock, tmp_path / "file" / "spent.json")
    (tmp_path / "spent.json").mkdir()
    with pytest.raises(ConfigError, match=r"judge\.budget\.path"):
        budget(clock, tmp_path / "spent.json")


def test_a_disk_that_fails_later_stops_the_keeping_and_not_the_counting(clock, tmp_path):
    """It is told once, and what was counted meanwhile is written when the disk is back."""
    path = tmp_path / "spent.json"
    found = budget(clock, path)
    spend(found, usd=0.25)
    (tmp_path / "spent.json.new").mkdir()
    with structlog.testing.capture_logs() as logs:
        spend(found, usd=0.25)
        spend(found, usd=0.25)
        assert isinstance(found.admit(0, 0.5), Refusal)
    assert [line["event"] for line in logs] == ["judge_budget_only_in_memory"]
    (tmp_path / "spent.json.new").rmdir()
    spend(found, usd=0.125)
    assert budget(clock, path).spent().hour_usd == 0.875


def test_after_it_is_closed_it_counts_in_memory(clock, tmp_path):
    """A call that ends late harms nothing."""
    found = budget(clock, tmp_path / "spent.json")
    reservation = found.admit(0, 0.5)
    found.close()
    found.close()
    found.settle(reservation, 0, 0.25)
    assert found.spent().hour_usd == 0.25
    assert budget(clock, tmp_path / "spent.json").spent().hour_usd == 0.5


def test_it_takes_a_descriptor_and_gives_it_back(clock, tmp_path):
    """However often a command is run in one process."""
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(5):
        budget(clock, tmp_path / "spent.json").close()
    assert len(list(descriptors.iterdir())) == before

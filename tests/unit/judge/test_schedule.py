"""The schedule: which runs an LLM is asked about, and why not about the others."""

import threading

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.judge.schedule import Choice, Schedule, ScheduleConfig, When


class Runs:
    """A schedule and its clock; runs are numbered."""

    def __init__(self, when="always", **config):
        self.clock = ManualClock()
        self.schedule = Schedule(ScheduleConfig(When(when), **config), self.clock)
        self.number = 0

    def choose(self, *, uncertain=True, disliked=False, key=None):
        self.number += 1
        key = f"run-{self.number}" if key is None else key
        return self.schedule.choose(key, uncertain=uncertain, disliked=disliked)

    def asked(self, count, **run):
        """Return the numbers of those of ``count`` runs that are asked about."""
        return [n for n in range(1, count + 1) if self.choose(**run) is Choice.ASKED]


def test_always_asks_about_every_run():
    """However sure the detector is."""
    assert Runs("always").choose(uncertain=False) is Choice.ASKED


@pytest.mark.parametrize(
    ("uncertain", "choice"), [(True, Choice.ASKED), (False, Choice.NOT_UNCERTAIN)]
)
def test_escalate_asks_where_the_answer_may_change_a_verdict(uncertain, choice):
    """Elsewhere the reason is told."""
    assert Runs("escalate").choose(uncertain=uncertain) is choice


def test_never_asks_about_none():
    """Not even about those that a user marked as bad."""
    assert Runs("never").choose(disliked=True) is Choice.NEVER


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_sample_is_a_share_of_the_runs(share):
    """Within what chance allows for 4,000 runs; none and all are exact."""
    asked = len(Runs("sample", sample=share).asked(4_000))
    assert asked == pytest.approx(4_000 * share, abs=100 * (0 < share < 1))


def test_a_run_is_in_the_sample_of_every_process_or_of_none():
    """By its id, so that a trace that is judged twice is judged alike."""
    first, second = Runs("sample", sample=0.3), Runs("sample", sample=0.3)
    keys = [f"trace-{number}" for number in range(200)]
    chosen = [first.choose(key=key) for key in keys]
    assert [second.choose(key=key) for key in reversed(keys)] == chosen[::-1]
    assert set(chosen) == {Choice.ASKED, Choice.NOT_SAMPLED}


def test_an_id_of_odd_characters_can_be_sampled():
    """Ids of run records are whatever somebody wrote."""
    assert Runs("sample", sample=1.0).choose(key="\ud800 é") is Choice.ASKED


def test_one_run_in_so_many_of_the_chosen_is_asked_about():
    """The first one is."""
    assert Runs(every_runs=3).asked(8) == [1, 4, 7]


def test_runs_that_are_not_chosen_do_not_count_for_the_schedule():
    """Every second uncertain run, however many sure ones come between."""
    runs = Runs("escalate", every_runs=2)
    found = [runs.choose(uncertain=number % 3 == 0) for number in range(9)]
    assert found[::3] == [Choice.ASKED, Choice.NOT_SCHEDULED, Choice.ASKED]


def test_one_run_in_so_many_minutes_is_asked_about():
    """The first one after the wait is."""
    runs = Runs(every_minutes=2)
    found = []
    for _ in range(5):
        found.append(runs.choose())
        runs.clock.advance(60)
    assert [choice is Choice.ASKED for choice in found] == [True, False, True, False, True]


def test_runs_and_minutes_must_both_have_passed():
    """The later of the two decides."""
    runs = Runs(every_runs=2, every_minutes=1)
    assert runs.asked(4) == [1]
    runs.clock.advance(60)
    assert runs.asked(2) == [1]


@pytest.mark.parametrize("when", ["always", "escalate", "sample"])
def test_what_a_user_marked_as_bad_is_asked_about_whatever_the_schedule(when):
    """And does not use up another run's turn."""
    runs = Runs(when, sample=0.0 if when == "sample" else 1.0, every_runs=2)
    assert runs.choose(disliked=True, uncertain=False) is Choice.ASKED
    if when != "sample":
        assert runs.asked(3) == [1, 3]


def test_feedback_can_be_ignored():
    """A bad mark then changes nothing."""
    runs = Runs("escalate", feedback=False)
    assert runs.choose(disliked=True, uncertain=False) is Choice.NOT_UNCERTAIN


def test_threads_do_not_get_more_turns_together():
    """A tenth of what eight of them choose."""
    runs, found = Runs(every_runs=10), []

    def choose():
        found.extend(runs.schedule.choose("x", uncertain=True, disliked=False) for _ in range(500))

    threads = [threading.Thread(target=choose) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(Choice.ASKED) == 400

"""The way from the pipeline to the recent reports: constant, never waiting, never failing it."""

import threading
from dataclasses import replace

import pytest
import structlog
from kept_runs import report, store
from services import wait_until

from otel_raglog.clock import ManualClock
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.web.recent.keeping import Keeping
from otel_raglog.web.recent.setups import RecentSetups


class SlowRuns:
    """A store that waits until it may go on."""

    def __init__(self):
        self.go_on = threading.Event()
        self.added = []

    def add(self, run):
        self.go_on.wait(30)
        self.added.append(run)


class Setups:
    """Counts what it is given; fails when told to."""

    def __init__(self, error=None):
        self.traces = 0
        self.error = error

    def add(self, runs, spans, traces):
        if self.error:
            raise self.error
        self.traces += traces


@pytest.fixture
def make():
    """Make a running one."""
    made = []

    def make_one(runs, setups=None, *, started=True, **options):
        setups = setups or Setups()
        usual = {"content": False, "max_waiting_bytes": 1_000}
        keeping = Keeping(runs, setups, ManualClock(), **{**usual, **options})
        made.append(keeping)
        if started:
            keeping.start()
        return keeping

    yield make_one
    for keeping in made:
        keeping.stop()


def test_reports_are_kept_soon(make):
    """All of a trace, in their order."""
    runs, setups = store(), Setups()
    keeping = make(runs, setups)
    keeping.add([report(1), report(2)], {b"s": None}, traces=1, size_bytes=10)
    wait_until(lambda: len(runs) == 2 and setups.traces == 1 and not keeping.waiting_bytes)
    assert [int(run.run_id, 16) for run in runs.newest_first()] == [2, 1]
    assert keeping.dropped == 0


def test_the_pipeline_never_waits_for_the_store(make):
    """While that is stuck, reports are taken until they are too many bytes, and then counted."""
    runs = SlowRuns()
    keeping = make(runs, max_waiting_bytes=100)
    keeping.add([report(1)], {}, size_bytes=1_000)
    wait_until(lambda: not keeping._waiting)
    for number in range(2, 20):
        keeping.add([report(number)], {}, size_bytes=30)
    assert keeping.waiting_bytes <= 1_000 + 30
    assert keeping.dropped == 17
    runs.go_on.set()
    wait_until(lambda: len(runs.added) == 2 and not keeping.waiting_bytes)


def test_waiting_reports_are_bounded_by_bytes(make):
    """One is taken however large it is: else a large one would never be kept."""
    keeping = make(store(), started=False, max_waiting_bytes=100)
    keeping.add([report(1)], {}, size_bytes=5_000)
    keeping.add([report(2)], {}, size_bytes=1)
    assert (keeping.waiting_bytes, keeping.dropped) == (5_000, 1)


def test_one_that_cannot_be_kept_costs_no_other(make):
    """It is counted, and told once, without its texts."""
    runs = store()
    keeping = make(runs)
    broken = replace(report(1), analysis_seconds=0.0)
    broken = replace(broken, verdicts={})
    with structlog.testing.capture_logs() as logs:
        for bad in (broken, broken):
            keeping.add([bad, report(2)], {}, size_bytes=1)
        wait_until(lambda: not keeping.waiting_bytes)
    assert keeping.dropped == 2
    assert len(runs) == 1
    assert [line["error"] for line in logs] == ["KeyError"]


def test_a_trace_that_cannot_be_explained_is_kept_all_the_same(make):
    """The set-up is one thing, the report another."""
    runs = store()
    keeping = make(runs, Setups(ValueError("text of the run")))
    with structlog.testing.capture_logs() as logs:
        keeping.add([report(1)], {b"s": None}, size_bytes=1)
        wait_until(lambda: not keeping.waiting_bytes)
    assert len(runs) == 1
    assert "text of the run" not in str(logs)


def test_what_is_no_rag_run_counts_for_the_set_up_alone(make):
    """Health checks would push the runs out."""
    runs, setups = store(), Setups()
    keeping = make(runs, setups)
    other = replace(report(1), skip_reason="no_genai_spans")
    keeping.add([other], {b"s": None}, size_bytes=1)
    wait_until(lambda: setups.traces == 1)
    assert len(runs) == 0


def test_a_later_report_does_not_count_its_trace_again(make):
    """It comes without spans."""
    runs, setups = store(), Setups()
    keeping = make(runs, setups)
    keeping.add([report(1)], {b"s": None}, size_bytes=1)
    keeping.add([report(1)], {}, size_bytes=1)
    wait_until(lambda: not keeping.waiting_bytes)
    assert (len(runs), setups.traces) == (1, 1)


def test_nothing_is_nothing(make):
    """Traces that were too large to be judged have no report."""
    keeping = make(store(), started=False)
    keeping.add([], {b"s": None}, size_bytes=10)
    assert keeping.waiting_bytes == 0


def test_it_ends_when_told_even_if_it_never_began(make):
    """And keeps nothing after that."""
    make(store(), RecentSetups(BUILT_IN, ManualClock(), max_age_seconds=1), started=False).stop()
    keeping = make(store())
    keeping.stop()
    assert not keeping._thread.is_alive()

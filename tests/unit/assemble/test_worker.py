"""The worker: batches in, calls of the sink out, and no defect costs a span."""

from __future__ import annotations

import threading
from collections import deque

import pytest

from otel_raglog.assemble.assembler import Assembler
from otel_raglog.assemble.worker import Worker
from otel_raglog.clock import ManualClock, SystemClock
from otel_raglog.model import Completion, Origin, WireSpan

ORIGIN = Origin(b"", b"")


def span(number: int, trace: bytes = b"t", *, root: bool = False, held: bool = True) -> WireSpan:
    return WireSpan(
        trace_id=trace * 16,
        span_id=number.to_bytes(8, "big"),
        parent_id=b"" if root else b"p" * 8,
        remote_parent=False,
        held=held,
        finishes_run=False,
        spoofed=False,
        origin=ORIGIN,
        raw=b"raw",
    )


class ListInbox:
    """Gives what it holds at once, and lets the time pass otherwise."""

    def __init__(self, clock: ManualClock) -> None:
        self.batches: deque[tuple[WireSpan, ...]] = deque()
        self.clock = clock

    def put(self, *spans: WireSpan) -> None:
        self.batches.append(spans)

    def get(self, timeout_seconds: float) -> tuple[WireSpan, ...] | None:
        if self.batches:
            return self.batches.popleft()
        self.clock.advance(timeout_seconds)
        return None


class RecordingSink:
    """Remembers what it got; calls ``before`` first, which may raise."""

    def __init__(self) -> None:
        self.forwarded: list[WireSpan] = []
        self.lately: list[WireSpan] = []
        self.traces = []
        self.before = lambda _method: None

    def forward(self, spans):
        self.before("forward")
        self.forwarded += spans

    def late(self, spans):
        self.before("late")
        self.lately += spans

    def release(self, trace):
        self.before("release")
        self.traces.append(trace)


class Counts:
    """Counts what the worker tells."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def failed(self, where):
        self.failures.append(where)


class House:
    """A worker with everything around it."""

    def __init__(self) -> None:
        self.clock = ManualClock(100.0)
        self.inbox = ListInbox(self.clock)
        self.sink = RecordingSink()
        self.counts = Counts()
        self.assembler = Assembler()
        self.worker = Worker(self.inbox, self.assembler, self.sink, self.clock, self.counts)


@pytest.fixture
def house():
    """Return a worker that is stepped by hand, on a manual clock."""
    return House()


def test_spans_go_where_the_assembler_says(house):
    """Passing spans are forwarded, quiet traces released, late spans told apart."""
    root, passing, late = span(1, root=True), span(2, held=False), span(3)
    house.inbox.put(root, passing)
    assert house.worker.step(1.0)
    assert house.sink.forwarded == [passing]
    assert not house.worker.step(60.0)
    assert house.clock.seconds == 105.0
    assert not house.worker.step(0.0)
    assert house.sink.traces[0].spans == (root,)
    house.inbox.put(late)
    house.worker.step(1.0)
    assert house.sink.lately == [late]


def test_the_worker_sleeps_no_longer_than_told(house):
    """With nothing open a step lasts its timeout and says that nothing came."""
    assert not house.worker.step(0.25)
    assert house.clock.seconds == 100.25


def test_a_busy_sink_does_not_split_traces(house):
    """Spans that waited while the sink worked belong to the trace that waited for them."""
    house.worker.step(0.0)
    house.inbox.put(span(1), span(2, held=False))
    house.inbox.put(span(3, root=True))
    house.sink.before = lambda _method: house.clock.advance(9.0)
    house.worker.step(0.0)
    house.worker.step(0.0)
    house.worker.step(60.0)
    house.worker.step(60.0)
    assert [len(trace.spans) for trace in house.sink.traces] == [2]
    assert house.sink.lately == []


def test_a_sink_that_is_always_busy_does_not_stop_time(house):
    """Under lasting load traces are released with a bounded delay."""
    house.sink.before = lambda _method: house.clock.advance(4.0)
    house.inbox.put(span(1, root=True))
    for number in range(2, 12):
        house.inbox.put(span(number, b"u", held=False))
        house.worker.step(0.0)
    assert [trace.completion for trace in house.sink.traces] == [Completion.ROOT_QUIET]


@pytest.mark.parametrize("method", ["release", "late"])
def test_spans_that_cannot_be_judged_are_forwarded(house, method):
    """An exception in the analysis costs the verdict, never the spans."""

    def before(called):
        if called == method:
            raise ZeroDivisionError

    house.sink.before = before
    house.inbox.put(span(1, root=True))
    house.worker.step(0.0)
    house.worker.finish()
    house.inbox.put(span(2))
    house.worker.step(0.0)
    assert method in house.counts.failures
    out = [*house.sink.forwarded, *house.sink.lately]
    out += [s for trace in house.sink.traces for s in trace.spans]
    assert sorted(s.span_id[-1] for s in out) == [1, 2]


def test_a_batch_that_breaks_the_assembler_is_forwarded(house):
    """A defect in assembling costs the verdicts of one batch, and the rest goes on."""
    good, bad = span(1, root=True), span(2)
    house.inbox.put(good)
    house.worker.step(0.0)
    add, house.assembler.add = house.assembler.add, lambda _spans, _now: 1 / 0
    house.inbox.put(bad)
    house.worker.step(0.0)
    house.assembler.add = add
    assert house.sink.forwarded == [bad]
    assert house.counts.failures == ["assembler"]
    house.worker.finish()
    assert [trace.spans for trace in house.sink.traces] == [(good,)]


def test_a_defective_sink_is_counted_and_the_worker_goes_on(house):
    """When even forwarding raises, the spans stay journalled, and the next ones are served."""

    def before(_method):
        raise ZeroDivisionError

    house.sink.before = before
    house.inbox.put(span(1, held=False), span(2, held=False))
    house.worker.step(0.0)
    assert house.counts.failures == ["forward"]
    house.sink.before = lambda _method: None
    house.inbox.put(span(3, held=False))
    house.worker.step(0.0)
    assert house.sink.forwarded == [span(3, held=False)]


class WaitingInbox:
    """An inbox for a real thread."""

    def __init__(self) -> None:
        self.batches: deque[tuple[WireSpan, ...]] = deque()
        self.taken = threading.Event()

    def get(self, timeout_seconds: float) -> tuple[WireSpan, ...] | None:
        if self.batches:
            return self.batches.popleft()
        self.taken.set()
        threading.Event().wait(min(timeout_seconds, 0.005))
        return None


def test_stop_empties_the_inbox_and_releases_everything():
    """At shutdown nothing that was accepted stays behind."""
    inbox, sink = WaitingInbox(), RecordingSink()
    worker = Worker(inbox, Assembler(), sink, SystemClock(), Counts())
    inbox.batches.append((span(1), span(2, held=False)))
    worker.start()
    assert inbox.taken.wait(5)
    inbox.batches.append((span(3, root=True),))
    assert worker.stop(5.0)
    assert worker.stop(5.0)
    (trace,) = sink.traces
    assert trace.completion is Completion.SHUTDOWN
    assert [s.span_id[-1] for s in trace.spans] == [1, 3]
    assert [s.span_id[-1] for s in sink.forwarded] == [2]


def test_stop_does_not_wait_for_ever_for_a_sink_that_does():
    """After the grace it says so; the sink is told to give up, and stop is called again."""
    inbox, sink, go_on = WaitingInbox(), RecordingSink(), threading.Event()
    sink.before = lambda _method: go_on.wait(10)
    worker = Worker(inbox, Assembler(), sink, SystemClock(), Counts())
    inbox.batches.append((span(1), span(2, held=False)))
    worker.start()
    assert not worker.stop(0.05)
    go_on.set()
    assert worker.stop(5.0)
    assert [s.span_id[-1] for s in sink.forwarded] == [2]


def test_the_thread_outlives_a_defective_inbox():
    """An inbox that raises is counted, and what it gives afterwards is taken."""

    class Moody(WaitingInbox):
        raised = False

        def get(self, timeout_seconds):
            if not self.raised:
                self.raised = True
                raise ZeroDivisionError
            return super().get(timeout_seconds)

    inbox, sink, counts = Moody(), RecordingSink(), Counts()
    worker = Worker(inbox, Assembler(), sink, SystemClock(), counts, poll_seconds=0.01)
    inbox.batches.append((span(1, root=True),))
    worker.start()
    assert inbox.taken.wait(5)
    assert worker.stop(5.0)
    assert counts.failures == ["inbox"]
    assert len(sink.traces) == 1


def test_stop_without_start_is_fine():
    """A worker that never ran has nothing to stop."""
    worker = Worker(WaitingInbox(), Assembler(), RecordingSink(), SystemClock(), Counts())
    assert worker.stop(0.0)

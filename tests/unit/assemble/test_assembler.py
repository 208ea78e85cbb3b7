"""Playbooks for the assembler: what arrives when, and what is to be done then."""

from __future__ import annotations

import itertools

import pytest

from otel_raglog.assemble.assembler import Actions, Assembler
from otel_raglog.assemble.policy import CompletionPolicy
from otel_raglog.model import Completion, Origin, WireSpan

NOTHING = Actions()
ORIGIN = Origin(b"", b"")


@pytest.fixture
def span():
    """Return a maker of spans with ids of their own."""
    numbers = itertools.count(1)

    def make(trace: str, *, root=False, remote=False, held=True, finishes=False, raw=b"raw"):
        return WireSpan(
            trace_id=trace.encode().ljust(16, b"."),
            span_id=next(numbers).to_bytes(8, "big"),
            parent_id=b"" if root else b"p" * 8,
            remote_parent=remote,
            held=held,
            finishes_run=finishes,
            spoofed=False,
            origin=ORIGIN,
            raw=raw,
        )

    return make


def only_release(actions):
    """Return the one trace that was released."""
    (trace,) = actions.released
    return trace


def test_children_and_root_are_released_together_after_a_quiet(span):
    """Children end before their root; five quiet seconds after it they go together."""
    assembler = Assembler()
    child, root = span("a"), span("a", root=True)
    assert assembler.add([child], 0.0) == NOTHING
    assert assembler.add([root], 4.0) == NOTHING
    assert assembler.next_deadline() == 9.0
    assert assembler.tick(8.999) == NOTHING
    trace = only_release(assembler.tick(9.0))
    assert trace.spans == (child, root)
    assert trace.completion is Completion.ROOT_QUIET
    assert trace.waited_seconds == 9.0
    assert assembler.next_deadline() is None


def test_a_span_starts_the_quiet_anew(span):
    """Each held span of the trace postpones its release."""
    assembler = Assembler()
    assembler.add([span("a", root=True)], 0.0)
    assembler.add([span("a")], 3.0)
    assert assembler.next_deadline() == 8.0


def test_a_trace_without_root_waits_fifteen_seconds(span):
    """An early span with an unknown parent is no root."""
    assembler = Assembler()
    assembler.add([span("a")], 0.0)
    assert assembler.tick(14.9) == NOTHING
    assert only_release(assembler.tick(15.0)).completion is Completion.ORPHAN_QUIET


def test_a_remote_parent_makes_a_root(span):
    """A span whose parent is in another service ends this service's part."""
    assembler = Assembler()
    assembler.add([span("a", remote=True)], 0.0)
    assert only_release(assembler.tick(5.0)).completion is Completion.ROOT_QUIET


def test_spans_that_are_not_held_leave_at_once(span):
    """A span without a marker passes through, even when its trace is open."""
    assembler = Assembler()
    passing = span("a", held=False)
    actions = assembler.add([span("a", root=True), passing], 0.0)
    assert actions.forward == (passing,)
    assert assembler.held_spans == 1


def test_spans_that_are_not_held_do_not_prolong_the_wait(span):
    """Steady traffic that passes through a trace does not keep its run waiting."""
    assembler = Assembler()
    assembler.add([span("a", root=True)], 0.0)
    assembler.add([span("a", held=False)], 4.0)
    assert assembler.next_deadline() == 5.0


def test_a_passing_root_starts_the_quiet(span):
    """A server span with a remote parent passes through, and still tells that the root ended."""
    assembler = Assembler()
    assembler.add([span("a")], 0.0)
    assembler.add([span("a", held=False, remote=True)], 4.0)
    assert assembler.next_deadline() == 9.0


def test_a_passing_root_counts_wherever_it_stands_in_its_request(span):
    """The order of spans inside a request does not matter."""
    assembler = Assembler()
    assembler.add([span("a", held=False, remote=True), span("a")], 0.0)
    assert assembler.next_deadline() == 5.0


def test_a_passing_root_of_an_unknown_trace_leaves_nothing_behind(span):
    """Traces that cannot hold a run cost no memory."""
    assembler = Assembler()
    assembler.add([span("a", held=False, remote=True)], 0.0)
    assert assembler.open_traces == 0


@pytest.mark.parametrize("held", [True, False])
def test_an_explicit_finish_releases_at_the_end_of_its_request(span, held):
    """The application's own mark needs no quiet; the whole request goes along."""
    assembler = Assembler()
    first, last, after = span("a"), span("a", held=held, finishes=True), span("a")
    trace = only_release(assembler.add([first, last, after], 1.0))
    assert trace.spans == ((first, last, after) if held else (first, after))
    assert trace.completion is Completion.EXPLICIT


def test_the_longest_wait_ends_a_lively_trace(span):
    """A trace that never is quiet is released two minutes after its first span."""
    assembler = Assembler()
    for second in range(0, 120, 4):
        assert assembler.add([span("a")], float(second)) == NOTHING
    trace = only_release(assembler.tick(120.0))
    assert trace.completion is Completion.MAX_WAIT
    assert len(trace.spans) == 30


def test_the_longest_wait_is_met_behind_a_quieter_trace(span):
    """A lively old trace is due in time though another one was touched less recently."""
    assembler = Assembler()
    assembler.add([span("old")], 0.0)
    for second in range(10, 111, 10):
        assembler.add([span("old")], float(second))
    assembler.add([span("new")], 112.0)
    assembler.add([span("old")], 113.0)
    assert assembler.next_deadline() == 120.0
    assert only_release(assembler.tick(120.0)).completion is Completion.MAX_WAIT
    assert assembler.next_deadline() == 127.0


def test_spans_of_a_released_trace_are_late(span):
    """What comes after the verdict is late, however often it comes."""
    assembler = Assembler()
    assembler.add([span("a", root=True)], 0.0)
    assembler.tick(5.0)
    late = span("a")
    assert assembler.add([late], 6.0) == Actions(late=(late,))
    assert assembler.open_traces == 0


def test_a_deadline_that_nobody_asked_for_still_counts(span):
    """A span that comes after its trace was due is late even without a tick in between."""
    assembler = Assembler()
    root, late = span("a", root=True), span("a")
    assembler.add([root], 0.0)
    actions = assembler.add([late], 60.0)
    assert only_release(actions).spans == (root,)
    assert actions.late == (late,)


def test_a_forgotten_trace_id_starts_anew(span):
    """Only the last released ids are remembered; touching one late keeps it."""
    assembler = Assembler(CompletionPolicy(remember_traces=2))
    for name in "ab":
        assembler.add([span(name, finishes=True)], 0.0)
    assembler.add([span("a")], 0.0)
    assembler.add([span("c", finishes=True)], 0.0)
    assert len(assembler.add([span("a")], 0.0).late) == 1
    assert assembler.add([span("b")], 0.0) == NOTHING
    assert assembler.open_traces == 1


def test_nothing_is_late_when_nothing_is_remembered(span):
    """With no memory for ids a released trace simply starts again."""
    assembler = Assembler(CompletionPolicy(remember_traces=0, max_spans_per_trace=1))
    first, second = span("a"), span("a")
    actions = assembler.add([first, second], 0.0)
    assert only_release(actions).spans == (first,)
    assert assembler.held_spans == 1


def test_the_span_limit_releases_a_trace_and_the_rest_is_late(span):
    """One endless trace cannot fill the memory."""
    assembler = Assembler(CompletionPolicy(max_spans_per_trace=3))
    spans = [span("a") for _ in range(5)]
    actions = assembler.add(spans, 0.0)
    trace = only_release(actions)
    assert trace.completion is Completion.SPAN_LIMIT
    assert trace.spans == tuple(spans[:3])
    assert actions.late == tuple(spans[3:])


def test_the_least_recently_touched_trace_makes_room(span):
    """When too many traces are open, the one that was quiet longest goes."""
    assembler = Assembler(CompletionPolicy(max_open_traces=2))
    assembler.add([span("a"), span("b", root=True), span("a")], 0.0)
    trace = only_release(assembler.add([span("c")], 0.0))
    assert trace.trace_id.startswith(b"b")
    assert trace.completion is Completion.EVICTED
    assert assembler.open_traces == 2


def test_held_bytes_are_bounded_by_eviction(span):
    """Traces go until the rest fits, the least recently touched first."""
    size = span("a").size_bytes
    assembler = Assembler(CompletionPolicy(max_held_bytes=3 * size))
    assembler.add([span("a"), span("b"), span("c")], 0.0)
    trace = only_release(assembler.add([span("c")], 1.0))
    assert trace.trace_id.startswith(b"a")
    assert assembler.held_bytes == 3 * size


def test_a_span_too_big_to_hold_goes_without_driving_others_out(span):
    """A trace beyond the bound of bytes by itself is released alone."""
    assembler = Assembler(CompletionPolicy(max_held_bytes=4_000))
    assembler.add([span("a")], 0.0)
    trace = only_release(assembler.add([span("b", raw=bytes(5_000))], 0.0))
    assert trace.trace_id.startswith(b"b")
    assert trace.completion is Completion.EVICTED
    assert assembler.open_traces == 1


def test_shutdown_releases_everything(span):
    """At shutdown the open traces go, the oldest first, and those due go as due."""
    assembler = Assembler()
    assembler.add([span("a", root=True)], 0.0)
    assembler.add([span("b")], 2.0)
    assembler.add([span("c")], 3.0)
    released = assembler.shutdown(5.0).released
    assert [trace.completion for trace in released] == [
        Completion.ROOT_QUIET,
        Completion.SHUTDOWN,
        Completion.SHUTDOWN,
    ]
    assert [trace.trace_id[:1] for trace in released] == [b"a", b"b", b"c"]
    assert (assembler.open_traces, assembler.held_spans, assembler.held_bytes) == (0, 0, 0)


def test_duplicates_are_kept(span):
    """A span that was sent twice is forwarded twice; the mapping dedupes for itself."""
    assembler = Assembler()
    root = span("a", root=True)
    assembler.add([root], 0.0)
    assembler.add([root], 1.0)
    assert only_release(assembler.tick(6.0)).spans == (root, root)


def test_time_does_not_run_backwards(span):
    """A time before an earlier one counts as that one."""
    assembler = Assembler()
    assembler.add([span("a", root=True)], 10.0)
    assembler.add([span("b", root=True)], 3.0)
    assert [t.waited_seconds for t in assembler.tick(15.0).released] == [5.0, 5.0]


def test_deadlines_are_met_in_order(span):
    """Several traces due at one tick are released in the order of their deadlines."""
    assembler = Assembler()
    assembler.add([span("orphan")], 0.0)
    assembler.add([span("root", root=True)], 2.0)
    released = assembler.tick(100.0).released
    assert [t.trace_id.rstrip(b".") for t in released] == [b"root", b"orphan"]


def test_a_flood_of_distinct_traces_keeps_the_bounds(span):
    """A flood of one-span traces holds, and remembers, no more than the policy says."""
    assembler = Assembler(CompletionPolicy(max_open_traces=100, remember_traces=50))
    out = 0
    for number in range(20_000):
        out += len(assembler.add([span(str(number))], number / 1e6).released)
        assert assembler.open_traces <= 100
    assert out + assembler.open_traces == 20_000
    assert len(assembler._remembered) == 50
    orders = (assembler._opened, assembler._rooted, assembler._orphans)
    assert [len(order) for order in orders] == [100, 0, 100]

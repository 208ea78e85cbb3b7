"""Spans and the time they arrived turned into traces to release: a state machine without I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from otel_raglog.assemble.policy import CompletionPolicy, is_root
from otel_raglog.model import Completion, HeldTrace, WireSpan


@dataclass(frozen=True, slots=True)
class Actions:
    """What to do now: every span that went in comes out exactly once, over all actions.

    ``forward`` are spans that were not held; ``late`` are held spans of traces that had
    been released before, to be forwarded with the verdict their trace got.
    """

    forward: tuple[WireSpan, ...] = ()
    late: tuple[WireSpan, ...] = ()
    released: tuple[HeldTrace, ...] = ()


@dataclass(slots=True)
class _OpenTrace:
    opened_at: float
    touched_at: float
    touch: int
    rooted: bool = False
    size: int = 0
    spans: list[WireSpan] = field(default_factory=list)


class Assembler:
    """Holds the spans of open traces until the policy says that a trace is due.

    Time is an argument (monotonic seconds of arrival; a value before an earlier one counts
    as that one), so the outcome depends on what arrived when, and not on when anybody asked:
    ``add`` first releases what was due by then.

    A trace is touched by its held spans, and by a root or an explicit finish even when that
    span itself is not held. Other spans that are not held do not touch it: they leave at once
    and tell nothing about the spans that the run waits for; steady traffic of that kind in a
    long trace would else postpone its release up to the longest wait.

    A span that finishes its run releases the trace at the end of the request that brought
    it, so that the order of spans inside a request does not matter.

    All operations take O(1) time per span or released trace. Not thread-safe.
    """

    def __init__(self, policy: CompletionPolicy | None = None) -> None:
        self.policy = policy or CompletionPolicy()
        self._now = float("-inf")
        self._touches = 0
        self._held_spans = 0
        self._held_bytes = 0
        # Three orders over the same traces; each has its earliest deadline in front, because
        # every deadline is a constant after the moment in which its order was entered.
        self._opened: OrderedDict[bytes, _OpenTrace] = OrderedDict()
        self._rooted: OrderedDict[bytes, _OpenTrace] = OrderedDict()
        self._orphans: OrderedDict[bytes, _OpenTrace] = OrderedDict()
        self._remembered: OrderedDict[bytes, None] = OrderedDict()
        self._forward: list[WireSpan] = []
        self._late: list[WireSpan] = []
        self._released: list[HeldTrace] = []

    @property
    def open_traces(self) -> int:
        """Traces that are held."""
        return len(self._opened)

    @property
    def held_spans(self) -> int:
        """Spans that are held."""
        return self._held_spans

    @property
    def held_bytes(self) -> int:
        """Upper bound of the memory that held spans take."""
        return self._held_bytes

    def remember(self, trace_id: bytes) -> None:
        """Treat spans of ``trace_id`` as late from now on: it was released before a restart."""
        self._remembered[trace_id] = None
        self._remembered.move_to_end(trace_id)
        while len(self._remembered) > self.policy.remember_traces:
            self._remembered.popitem(last=False)

    def add(self, spans: Sequence[WireSpan], now: float) -> Actions:
        """Take the spans of one request that arrived at ``now``."""
        self._release_due(now)
        finished: dict[bytes, None] = {}
        passing_roots: dict[bytes, None] = {}
        for span in spans:
            if span.finishes_run:
                finished[span.trace_id] = None
            if span.held:
                self._hold(span)
            else:
                self._forward.append(span)
                if is_root(span):
                    passing_roots[span.trace_id] = None
        for trace_id in passing_roots:
            if trace_id in self._opened:
                self._touch(trace_id, self._opened[trace_id], rooted=True)
        for trace_id in finished:
            if trace_id in self._opened:
                self._release(trace_id, Completion.EXPLICIT)
        self._release_due(now)
        return self._take_actions()

    def tick(self, now: float) -> Actions:
        """Release what is due by ``now``."""
        self._release_due(now)
        return self._take_actions()

    def next_deadline(self) -> float | None:
        """Return when the next trace is due; ``None`` when none is open."""
        due = self._next_due()
        return due[0] if due else None

    def shutdown(self, now: float) -> Actions:
        """Release what is due by ``now``, then all the rest, the oldest trace first."""
        self._release_due(now)
        while self._opened:
            self._release(next(iter(self._opened)), Completion.SHUTDOWN)
        return self._take_actions()

    def _hold(self, span: WireSpan) -> None:
        trace_id = span.trace_id
        if trace_id in self._remembered:
            self._remembered.move_to_end(trace_id)
            self._late.append(span)
            return
        trace = self._opened.get(trace_id)
        if trace is None:
            trace = self._open(trace_id)
        elif len(trace.spans) >= self.policy.max_spans_per_trace:
            self._release(trace_id, Completion.SPAN_LIMIT)
            self._hold(span)  # late now, or the start of a new trace when none are remembered
            return
        self._touch(trace_id, trace, rooted=trace.rooted or is_root(span))
        size = span.size_bytes
        trace.spans.append(span)
        trace.size += size
        self._held_spans += 1
        self._held_bytes += size
        if trace.size > self.policy.max_held_bytes:
            self._release(trace_id, Completion.EVICTED)
        while self._held_bytes > self.policy.max_held_bytes:
            self._evict()

    def _open(self, trace_id: bytes) -> _OpenTrace:
        if len(self._opened) >= self.policy.max_open_traces:
            self._evict()
        trace = _OpenTrace(opened_at=self._now, touched_at=self._now, touch=self._touches)
        self._opened[trace_id] = trace
        self._orphans[trace_id] = trace
        return trace

    def _touch(self, trace_id: bytes, trace: _OpenTrace, *, rooted: bool) -> None:
        self._touches += 1
        trace.touch = self._touches
        trace.touched_at = self._now
        if rooted and not trace.rooted:
            trace.rooted = True
            del self._orphans[trace_id]
            self._rooted[trace_id] = trace
        else:
            self._order_of(trace).move_to_end(trace_id)

    def _order_of(self, trace: _OpenTrace) -> OrderedDict[bytes, _OpenTrace]:
        return self._rooted if trace.rooted else self._orphans

    def _quietest(self) -> list[tuple[bytes, _OpenTrace]]:
        return [next(iter(order.items())) for order in (self._rooted, self._orphans) if order]

    def _evict(self) -> None:
        """Release the trace that was touched least recently."""
        trace_id, _ = min(self._quietest(), key=lambda item: item[1].touch)
        self._release(trace_id, Completion.EVICTED)

    def _next_due(self) -> tuple[float, bytes, Completion] | None:
        """Return the earliest deadline, whose it is, and why."""
        if not self._opened:
            return None
        candidates = [next(iter(self._opened.items())), *self._quietest()]
        deadlines = [
            self.policy.deadline(trace.opened_at, trace.touched_at, rooted=trace.rooted)
            for _, trace in candidates
        ]
        earliest = min(deadlines)
        trace_id, trace = candidates[deadlines.index(earliest)]
        completion = self.policy.completion(trace.opened_at, trace.touched_at, rooted=trace.rooted)
        return earliest, trace_id, completion

    def _release_due(self, now: float) -> None:
        self._now = max(now, self._now)
        while (due := self._next_due()) and due[0] <= self._now:
            self._release(due[1], due[2])

    def _release(self, trace_id: bytes, completion: Completion) -> None:
        trace = self._opened.pop(trace_id)
        del self._order_of(trace)[trace_id]
        self._held_spans -= len(trace.spans)
        self._held_bytes -= trace.size
        waited = self._now - trace.opened_at
        self._released.append(HeldTrace(trace_id, tuple(trace.spans), completion, waited))
        self.remember(trace_id)

    def _take_actions(self) -> Actions:
        """Return what has gathered. It would still be here had an exception come between."""
        actions = Actions(tuple(self._forward), tuple(self._late), tuple(self._released))
        self._forward, self._late, self._released = [], [], []
        return actions

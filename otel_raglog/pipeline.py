"""Released traces and late spans to verdicts, and through the outlet to the destinations."""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from otel_raglog.analysis import Analyser
from otel_raglog.asking import Asking
from otel_raglog.judged import Judged
from otel_raglog.marking import Marking, Marks
from otel_raglog.model import HeldTrace, Report, Span, Trace, WireSpan
from otel_raglog.outlet import Outlet
from otel_raglog.report.annotations import annotate_joined
from otel_raglog.telemetry import RunMetrics
from otel_raglog.waiting import Leaving, Settled, Waiting, WaitingRoom, settle

_IDLE_SECONDS = 0.1
_LAST_SECONDS = 1.0

T = TypeVar("T")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TraceLimits:
    """What one trace may cost the detector: time grows with the square of both."""

    max_spans: int = 1_000
    max_text_characters: int = 4 * 1024 * 1024

    def passed_by(self, trace: Trace) -> bool:
        """Tell whether ``trace`` is too large to be judged beside others."""
        if len(trace.spans) > self.max_spans:
            return True
        return sum(map(_characters, trace.spans)) > self.max_text_characters


def _characters(span: Span) -> int:
    return sum(len(value) for value in span.attributes.values() if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class _LateSpan:
    """A late span whose trace is still waiting to be judged."""

    span: WireSpan


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """A late span that has left, and that may bear a user's feedback."""

    span: WireSpan


_COPIES = 4
"""A trace whose reports are told of is there as bytes, decoded, and as a run."""


class TakesReports(Protocol):
    """Is told of reports, in constant time and without ever waiting."""

    def add(
        self,
        reports: Sequence[Report],
        spans: Mapping[bytes, Span],
        *,
        traces: int,
        size_bytes: int,
    ) -> None:
        """Take the reports of traces that have left, with their decoded spans.

        Without spans, the reports are later ones that replace those. ``size_bytes`` is the memory
        that all of it takes, roughly.
        """
        ...


class LateAdditions:
    """Remembers what late spans of judged traces inherit, for the most recent traces."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._additions: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, trace_id: bytes, addition: bytes) -> None:
        """Keep the bytes that late spans of a trace get."""
        if not addition:
            return
        with self._lock:
            self._additions[trace_id] = addition
            self._additions.move_to_end(trace_id)
            while len(self._additions) > self._limit:
                self._additions.popitem(last=False)

    def addition(self, trace_id: bytes) -> bytes:
        """Return the bytes for a late span of ``trace_id``: none when nothing is remembered."""
        with self._lock:
            return self._additions.get(trace_id, b"")


class Pipeline:
    """Judges released traces on a thread of its own and hands all spans to the outlet.

    Fail open: a trace that cannot be judged, or finds the backlog full, is forwarded as it came
    and counted in ``raglog_skipped_total``.

    With a waiting ``room``, traces that are only a part of a run wait there for the others of it;
    what is joined is judged once and leaves at once. With ``asking``, traces of runs that an LLM is
    asked about are held for its answers for a while; what it says later follows in spans of its own.
    ``recent`` is told of all reports, at once and when an LLM's answers replace them.
    """

    def __init__(
        self,
        analyser: Analyser,
        outlet: Outlet,
        metrics: RunMetrics,
        marking: Marking,
        *,
        backlog_traces: int,
        backlog_bytes: int,
        remember_traces: int,
        limits: TraceLimits = TraceLimits(),
        room: WaitingRoom | None = None,
        asking: Asking | None = None,
        recent: TakesReports | None = None,
    ) -> None:
        self._limits = limits
        self._room = room
        self._asking = asking
        self._recent = recent
        self._analyser = analyser
        self._outlet = outlet
        self._metrics = metrics
        self._marking = marking
        self._late_additions = LateAdditions(remember_traces)
        self._max_backlog_bytes = backlog_bytes
        self._backlog_bytes = 0
        self._backlog: queue.Queue[HeldTrace | _LateSpan | _LookedAt] = queue.Queue(backlog_traces)
        self._queued: set[bytes] = set()
        self._queued_lock = threading.Lock()
        self._failures: set[type[Exception]] = set()
        self._no_more = threading.Event()
        self._hurrying = threading.Event()
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._work, name="raglog-analysis", daemon=True)

    def start(self) -> None:
        """Begin to judge."""
        self._thread.start()

    def stop(self, grace_seconds: float) -> bool:
        """Judge what waits for ``grace_seconds`` at most, pass the rest unjudged, and end.

        Nothing may be released any more. Returns whether the thread has ended: it does not while
        the outlet waits for the journal, or within one trace that takes long.
        """
        self._no_more.set()
        if self._thread.ident is None:  # never started
            return True
        self._thread.join(grace_seconds)
        self._hurrying.set()
        self._thread.join(_LAST_SECONDS)
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Let nothing go any more: what waits stays undecided, in the journal."""
        self._abandoned.set()

    @property
    def backlog(self) -> int:
        """Traces (and late spans) that wait to be judged."""
        return self._backlog.qsize()

    @property
    def backlog_bytes(self) -> int:
        """Memory that traces take that wait to be judged."""
        return self._backlog_bytes

    @property
    def waiting_fragments(self) -> int:
        """Traces that wait for the other traces of their run."""
        return len(self._room) if self._room is not None else 0

    @property
    def waiting_bytes(self) -> int:
        """Memory that these take, and traces that wait for an LLM."""
        rooms = (self._room, self._asking)
        return sum(room.size_bytes for room in rooms if room is not None)

    def restore(self, trace_id: bytes, late_addition: bytes) -> None:
        """Learn what late spans of a trace get that was decided before a restart."""
        self._late_additions.remember(trace_id, late_addition)

    @property
    def asking(self) -> int:
        """Runs that an LLM is asked about: those that are held, and those that have left."""
        return len(self._asking) if self._asking is not None else 0

    # ------------------------------------------------------- what the assembler hands over

    def forward(self, spans: Sequence[WireSpan]) -> None:
        """Forward spans without a verdict."""
        if not self._abandoned.is_set():
            self._outlet.put(spans)

    def late(self, spans: Sequence[WireSpan]) -> None:
        """Forward spans that came after their trace was released, with its verdict."""
        if self._abandoned.is_set():
            return
        self._metrics.late_spans.inc(len(spans))
        ready: dict[bytes, list[WireSpan]] = {}
        for span in spans:
            if not (self._waits(span.trace_id) and self._enqueue(_LateSpan(span))):
                ready.setdefault(span.trace_id, []).append(span)
        for trace_id, own in ready.items():
            self._put_late(trace_id, own)
            if self._asking is not None and self._asking.remembers(trace_id):
                for span in own:  # it may say that the user disliked the answer
                    self._enqueue(_LookedAt(span))

    def _enqueue(self, item: _LateSpan | _LookedAt) -> bool:
        try:
            self._backlog.put_nowait(item)
        except queue.Full:
            return False
        return True

    def _waits(self, trace_id: bytes) -> bool:
        """Tell whether late spans of a trace are for the analysis thread."""
        with self._queued_lock:
            if trace_id in self._queued:
                return True
        rooms = (self._room, self._asking)
        return any(room is not None and trace_id in room for room in rooms)

    def _put_late(self, trace_id: bytes, spans: Sequence[WireSpan]) -> None:
        addition = self._late_additions.addition(trace_id)
        self._outlet.put(spans, {span.span_id: addition for span in spans})

    def release(self, trace: HeldTrace) -> None:
        """Judge a trace and forward it; at once and unjudged when too many wait."""
        if self._abandoned.is_set():
            return
        if not trace.completion.complete:
            self._metrics.traces_evicted.labels(trace.completion.value).inc()
        size = trace.size_bytes
        with self._queued_lock:
            has_room = not self._queued or self._backlog_bytes + size <= self._max_backlog_bytes
            if has_room:
                self._queued.add(trace.trace_id)
                self._backlog_bytes += size
        if has_room:
            try:
                self._backlog.put_nowait(trace)
            except queue.Full:
                self._forget(trace)
            else:
                return
        self._pass_unjudged(trace, "overloaded")

    # ------------------------------------------------------------------ the analysis thread

    def _work(self) -> None:
        while not self._abandoned.is_set():
            if self._attempt(self._turn) == (True,):
                return

    def _turn(self) -> bool:
        """Take one item, and let go what waits no longer; return whether all is done."""
        try:
            item = self._backlog.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            if self._no_more.is_set():
                self._empty_room()
                if self._let_answered_leave():
                    return True
        else:
            self._take(item)
        self._let_leave()
        return False

    def _take(self, item: HeldTrace | _LateSpan | _LookedAt) -> None:
        match item:
            case _LateSpan(span):
                self._take_late(span)
            case _LookedAt(span):
                self._look_at(span)
            case _:
                try:
                    self._settle(item)
                finally:
                    self._forget(item)

    def _attempt(self, work: Callable[[], T]) -> tuple[T] | None:
        """Return what ``work`` returns; ``None`` when it raised, which is noted."""
        try:
            return (work(),)
        except Exception as error:  # noqa: BLE001  fail open: no detector may cost a span
            self._note(error)
            return None

    def _take_late(self, span: WireSpan) -> None:
        rooms = (self._asking, self._room)
        if not any(room is not None and room.add_late(span) for room in rooms):
            self._put_late(span.trace_id, [span])
            self._look_at(span)

    def _look_at(self, span: WireSpan) -> None:
        asking = self._asking
        if asking is not None:
            self._attempt(lambda: asking.look_at(span))

    def _settle(self, held: HeldTrace) -> None:
        """Let a trace go, with its verdict when there is one."""
        if self._hurrying.is_set():
            self._pass_unjudged(held, "shutdown")
            return
        judged = self._attempt(lambda: self._judge(held))
        if judged is None:
            self._pass_unjudged(held, "error")
        elif judged[0] is not None:  # else it waits for the other traces of its run
            self._hold_or_let_go(judged[0])

    def _judge(self, held: HeldTrace) -> Judged | None:
        """Return what is said of a trace; ``None`` when it waits in the room."""
        trace = self._analyser.decode(held)
        spans = {span.span_id: span for span in trace.spans}
        if self._limits.passed_by(trace):
            self._metrics.skipped.labels("too_large").inc()
            return Judged((held,), (), spans)
        asking = self._asking
        if asking is not None:
            self._attempt(lambda: asking.look_at_all(trace.spans))
        mapped = self._analyser.mapped(trace)
        if self._room is not None and self._room.offer(held, mapped):
            return None
        return Judged((held,), self._analyser.assess_all(mapped), spans)

    def _hold_or_let_go(self, judged: Judged) -> None:
        if self._asking is None or judged.answered or not self._asking.hold(judged):
            self._let_go(judged)

    def _let_go(self, judged: Judged) -> None:
        """Let traces go with what is said of them by now, and the late spans with them."""
        made = self._attempt(lambda: self._marked(judged))
        if made is None:
            for held in judged.traces:
                self._pass_unjudged(held, "error")
            self._drop(judged)
        else:
            ((reports, marks),) = made
            if self._attempt(lambda: self._put(judged, marks)) is None:
                self._drop(judged)  # it stays in the journal, undecided
                return
            judged.exemplars = marks.exemplars
            if not judged.pending:
                self._attempt(lambda: self._marking.count(reports, marks.exemplars))
            self._tell(judged, reports, judged.spans)
            asking = self._asking
            if (
                asking is not None
                and self._attempt(lambda: asking.has_left(judged, reports)) is None
            ):
                self._drop(judged)
        late, judged.late = judged.late, []
        for span in late:
            self._put_late(span.trace_id, [span])
            self._look_at(span)

    def _tell(self, judged: Judged, reports: Sequence[Report], spans: Mapping[bytes, Span]) -> None:
        recent = self._recent
        if recent is not None:
            size = _COPIES * judged.size_bytes
            traces = len(judged.traces)
            self._attempt(lambda: recent.add(reports, spans, traces=traces, size_bytes=size))

    def _drop(self, judged: Judged) -> None:
        if self._asking is not None:
            self._asking.drop(judged)

    def _marked(self, judged: Judged) -> tuple[list[Report], Marks]:
        reports = judged.settle()
        marks = self._marking.marks(reports, judged.spans)
        for top in judged.other_tops:
            own = marks.additions.get(top, b"")
            marks.additions[top] = own + annotate_joined(reports[0])
        return reports, marks

    def _put(self, judged: Judged, marks: Marks) -> None:
        if len(judged.traces) > 1:
            self._metrics.joined_traces.inc(len(judged.traces))
        for held in judged.traces:
            self._late_additions.remember(held.trace_id, marks.late_addition)
        self._outlet.put_together(
            [(held.trace_id, held.spans) for held in judged.traces],
            marks.additions,
            late_addition=marks.late_addition,
        )

    # --------------------------------------------------- runs that an LLM is asked about

    def _let_answered_leave(self) -> bool:
        """Let traces go whose wait for an LLM is over; return whether none is waited for any more."""
        asking = self._asking
        if asking is None:
            return True
        hurrying = self._hurrying.is_set()
        while (
            not self._abandoned.is_set()
            and (judged := asking.next_leaving(all_now=hurrying)) is not None
        ):
            self._let_go(judged)
        while (
            not self._abandoned.is_set()
            and (judged := asking.next_answered(all_now=hurrying)) is not None
        ):
            self._publish(asking, judged)
        return not len(asking)

    def _publish(self, asking: Asking, judged: Judged) -> None:
        """Send what an LLM said of runs whose spans have left, and count them."""
        made = self._attempt(judged.reports)
        # What cannot be judged again stands as it is on the spans.
        reports = [each.report for each in judged.assessed] if made is None else made[0]
        self._attempt(lambda: asking.publish(judged, reports))
        self._tell(judged, reports, {})
        if judged.counted:
            asked = zip(judged.assessed, reports, strict=True)
            self._marking.count_judge([r for each, r in asked if each.asked is not None])
        else:
            self._marking.count(reports, judged.exemplars)
        asking.has_been_counted(judged, reports)

    # ------------------------------------------------- traces that are a part of a run

    def _let_leave(self) -> None:
        """Let the traces go whose wait is over."""
        self._let_answered_leave()
        room = self._room
        while room is not None and not self._abandoned.is_set():
            found = self._attempt(room.next_leaving)
            if found is None:  # joining costs no span either
                self._pass_members_unjudged(room.clear(), "error")
                return
            if found[0] is None:
                return
            self._settle_waiting(room, found[0])
            self._let_answered_leave()

    def _empty_room(self) -> None:
        """Let all fragments go, each by itself: nothing that they could wait for comes."""
        while (
            self._room is not None
            and not self._abandoned.is_set()
            and (leaving := self._room.next_of_all()) is not None
        ):
            self._settle_waiting(self._room, leaving)

    def _settle_waiting(self, room: WaitingRoom, leaving: Leaving) -> None:
        """Let fragments go, with their verdicts when there are any."""
        judged: list[Judged] = []
        reason = "shutdown"
        if not self._hurrying.is_set():
            settled = settle(leaving, self._analyser, self._limits.passed_by)
            if self._attempt(lambda: judged.extend(map(_judged, settled))) is None:
                reason = "error"
        for each in judged:
            self._hold_or_let_go(each)
        room.forget(leaving)
        left = {held.trace_id for each in judged for held in each.traces}
        self._pass_members_unjudged(
            [member for member in leaving.members if member.held.trace_id not in left], reason
        )

    def _pass_members_unjudged(self, members: Sequence[Waiting], reason: str) -> None:
        for member in members:
            self._pass_unjudged(member.held, reason)
            if member.late:
                self._put_late(member.held.trace_id, member.late)

    def _pass_unjudged(self, trace: HeldTrace, reason: str) -> None:
        self._metrics.skipped.labels(reason).inc()
        self._outlet.put(trace.spans, trace_id=trace.trace_id)

    def _forget(self, trace: HeldTrace) -> None:
        with self._queued_lock:
            self._queued.discard(trace.trace_id)
            self._backlog_bytes -= trace.size_bytes

    def _note(self, error: Exception) -> None:
        if type(error) not in self._failures:
            self._failures.add(type(error))
            _log.error("analysis failed; traces pass unjudged", exc_info=error)


def _judged(settled: Settled) -> Judged:
    """Return traces that waited for each other, with what is said of them."""
    members = settled.members
    tops: tuple[bytes, ...] = ()
    if len(members) > 1:
        (assessed,) = settled.assessed
        every = (member.mapped.runs[0].top_span_id for member in members)
        tops = tuple(top for top in every if top != assessed.report.run.top_span_id)
    return Judged(
        tuple(member.held for member in members),
        settled.assessed,
        {s.span_id: s for member in members for s in member.mapped.trace.spans},
        tops,
        [span for member in members for span in member.late],
    )

"""Released traces and late spans to verdicts, and through the outlet to the destinations."""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from otel_raglog.analysis import Analyser
from otel_raglog.model import HeldTrace, Report, Span, Trace, WireSpan
from otel_raglog.outlet import Outlet
from otel_raglog.report.annotations import (
    AnnotationOptions,
    annotate,
    annotate_joined,
    annotate_late,
    may_be_rag,
)
from otel_raglog.telemetry import ExemplarChoice, RunMetrics
from otel_raglog.waiting import Leaving, Settled, Waiting, WaitingRoom, settle

_IDLE_SECONDS = 0.1
_LAST_SECONDS = 1.0
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
    what is joined is judged once and leaves at once.
    """

    def __init__(
        self,
        analyser: Analyser,
        outlet: Outlet,
        metrics: RunMetrics,
        exemplars: ExemplarChoice,
        options: AnnotationOptions,
        *,
        backlog_traces: int,
        backlog_bytes: int,
        remember_traces: int,
        limits: TraceLimits = TraceLimits(),
        room: WaitingRoom | None = None,
    ) -> None:
        self._limits = limits
        self._room = room
        self._analyser = analyser
        self._outlet = outlet
        self._metrics = metrics
        self._exemplars = exemplars
        self._options = options
        self._late_additions = LateAdditions(remember_traces)
        self._max_backlog_bytes = backlog_bytes
        self._backlog_bytes = 0
        self._backlog: queue.Queue[HeldTrace | _LateSpan] = queue.Queue(backlog_traces)
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
        """Memory that these take."""
        return self._room.size_bytes if self._room is not None else 0

    def restore(self, trace_id: bytes, late_addition: bytes) -> None:
        """Learn what late spans of a trace get that was decided before a restart."""
        self._late_additions.remember(trace_id, late_addition)

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
            with self._queued_lock:
                waiting = span.trace_id in self._queued
            if waiting or (self._room is not None and span.trace_id in self._room):
                try:
                    self._backlog.put_nowait(_LateSpan(span))
                except queue.Full:
                    self._outlet.put([span])
            else:
                ready.setdefault(span.trace_id, []).append(span)
        for trace_id, own in ready.items():
            self._put_late(trace_id, own)

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
            try:
                item = self._backlog.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._no_more.is_set():
                    self._empty_room()
                    return
                self._let_leave()
                continue
            if isinstance(item, _LateSpan):
                if self._room is None or not self._room.add_late(item.span):
                    self._put_late(item.span.trace_id, [item.span])
            else:
                try:
                    self._settle(item)
                finally:
                    self._forget(item)
            self._let_leave()

    def _settle(self, held: HeldTrace) -> None:
        """Let a trace go, with its verdict when there is one."""
        if self._hurrying.is_set():
            self._pass_unjudged(held, "shutdown")
            return
        try:
            judged = self._judge(held)
        except Exception as error:  # noqa: BLE001  fail open: no detector may cost a span
            self._note(error)
            self._pass_unjudged(held, "error")
            return
        if judged is None:  # it waits for the other traces of its run
            return
        additions, late_addition = judged
        self._outlet.put(held.spans, additions, trace_id=held.trace_id, late_addition=late_addition)

    def _judge(self, held: HeldTrace) -> tuple[dict[bytes, bytes], bytes] | None:
        """Return what to append to the trace's spans, by id, and to those that come late.

        ``None`` when the trace waits in the room.
        """
        trace = self._analyser.decode(held)
        if self._limits.passed_by(trace):
            self._metrics.skipped.labels("too_large").inc()
            return {}, b""
        if self._room is None:
            reports = self._analyser.reports(trace)
        else:
            mapped = self._analyser.mapped(trace)
            if self._room.offer(held, mapped):
                return None
            reports = self._analyser.reports_of(mapped)
        return self._annotate(reports, {span.span_id: span for span in trace.spans}, [held])

    def _annotate(
        self, reports: Sequence[Report], spans: Mapping[bytes, Span], traces: Sequence[HeldTrace]
    ) -> tuple[dict[bytes, bytes], bytes]:
        """Count the reports of traces, and return what to append to their spans."""
        exemplars = {
            report.run.run_id: self._exemplars.choose(report.verdict) for report in reports
        }
        additions = annotate(
            reports,
            spans,
            self._options,
            exemplars=frozenset(run_id for run_id, chosen in exemplars.items() if chosen),
        )
        judged = [report for report in reports if may_be_rag(report)]
        late_addition = annotate_late(judged) if judged else b""
        for held in traces:
            self._late_additions.remember(held.trace_id, late_addition)
        for report in reports:
            if may_be_rag(report):
                self._metrics.count(report, exemplar=exemplars[report.run.run_id])
            else:
                self._metrics.skipped.labels(report.skip_reason or "unknown").inc()
        return additions, late_addition

    # ------------------------------------------------- traces that are a part of a run

    def _let_leave(self) -> None:
        """Let the fragments go whose wait is over."""
        if self._room is None:
            return
        while not self._abandoned.is_set():
            try:
                leaving = self._room.next_leaving()
            except Exception as error:  # noqa: BLE001  fail open: joining costs no span either
                self._note(error)
                self._pass_members_unjudged(self._room.clear(), "error")
                return
            if leaving is None:
                return
            self._settle_waiting(self._room, leaving)

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
        judged: list[tuple[Settled, dict[bytes, bytes], bytes]] = []
        reason = "shutdown"
        try:
            if not self._hurrying.is_set():
                for settled in settle(leaving, self._analyser, self._limits.passed_by):
                    item = (settled, *self._annotate_settled(settled))
                    judged.append(item)
        except Exception as error:  # noqa: BLE001  fail open: no detector may cost a span
            self._note(error)
            reason = "error"
        left: set[bytes] = set()
        for settled, additions, late_addition in judged:
            traces = [(member.held.trace_id, member.held.spans) for member in settled.members]
            self._outlet.put_together(traces, additions, late_addition=late_addition)
            left.update(trace_id for trace_id, _ in traces)
        room.forget(leaving)
        self._pass_members_unjudged(
            [member for member in leaving.members if member.held.trace_id not in left], reason
        )
        for member in leaving.members:
            if member.late and member.held.trace_id in left:
                self._put_late(member.held.trace_id, member.late)

    def _annotate_settled(self, settled: Settled) -> tuple[dict[bytes, bytes], bytes]:
        traces = [member.held for member in settled.members]
        spans = {s.span_id: s for member in settled.members for s in member.mapped.trace.spans}
        additions, late_addition = self._annotate(settled.reports, spans, traces)
        if len(traces) > 1:
            self._metrics.joined_traces.inc(len(traces))
            (report,) = settled.reports
            for member in settled.members:
                top = member.mapped.runs[0].top_span_id
                if top != report.run.top_span_id:
                    additions[top] = additions.get(top, b"") + annotate_joined(report)
        return additions, late_addition

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

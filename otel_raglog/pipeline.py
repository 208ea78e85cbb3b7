"""Released traces and passing spans to annotated spans in every destination's queue."""

from __future__ import annotations

import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from otel_raglog.analysis import Analyser
from otel_raglog.errors import Unavailable
from otel_raglog.model import HeldTrace, Report, Span, Trace, WireSpan
from otel_raglog.report.annotations import (
    AnnotationOptions,
    annotate,
    annotate_late,
    append,
    may_be_rag,
)
from otel_raglog.telemetry import ExemplarChoice, RunMetrics

_ROOM_WAIT_SECONDS = 0.02
_IDLE_SECONDS = 0.1
_LAST_SECONDS = 1.0
_LAST_TRIES = 50
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


class FanOut(Protocol):
    """The queues of all destinations."""

    def offer(self, spans: Sequence[WireSpan]) -> None:
        """Queue ``spans`` for every destination; raise :class:`Unavailable` and queue none."""
        ...

    def offer_where_room(
        self, spans: Sequence[WireSpan], only: Collection[str] | None = None
    ) -> Sequence[str]:
        """Queue ``spans`` where there is room; return the names of the other destinations."""
        ...


class Outlet:
    """Puts spans into the queue of every destination, waiting for room.

    Waiting is the back-pressure: behind it the backlog and the inbox fill, and the doors refuse.
    Nothing is dropped but what still waits when :meth:`give_up` was called, for the destinations
    that have no room then, and that is counted.
    """

    def __init__(self, fan_out: FanOut, give_up_on: Callable[[str, int], None]) -> None:
        self._fan_out = fan_out
        self._give_up_on = give_up_on
        self._giving_up = threading.Event()
        self._patience: dict[str, int] = {}
        self._waiting = 0

    @property
    def waiting(self) -> bool:
        """Whether somebody waits for room now."""
        return self._waiting > 0

    def put(self, spans: Sequence[WireSpan]) -> None:
        """Queue ``spans`` for every destination."""
        if not spans:
            return
        waits = 0
        try:
            while not self._offer(spans):
                if not waits:
                    waits = 1
                    self._waiting += 1
                if self._giving_up.wait(_ROOM_WAIT_SECONDS):
                    self._put_where_room(spans)
                    return
        finally:
            self._waiting -= waits

    def give_up(self) -> None:
        """Stop waiting for room: what finds none is dropped and counted."""
        self._giving_up.set()

    def _put_where_room(self, spans: Sequence[WireSpan]) -> None:
        """Queue what fits. A destination that still drains is waited for, one that is dead once."""
        left = set(self._fan_out.offer_where_room(spans))
        patience = {name: self._patience.get(name, _LAST_TRIES) for name in left}
        while waiting := {name for name in left if patience[name] > 0}:
            time.sleep(_ROOM_WAIT_SECONDS)
            still = set(self._fan_out.offer_where_room(spans, waiting))
            left -= waiting - still
            for name in still:
                patience[name] -= 1
        for name in left:
            self._patience[name] = 0
            self._give_up_on(name, len(spans))

    def _offer(self, spans: Sequence[WireSpan]) -> bool:
        try:
            self._fan_out.offer(spans)
        except Unavailable:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _LateSpan:
    """A late span whose trace is still waiting to be judged."""

    span: WireSpan


class Decisions:
    """Remembers what late spans of judged traces inherit, for the most recent traces."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._additions: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, trace_id: bytes, reports: Sequence[Report]) -> None:
        """Keep the verdict of a trace: of its runs together where it has several."""
        judged = [report for report in reports if may_be_rag(report)]
        if not judged:
            return
        with self._lock:
            self._additions[trace_id] = annotate_late(judged)
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
        remember_traces: int,
        limits: TraceLimits = TraceLimits(),
    ) -> None:
        self._limits = limits
        self._analyser = analyser
        self._outlet = outlet
        self._metrics = metrics
        self._exemplars = exemplars
        self._options = options
        self._decisions = Decisions(remember_traces)
        self._backlog: queue.Queue[HeldTrace | _LateSpan] = queue.Queue(backlog_traces)
        self._queued: set[bytes] = set()
        self._queued_lock = threading.Lock()
        self._failures: set[type[Exception]] = set()
        self._no_more = threading.Event()
        self._hurrying = threading.Event()
        self._thread = threading.Thread(target=self._work, name="raglog-analysis", daemon=True)

    def start(self) -> None:
        """Begin to judge."""
        self._thread.start()

    def stop(self, grace_seconds: float) -> bool:
        """Judge what waits for ``grace_seconds`` at most, pass the rest unjudged, and end.

        Nothing may be released any more. Returns whether the thread has ended: it does not while
        the outlet waits for room, or within one trace that takes long.
        """
        self._no_more.set()
        self._thread.join(grace_seconds)
        self._hurrying.set()
        self._thread.join(_LAST_SECONDS)
        return not self._thread.is_alive()

    def hurry(self) -> None:
        """Judge no more: what waits passes unjudged."""
        self._hurrying.set()

    @property
    def backlog(self) -> int:
        """Traces (and late spans) that wait to be judged."""
        return self._backlog.qsize()

    # ------------------------------------------------------- what the assembler hands over

    def forward(self, spans: Sequence[WireSpan]) -> None:
        """Forward spans that belong to no run."""
        self._outlet.put([append(span, b"") for span in spans])

    def late(self, spans: Sequence[WireSpan]) -> None:
        """Forward spans that came after their trace was released, with its verdict."""
        self._metrics.late_spans.inc(len(spans))
        ready: list[WireSpan] = []
        for span in spans:
            with self._queued_lock:
                waiting = span.trace_id in self._queued
            if waiting:
                try:
                    self._backlog.put_nowait(_LateSpan(span))
                except queue.Full:
                    ready.append(append(span, b""))
            else:
                ready.append(append(span, self._decisions.addition(span.trace_id)))
        self._outlet.put(ready)

    def release(self, trace: HeldTrace) -> None:
        """Judge a trace and forward it; at once and unjudged when too many wait."""
        if not trace.completion.complete:
            self._metrics.traces_evicted.labels(trace.completion.value).inc()
        with self._queued_lock:
            self._queued.add(trace.trace_id)
        try:
            self._backlog.put_nowait(trace)
        except queue.Full:
            self._forget(trace.trace_id)
            self._pass_unjudged(trace, "overloaded")

    # ------------------------------------------------------------------ the analysis thread

    def _work(self) -> None:
        while True:
            try:
                item = self._backlog.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._no_more.is_set():
                    return
                continue
            if isinstance(item, _LateSpan):
                addition = self._decisions.addition(item.span.trace_id)
                self._outlet.put([append(item.span, addition)])
                continue
            if self._hurrying.is_set():
                self._pass_unjudged(item, "shutdown")
                self._forget(item.trace_id)
                continue
            try:
                annotated = self._judge(item)
            except Exception as error:  # noqa: BLE001  fail open: no detector may cost a span
                self._note(error)
                self._pass_unjudged(item, "error")
            else:
                self._outlet.put(annotated)
            finally:
                self._forget(item.trace_id)

    def _judge(self, held: HeldTrace) -> list[WireSpan]:
        trace = self._analyser.decode(held)
        if self._limits.passed_by(trace):
            self._metrics.skipped.labels("too_large").inc()
            return [append(span, b"") for span in held.spans]
        reports = self._analyser.reports(trace)
        exemplars = {
            report.run.run_id: self._exemplars.choose(report.verdict) for report in reports
        }
        additions = annotate(
            reports,
            {span.span_id: span for span in trace.spans},
            self._options,
            exemplars=frozenset(run_id for run_id, chosen in exemplars.items() if chosen),
        )
        annotated = _append_once(held.spans, additions)
        self._decisions.remember(held.trace_id, reports)
        for report in reports:
            if may_be_rag(report):
                self._metrics.count(report, exemplar=exemplars[report.run.run_id])
            else:
                self._metrics.skipped.labels(report.skip_reason or "unknown").inc()
        return annotated

    def _pass_unjudged(self, trace: HeldTrace, reason: str) -> None:
        self._metrics.skipped.labels(reason).inc()
        self._outlet.put([append(span, b"") for span in trace.spans])

    def _forget(self, trace_id: bytes) -> None:
        with self._queued_lock:
            self._queued.discard(trace_id)

    def _note(self, error: Exception) -> None:
        if type(error) not in self._failures:
            self._failures.add(type(error))
            _log.error("analysis failed; traces pass unjudged", exc_info=error)


def _append_once(spans: Sequence[WireSpan], additions: Mapping[bytes, bytes]) -> list[WireSpan]:
    """Annotate every copy of a span alike: a repeated span has one verdict."""
    return [append(span, additions.get(span.span_id, b"")) for span in spans]

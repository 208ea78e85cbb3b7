"""Spans that start and end turned into whole traces for the sidecar."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_raglog_exporters.in_app.exporter import RaglogSpanExporter
from otel_raglog_exporters.in_app.process import Counts
from otel_raglog_exporters.in_app.settings import InAppConfig

_MOST_OPEN_TRACES = 10_000


class OpenSpans:
    """How many spans of each trace are open in this process; the oldest traces are forgotten."""

    def __init__(self, most_traces: int = _MOST_OPEN_TRACES) -> None:
        self._most_traces = most_traces
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()  # spans may end within any code: see outbox.py
        self._counts: dict[int, int] = {}

    def start(self, trace_id: int) -> None:
        """Count a span that started."""
        if self._pid != os.getpid():
            self._begin()  # what the parent process has open ends there
        with self._lock:
            self._counts[trace_id] = self._counts.get(trace_id, 0) + 1
            while len(self._counts) > self._most_traces:
                self._counts.pop(next(iter(self._counts)))

    def end(self, trace_id: int) -> bool:
        """Count a span that ended; returns whether none of its trace is open now."""
        if self._pid != os.getpid():
            self._begin()
        with self._lock:
            left = self._counts.get(trace_id, 1) - 1
            if left > 0:
                self._counts[trace_id] = left
                return False
            self._counts.pop(trace_id, None)
            return True


class RaglogSpanProcessor(SpanProcessor):
    """Hands spans to the sidecar without a ``BatchSpanProcessor``; its arguments are the exporter's.

    It sees spans start, and so knows when nothing of a trace is open any more (an answer that is
    still streamed keeps it open), and mends the limits of any provider before a span is lost.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        config: InAppConfig | None = None,
    ) -> None:
        self._exporter = RaglogSpanExporter(endpoint, headers, config=config)
        self._open = OpenSpans()

    @property
    def counts(self) -> Counts:
        """Spans sent, dropped and waiting in this process."""
        return self._exporter.counts

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Note that a span of its trace is open."""
        self._exporter.limits.look_at_started(span)
        context = span.get_span_context()
        if context is not None:
            self._open.start(context.trace_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Take the span over, if it was sampled; waits for nothing, raises nothing."""
        context = span.get_span_context()
        if context is not None:
            done = self._open.end(context.trace_id)
            if context.trace_flags.sampled:
                self._exporter.take(span, done=done)

    def shutdown(self) -> None:
        """Send what waits for ``shutdown_seconds``, then give up."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what waits, complete or not; returns whether it was delivered in that time."""
        return self._exporter.force_flush(timeout_millis)

"""Spans that the SDK exports turned into spans that wait for the sidecar."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from otel_raglog.clock import SystemClock
from otel_raglog_exporters.in_app.limits import LimitGuard
from otel_raglog_exporters.in_app.outbox import Outbox
from otel_raglog_exporters.in_app.posting import Door
from otel_raglog_exporters.in_app.process import Counts
from otel_raglog_exporters.in_app.settings import (
    InAppConfig,
    attribute_limit_is_chosen,
    provider_is_named,
)
from otel_raglog_exporters.in_app.span_json import request_json
from otel_raglog_exporters.in_app.traces import Ended, estimated_bytes

_log = logging.getLogger("otel_raglog_exporters.in_app")


class RaglogSpanExporter(SpanExporter):
    """Hands spans to the sidecar, whole traces at a time, from a thread of its own.

    No method but the constructor raises, and none but ``force_flush`` and ``shutdown`` waits, also
    with a ``SimpleSpanProcessor``. ``endpoint`` and ``headers`` go before ``config``, which is read
    from ``OTEL_EXPORTER_RAGLOG_…`` variables when it is not given.

    Raises:
        ConfigError: an argument cannot be used. Variables that cannot are logged instead.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        config: InAppConfig | None = None,
    ) -> None:
        config = config or InAppConfig.from_environment()
        if endpoint is not None:
            config = replace(config, endpoint=endpoint)
        if headers is not None:
            # As it is where it is none: the options say what is wrong with it.
            given: Any = headers
            own = dict(given) if isinstance(given, Mapping) else given
            config = replace(config, headers=own)
        clock = SystemClock()
        self.config = config
        self.limits = LimitGuard(
            mend=config.raise_attribute_limit, chosen=attribute_limit_is_chosen()
        )
        self._outbox = Outbox(config, Door(config, clock), self._encode, clock)
        self._failed = False
        self._knows_provider = False
        if not provider_is_named():
            self.limits.look_at_provider(trace.get_tracer_provider())

    @property
    def counts(self) -> Counts:
        """Spans sent, dropped and waiting in this process."""
        return self._outbox.counts

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take ``spans`` over; ``FAILURE`` when some had to be dropped."""
        if not self._knows_provider:
            self._knows_provider = True
            self.limits.look_at_provider(trace.get_tracer_provider())
        taken = True
        for span in spans:
            taken &= self.take(span, done=span.parent is None or span.parent.is_remote)
        return SpanExportResult.SUCCESS if taken else SpanExportResult.FAILURE

    def take(self, span: ReadableSpan, *, done: bool) -> bool:
        """Take one span over; ``done``: nothing of its trace is open here. Never raises."""
        try:
            context = span.get_span_context()
            trace_id = context.trace_id if context is not None else 0
            return self._outbox.put(Ended(span, trace_id, estimated_bytes(span), done))
        except Exception as defect:  # noqa: BLE001  see ADR 5: the application goes on
            self._tell_defect(span, defect)
            return False

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what waits, complete or not; returns whether it was delivered in that time."""
        return self._outbox.flush(timeout_millis / 1000)

    def shutdown(self, timeout_millis: float | None = None) -> None:
        """Send what waits for ``shutdown_seconds``, or less if told so, then give up."""
        most = self.config.shutdown_seconds
        self._outbox.close(most if timeout_millis is None else min(most, timeout_millis / 1000))

    def _encode(self, spans: Sequence[ReadableSpan]) -> bytes:
        for span in spans:
            self.limits.look_at_ended(span)
        return request_json(spans, self._tell_defect)

    def _tell_defect(self, span: ReadableSpan, defect: Exception) -> None:
        if not self._failed:
            self._failed = True
            name = getattr(span, "name", "?")
            _log.warning("a span (%s) cannot be sent: %r; this is told once", name, defect)

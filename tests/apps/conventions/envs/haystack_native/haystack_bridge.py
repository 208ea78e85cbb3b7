"""Haystack's own tracing interface to OpenTelemetry spans: the core ships a logging tracer only.

Every value is written as text: those of Haystack's tags that are no plain values as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haystack import tracing
from haystack.tracing.utils import coerce_tag_value
from opentelemetry import trace


class BridgedSpan(tracing.Span):
    """One OpenTelemetry span, as Haystack wants it."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set_tag(self, key: str, value: Any) -> None:
        """Write a tag."""
        self._span.set_attribute(key, coerce_tag_value(value))


class BridgedTracer(tracing.Tracer):
    """Opens OpenTelemetry spans for Haystack's operations."""

    _tracer = trace.get_tracer("haystack")

    @contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Any = None
    ) -> Iterator[tracing.Span]:
        """Open a span; its parent is the current one."""
        with self._tracer.start_as_current_span(operation_name) as span:
            bridged = BridgedSpan(span)
            bridged.set_tags(tags or {})
            yield bridged

    def current_span(self) -> tracing.Span | None:
        """Return the span that is open."""
        span = trace.get_current_span()
        return BridgedSpan(span) if span.is_recording() else None


def connect() -> None:
    """Have Haystack trace through OpenTelemetry."""
    tracing.enable_tracing(BridgedTracer())

"""The SDK's limits on spans turned into what is told about them, and mended where that can be."""

from __future__ import annotations

import logging
from typing import Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan

SANE_ATTRIBUTE_COUNT = 10_000
"""What OpenInference's own tracer provider keeps."""
_FEW_ATTRIBUTES = 1_000
_SDK_DEFAULT = 128
_LOSS = (
    "RAG spans have more (each retrieved document is several), and the SDK drops the oldest: the "
    "question, the span's kind and the best documents; such stages cannot be judged"
)
_REMEDY = (
    "set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 in the application's environment, or "
    "TracerProvider(span_limits=SpanLimits(max_span_attributes=10_000))"
)
_log = logging.getLogger("otel_raglog_exporters.in_app")


class LimitGuard:
    """Looks at the limits of providers and spans; each kind of news is told once.

    A limit of 128 attributes that nobody chose is raised in place, which the provider's tracers
    share, unless ``mend`` is off. ``chosen`` tells that a variable sets it: then it is told only.
    Whatever the SDK's inside looks like, nothing here raises.
    """

    def __init__(self, *, mend: bool, chosen: bool) -> None:
        self._mend = mend and not chosen
        self._seen: Any = None
        self._told: set[str] = set()

    def look_at_provider(self, provider: object) -> None:
        """Look at a tracer provider; one that is not the SDK's is passed over."""
        self._look_at(getattr(provider, "_span_limits", None))

    def look_at_started(self, span: object) -> None:
        """Look at a span that starts: its limits are its provider's."""
        limits = getattr(span, "_limits", None)
        if limits is None or limits is self._seen:
            return
        raised = self._look_at(limits)
        attributes = getattr(span, "_attributes", None)
        if raised and isinstance(attributes, BoundedAttributes):
            attributes.maxlen = SANE_ATTRIBUTE_COUNT

    def look_at_ended(self, span: ReadableSpan) -> None:
        """Look at a span that ended: has it lost anything?"""
        if span.dropped_attributes:
            self._tell(
                "lost",
                "a span (%s) has lost %d attributes, of which it may have too few to be judged: %s; "
                "this is told once",
                span.name,
                span.dropped_attributes,
                _REMEDY,
            )

    def _look_at(self, limits: Any) -> bool:
        """Tell about limits and mend them; returns whether the number of attributes was raised."""
        if limits is None or limits is self._seen:
            return False
        self._seen = limits
        if any(
            getattr(limits, name, None) is not None
            for name in ("max_span_attribute_length", "max_attribute_length")
        ):
            self._tell(
                "length",
                "the SDK cuts long values of attributes: prompts and documents that are cut cannot "
                "be judged; unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and "
                "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, or the lengths in SpanLimits",
            )
        kept = getattr(limits, "max_span_attributes", None)
        if not isinstance(kept, int) or kept >= _FEW_ATTRIBUTES:
            return False
        if self._mend and kept == _SDK_DEFAULT:
            try:
                limits.max_span_attributes = SANE_ATTRIBUTE_COUNT
            except AttributeError:
                pass
            else:
                self._tell(
                    "raised",
                    "the SDK keeps %d attributes of a span. %s. The limit is %d from now on; to "
                    "choose one yourself, and have it from the start, %s",
                    kept,
                    _LOSS,
                    SANE_ATTRIBUTE_COUNT,
                    _REMEDY,
                )
                return True
        self._tell("few", "the SDK keeps %d attributes of a span. %s: %s", kept, _LOSS, _REMEDY)
        return False

    def _tell(self, kind: str, words: str, *values: object) -> None:
        if kind not in self._told:
            self._told.add(kind)
            _log.warning(words, *values)

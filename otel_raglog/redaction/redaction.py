"""Payloads, and spans by themselves, to what every destination and every LLM may see of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, Payload, Signal, WireSpan
from otel_raglog.redaction.rewriting import Rewriter, edited
from otel_raglog.redaction.stripping import stripped
from otel_raglog.redaction.values import ValueRules
from otel_raglog.wire import Shape

_ITEM_SHAPES = {
    Signal.TRACES: (Shape.SCOPE_SPANS, Shape.SPAN),
    Signal.LOGS: (Shape.SCOPE_LOGS, Shape.LOG_RECORD),
    Signal.METRICS: (Shape.SCOPE_METRICS, Shape.METRIC),
}
_ENVELOPES = 1  # of a request: ResourceSpans, ResourceLogs, ResourceMetrics
_RESOURCE, _SCOPES = 1, 2  # of an envelope
_SCOPE, _ITEMS = 1, 2  # of ScopeSpans, ScopeLogs, ScopeMetrics
_REMEMBERED = 512


class Redacted(NamedTuple):
    """A payload without what is redacted; ``stripped`` items and envelopes lost all content."""

    payload: Payload
    stripped: int = 0


class Redaction:
    """Redacts, the same way each time: the same bytes come out for the same bytes.

    It fails closed: what cannot be redacted loses its content, and goes out without it. For all
    threads.
    """

    def __init__(self, values: ValueRules) -> None:
        self.texts = values.texts
        self._rewriter = Rewriter(values)
        # Resources and scopes repeat with every request.
        self._once = lru_cache(_REMEMBERED)(self._envelope_part)

    def payload(self, payload: Payload) -> Redacted:
        """Return ``payload`` as it may leave.

        Raises:
            BadInput: this is no request, and nothing of it may leave.
        """
        work = _Work(payload.signal, self._rewriter, self._once)
        try:
            body = edited(payload.body, work.envelope)
        except BadInput:
            raise
        except Exception as error:  # noqa: BLE001  closed: nothing of it must leave
            raise BadInput(f"a request cannot be redacted: {type(error).__name__}") from None
        return Redacted(replace(payload, body=body), work.stripped)

    def span(self, wire: WireSpan) -> WireSpan:
        """Return a span as it leaves, ids and all that tells where it belongs included."""
        work = _Work(Signal.TRACES, self._rewriter, self._once)
        origin = Origin(
            edited(wire.origin.resource, work.envelope_field),
            edited(wire.origin.scope, work.scope_field),
        )
        return replace(wire, raw=work.item(wire.raw), origin=origin)

    def _envelope_part(self, data: bytes, shape: Shape) -> bytes | None:
        """Return a resource or a scope; ``None`` when it cannot be redacted."""
        return _attempt(lambda: self._rewriter.message(data, shape))


class _Work:
    """The way through one request. ``stripped`` counts what lost its content on it."""

    def __init__(
        self,
        signal: Signal,
        rewriter: Rewriter,
        envelope_part: Callable[[bytes, Shape], bytes | None],
    ) -> None:
        self.stripped = 0
        self._scope_shape, self._item_shape = _ITEM_SHAPES[signal]
        self._rewriter = rewriter
        self._part = envelope_part

    def envelope(self, number: int, payload: bytes) -> bytes | None:
        """Return an item of a request."""
        return edited(payload, self.envelope_field) if number == _ENVELOPES else None

    def envelope_field(self, number: int, payload: bytes) -> bytes | None:
        """Return what stands in the place of one field of ``ResourceSpans`` and the like."""
        if number == _RESOURCE:
            return self._kept(self._part(payload, Shape.RESOURCE))
        if number == _SCOPES:
            return edited(payload, self.scope_field)
        return self._other(number, payload, Shape.RESOURCE_ENVELOPE)

    def scope_field(self, number: int, payload: bytes) -> bytes | None:
        """Return what stands in the place of one field of ``ScopeSpans`` and the like."""
        if number == _SCOPE:
            return self._kept(self._part(payload, Shape.SCOPE))
        if number == _ITEMS:
            return self.item(payload)
        return self._other(number, payload, self._scope_shape)

    def item(self, data: bytes) -> bytes:
        """Return a span, log record or metric: redacted, or without content."""
        done = _attempt(lambda: self._rewriter.message(data, self._item_shape))
        if done is None:
            self.stripped += 1
            return stripped(data, self._item_shape)
        return done

    def _other(self, number: int, payload: bytes, shape: Shape) -> bytes | None:
        done = _attempt(lambda: self._rewriter.text_of(number, payload, shape))
        return self._kept(done) if done != payload else None

    def _kept(self, done: bytes | None) -> bytes:
        if done is None:
            self.stripped += 1
            return b""
        return done


def _attempt(redact: Callable[[], bytes]) -> bytes | None:
    """Return what ``redact`` makes; ``None`` when it fails, whatever the reason."""
    try:
        return redact()
    except Exception:  # noqa: BLE001  closed: what was not redacted must not leave
        return None

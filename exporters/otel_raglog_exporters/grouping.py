"""Spans turned into serialized OTLP trace requests, by concatenation alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from otel_raglog.model import Headers, Origin, Payload, Signal
from otel_raglog.wire import wrap_head

MAX_REQUEST_BYTES = 3_670_016
"""3.5 MiB: many receivers take no message over 4 MiB."""

_RESOURCE_SPANS = 1  # ExportTraceServiceRequest.resource_spans, field 1
_SCOPE_SPANS = 2  # ResourceSpans.scope_spans, field 2
_SPANS = 2  # ScopeSpans.spans, field 2
_MAX_HEADER_BYTES = 6  # a tag of one byte and a length of at most five (below 32 GiB)


class EnvelopedSpan(Protocol):
    """A span's own bytes and its envelopes: a ``RawSpan`` or a ``WireSpan``."""

    @property
    def origin(self) -> Origin:
        """The envelopes."""
        ...

    @property
    def raw(self) -> bytes:
        """The serialized OTLP ``Span``."""
        ...


SpanT = TypeVar("SpanT", bound=EnvelopedSpan)


def encode_request(spans: Iterable[EnvelopedSpan]) -> bytes:
    """Return one serialized ``ExportTraceServiceRequest`` that holds ``spans``.

    Spans of equal resource bytes share a ``ResourceSpans``, those of equal scope bytes inside
    it a ``ScopeSpans``; groups and spans stay in order of first appearance. Span, scope and
    resource bytes are copied as they are, unknown fields included.
    """
    # Runs for every trace that leaves: one flat list of chunks, so that each is copied once.
    resources: dict[bytes, dict[bytes, list[bytes]]] = {}
    last: Origin | None = None
    chunks: list[bytes] = []
    for span in spans:
        if span.origin is not last:
            last = span.origin
            chunks = resources.setdefault(last.resource, {}).setdefault(last.scope, [])
        raw = span.raw
        chunks.append(wrap_head(_SPANS, len(raw)))
        chunks.append(raw)
    request: list[bytes] = []
    for resource, scopes in resources.items():
        inside: list[bytes] = [resource]
        for scope, chunks in scopes.items():
            inside.append(wrap_head(_SCOPE_SPANS, len(scope) + sum(map(len, chunks))))
            inside.append(scope)
            inside += chunks
        request.append(wrap_head(_RESOURCE_SPANS, sum(map(len, inside))))
        request += inside
    return b"".join(request)


def encode_payload(spans: Iterable[EnvelopedSpan], headers: Headers = ()) -> Payload:
    """Return the request that holds ``spans``, to be sent with ``headers``."""
    spans = tuple(spans)
    return Payload(Signal.TRACES, encode_request(spans), len(spans), headers)


def split_spans(
    spans: Iterable[SpanT], max_bytes: int = MAX_REQUEST_BYTES
) -> Iterator[tuple[SpanT, ...]]:
    """Cut ``spans`` into runs whose requests take at most ``max_bytes`` each, in order.

    A single span that is bigger goes alone. Nothing is yielded for no spans.
    """
    size = RequestSize()
    part: list[SpanT] = []
    for span in spans:
        size.add(span)
        if part and size.total > max_bytes:
            yield tuple(part)
            size, part = RequestSize(), []
            size.add(span)
        part.append(span)
    if part:
        yield tuple(part)


class RequestSize:
    """Upper bound of the bytes of a request to which spans are added one by one."""

    def __init__(self) -> None:
        self.total = 0
        self._resources: set[bytes] = set()
        self._scopes: set[tuple[bytes, bytes]] = set()

    def add(self, span: EnvelopedSpan) -> None:
        """Add ``span``."""
        resource, scope = span.origin.resource, span.origin.scope
        self.total += _MAX_HEADER_BYTES + len(span.raw)
        if resource not in self._resources:
            self._resources.add(resource)
            self.total += _MAX_HEADER_BYTES + len(resource)
        if (resource, scope) not in self._scopes:
            self._scopes.add((resource, scope))
            self.total += _MAX_HEADER_BYTES + len(scope)

"""Wire spans turned into serialized OTLP trace requests, by concatenation alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from otel_raglog.model import WireSpan

MAX_REQUEST_BYTES = 3_670_016
"""3.5 MiB: many receivers take no message over 4 MiB."""

_RESOURCE_SPANS = b"\x0a"  # ExportTraceServiceRequest.resource_spans, field 1
_SCOPE_SPANS = b"\x12"  # ResourceSpans.scope_spans, field 2
_SPANS = b"\x12"  # ScopeSpans.spans, field 2
_MAX_HEADER_BYTES = 6  # a tag of one byte and a length of at most five (below 32 GiB)


def encode_request(spans: Iterable[WireSpan]) -> bytes:
    """Return one serialized ``ExportTraceServiceRequest`` that holds ``spans``.

    Spans of equal resource bytes share a ``ResourceSpans``, those of equal scope bytes inside
    it a ``ScopeSpans``; groups and spans stay in order of first appearance. Span, scope and
    resource bytes are copied as they are, unknown fields included.
    """
    resources: dict[bytes, dict[bytes, list[bytes]]] = {}
    for span in spans:
        scopes = resources.setdefault(span.origin.resource, {})
        scopes.setdefault(span.origin.scope, []).append(span.raw)
    return b"".join(
        _field(_RESOURCE_SPANS, resource, _encode_scopes(scopes))
        for resource, scopes in resources.items()
    )


def split_spans(
    spans: Iterable[WireSpan], max_bytes: int = MAX_REQUEST_BYTES
) -> Iterator[tuple[WireSpan, ...]]:
    """Cut ``spans`` into runs whose requests take at most ``max_bytes`` each, in order.

    A single span that is bigger goes alone. Nothing is yielded for no spans.
    """
    size = RequestSize()
    part: list[WireSpan] = []
    for span in spans:
        if part and size.with_span(span) > max_bytes:
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

    def with_span(self, span: WireSpan) -> int:
        """Return the size that the request would have with ``span`` in it."""
        total = self.total + _MAX_HEADER_BYTES + len(span.raw)
        origin = span.origin
        if origin.resource not in self._resources:
            total += _MAX_HEADER_BYTES + len(origin.resource)
        if (origin.resource, origin.scope) not in self._scopes:
            total += _MAX_HEADER_BYTES + len(origin.scope)
        return total

    def add(self, span: WireSpan) -> None:
        """Add ``span``."""
        self.total = self.with_span(span)
        self._resources.add(span.origin.resource)
        self._scopes.add((span.origin.resource, span.origin.scope))


def _encode_scopes(scopes: dict[bytes, list[bytes]]) -> bytes:
    return b"".join(
        _field(_SCOPE_SPANS, scope, b"".join(_field(_SPANS, b"", raw) for raw in raws))
        for scope, raws in scopes.items()
    )


def _field(tag: bytes, head: bytes, tail: bytes) -> bytes:
    """Return a length-delimited field whose content is ``head`` followed by ``tail``."""
    return b"".join((tag, _varint(len(head) + len(tail)), head, tail))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:  # noqa: PLR2004  seven bits a byte
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

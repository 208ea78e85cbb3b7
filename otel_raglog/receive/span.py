"""A wire span to the decoded span that analysis reads."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from google.protobuf.message import DecodeError

from otel_raglog.errors import BadInput
from otel_raglog.model import AttributeValue, Origin, Span, SpanEvent, SpanLink, WireSpan
from otel_raglog.receive import thin_pb2 as thin

MAX_VALUE_BYTES = 1024 * 1024
"""Default length to which strings are cut: prompts of 200 kB are usual, of 1 MiB hardly."""

MAX_NUMBERS = 256
"""Length to which arrays of numbers are cut: these are vectors, which analysis does not read."""

_CACHEABLE_BYTES = 16 * 1024
_CACHED_ORIGINS = 512


def decode_span(wire: WireSpan, max_value_bytes: int = MAX_VALUE_BYTES) -> Span:
    """Return the span that ``wire`` holds, for analysis.

    Invalid UTF-8 becomes U+FFFD. Strings and bytes longer than ``max_value_bytes`` are cut, and
    arrays of more than :data:`MAX_NUMBERS` numbers to that many; ``truncated_keys`` names the
    attributes (of the span and of its events) to which that happened. Of attributes with the
    same key the last one counts.

    Raises:
        BadInput: the bytes are no span.
    """
    try:
        span = thin.Span.FromString(wire.raw)
    except DecodeError as error:
        raise BadInput(f"malformed span: {error}") from error
    reader = _Reader(max_value_bytes)
    origin = _decode_origin(wire.origin, max_value_bytes)
    return Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=wire.parent_id,
        name=reader.text(span.name),
        kind=span.kind,
        start_unix_nano=span.start_time_unix_nano,
        end_unix_nano=span.end_time_unix_nano,
        attributes=reader.attributes(span.attributes),
        events=tuple([reader.event(event) for event in span.events]),
        links=tuple([reader.link(link) for link in span.links]),
        status_code=span.status.code,
        status_message=reader.text(span.status.message),
        dropped_attributes_count=span.dropped_attributes_count,
        dropped_events_count=span.dropped_events_count,
        scope_name=origin.scope_name,
        resource=origin.resource,
        truncated_keys=frozenset(reader.truncated_keys),
        scope_version=origin.scope_version,
    )


class _DecodedOrigin(NamedTuple):
    scope_name: str
    scope_version: str
    resource: Mapping[str, AttributeValue]


def _decode_origin(origin: Origin, max_value_bytes: int) -> _DecodedOrigin:
    """Decode an origin; one that is not unusually large is decoded once for many spans."""
    if len(origin.resource) + len(origin.scope) <= _CACHEABLE_BYTES:
        return _decode_origin_once(origin, max_value_bytes)
    return _decode_origin_anew(origin, max_value_bytes)


def _decode_origin_anew(origin: Origin, max_value_bytes: int) -> _DecodedOrigin:
    reader = _Reader(max_value_bytes)
    try:
        resource = thin.ResourceEnvelope.FromString(origin.resource).resource
        scope = thin.ScopeEnvelope.FromString(origin.scope).scope
    except DecodeError as error:
        raise BadInput(f"malformed resource or scope: {error}") from error
    attributes = reader.attributes(resource.attributes)
    return _DecodedOrigin(
        reader.text(scope.name), reader.text(scope.version), MappingProxyType(attributes)
    )


_decode_origin_once = lru_cache(maxsize=_CACHED_ORIGINS)(_decode_origin_anew)


class _Reader:
    """Turns protobuf values into plain ones, and notes the keys whose values it cut."""

    def __init__(self, max_value_bytes: int) -> None:
        self.truncated_keys: set[str] = set()
        self._max_value_bytes = max_value_bytes
        self._cut = False

    def attributes(self, pairs: Iterable[thin.KeyValue]) -> dict[str, AttributeValue]:
        """Return the attributes as a dict, with keys cut like values."""
        values: dict[str, AttributeValue] = {}
        for pair in pairs:
            self._cut = False
            key = self.text(pair.key)
            values[key] = self._value(pair.value)
            if self._cut:
                self.truncated_keys.add(key)
        return values

    def event(self, event: thin.Event) -> SpanEvent:
        """Return an event of a span."""
        attributes = self.attributes(event.attributes)
        return SpanEvent(self.text(event.name), event.time_unix_nano, attributes)

    def link(self, link: thin.Link) -> SpanLink:
        """Return a link of a span."""
        return SpanLink(link.trace_id, link.span_id, self.attributes(link.attributes))

    def text(self, data: bytes) -> str:
        """Return at most ``max_value_bytes`` of ``data`` as text, cut between characters."""
        if len(data) <= self._max_value_bytes:
            return data.decode("utf-8", "replace")
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return decoder.decode(self._shorten(data))

    def _shorten(self, data: bytes) -> bytes:
        if len(data) <= self._max_value_bytes:
            return data
        self._cut = True
        return data[: self._max_value_bytes]

    def _value(self, value: thin.AnyValue) -> AttributeValue:
        text = value.string_value
        if text:  # most values are texts; then no other kind is set
            return self.text(text)
        kind = value.WhichOneof("value")
        if kind == "bytes_value":
            return self._shorten(value.bytes_value)
        if kind == "array_value":
            return self._array(value.array_value.values)
        if kind == "kvlist_value":
            pairs = value.kvlist_value.values
            return {self.text(pair.key): self._value(pair.value) for pair in pairs}
        if kind == "string_value":
            return ""
        number: bool | int | float | None = getattr(value, kind) if kind else None
        return number

    def _array(self, values: Sequence[thin.AnyValue]) -> tuple[AttributeValue, ...]:
        if len(values) > MAX_NUMBERS and values[0].WhichOneof("value") in _NUMBERS:
            self._cut = True
            values = values[:MAX_NUMBERS]
        # A double other than zero is no other kind: vectors are read without asking for it.
        return tuple([value.double_value or self._value(value) for value in values])


_NUMBERS = {"int_value", "double_value"}

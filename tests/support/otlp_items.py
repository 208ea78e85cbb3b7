"""OTLP request bytes to the items in them, byte for byte; shares no code with the service.

The nesting is the same for all signals: request (1) resource (2) scope (2) item, where an item is
a span, a log record or a metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SIGNALS = ("traces", "logs", "metrics")
METHODS = {
    signal: f"opentelemetry.proto.collector.{word}.v1.{word.capitalize()}Service"
    for signal, word in zip(SIGNALS, ("trace", "logs", "metrics"), strict=True)
}
"""The gRPC service of each signal; its method is ``Export``."""

PATHS = {f"/v1/{signal}": signal for signal in SIGNALS}

_METRIC_DATA = (5, 7, 9, 10, 11)  # gauge, sum, histogram, exponential histogram, summary
_TRACE_ID, _SPAN_ID = 1, 2


class Item(NamedTuple):
    """A span, log record or metric, and the own bytes of the envelopes that it came in."""

    resource: bytes
    scope: bytes
    raw: bytes


def items(body: bytes) -> Iterator[Item]:
    """Yield the items of a request in their order.

    Raises:
        ValueError: the bytes are no protobuf.
    """
    for number, resource, _ in _fields(body):
        if number != 1:
            continue
        resource_bytes, scopes = _open(resource)
        for scope in scopes:
            scope_bytes, raws = _open(scope)
            for raw in raws:
                yield Item(resource_bytes, scope_bytes, raw)


def span_key(raw: bytes) -> tuple[bytes, bytes]:
    """Return trace id and span id of a serialized span."""
    ids = {_TRACE_ID: b"", _SPAN_ID: b""}
    for number, payload, _ in _fields(raw):
        if number in ids:
            ids[number] = payload
    return ids[_TRACE_ID], ids[_SPAN_ID]


def data_points(raw: bytes) -> int:
    """Return how many data points a serialized metric has."""
    return sum(
        inner == 1
        for number, data, _ in _fields(raw)
        if number in _METRIC_DATA
        for inner, _, _ in _fields(data)
    )


def count(signal: str, body: bytes) -> int:
    """Return how many spans, log records or data points a request has."""
    found = list(items(body))
    return sum(data_points(item.raw) for item in found) if signal == "metrics" else len(found)


def _open(envelope: bytes) -> tuple[bytes, list[bytes]]:
    """Return an envelope's own bytes, and what it wraps (field 2)."""
    own, wrapped = b"", []
    for number, payload, whole in _fields(envelope):
        if number == 2:
            wrapped.append(payload)
        else:
            own += whole
    return own, wrapped


def _fields(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield number, payload and whole bytes of each field."""
    position = 0
    while position < len(data):
        begin = position
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            start, (_, position) = position, _varint(data, position)
        elif kind == 2:
            length, start = _varint(data, position)
            position = start + length
        elif kind in {1, 5}:
            start, position = position, position + (8 if kind == 1 else 4)
        else:
            raise ValueError(f"wire type {kind} at byte {begin}")
        if position > len(data):
            raise ValueError(f"the field at byte {begin} is cut off")
        yield tag >> 3, data[start:position], data[begin:position]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number is cut off")

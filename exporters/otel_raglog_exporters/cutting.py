"""A payload turned into smaller ones that together say the same, without decoding its items.

The three signals nest alike: field 1 of the request is a resource's block, its field 2 a scope's
block, and that one's field 2 an item (a span, a log record, a metric).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, Payload, RawSpan, Signal
from otel_raglog.wire import LENGTH_DELIMITED, START_GROUP, fields
from otel_raglog_exporters.grouping import encode_request, split_spans

_BLOCKS = 1
_INNER = 2
_POINTS = 1
_METRIC_DATA = frozenset({5, 7, 9, 10, 11})  # gauge, sum, histogram, exponential, summary


def cut_payload(payload: Payload, max_bytes: int) -> tuple[Payload, ...]:
    """Cut ``payload`` at item borders into parts of at most ``max_bytes`` each, in order.

    An item that is bigger goes alone. A body that cannot be read, or does not hold the items that
    the payload counts, stays as it is.
    """
    if len(payload.body) <= max_bytes:
        return (payload,)
    try:
        items = _items(payload.body)
        parts = [
            replace(payload, body=encode_request(part), items=_count(payload.signal, part))
            for part in split_spans(items, max_bytes)
        ]
    except BadInput:
        return (payload,)
    counted = sum(part.items for part in parts)
    return tuple(parts) if parts and counted == payload.items else (payload,)


def _items(body: bytes) -> list[RawSpan]:
    """Return the items of a request of any signal, with their envelopes."""
    items: list[RawSpan] = []
    for field, _, inside, end in _fields(body, 0, len(body)):
        if field != _BLOCKS:
            raise BadInput("the request holds more than resources: it cannot be cut")
        resource, scopes = _envelope(body, inside, end)
        for scope_start, scope_end in scopes:
            scope, spans = _envelope(body, scope_start, scope_end)
            origin = Origin(resource, scope)
            items.extend(RawSpan(origin, body[one:other]) for one, other in spans)
    return items


def _envelope(body: bytes, start: int, end: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Return a block without what is in its field 2, and where that is."""
    rest: list[bytes] = []
    inner: list[tuple[int, int]] = []
    for field, field_start, inside, field_end in _fields(body, start, end):
        if field == _INNER:
            inner.append((inside, field_end))
        else:
            rest.append(body[field_start:field_end])
    return b"".join(rest), inner


def _count(signal: Signal, items: tuple[RawSpan, ...]) -> int:
    return sum(_points(item.raw) for item in items) if signal is Signal.METRICS else len(items)


def _points(metric: bytes) -> int:
    return sum(
        inner == _POINTS
        for field, _, inside, end in _fields(metric, 0, len(metric))
        if field in _METRIC_DATA
        for inner, _, _, _ in _fields(metric, inside, end)
    )


def _fields(body: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield each field's number, and where it, its content and its end are.

    Raises:
        BadInput: these are no protobuf fields, or one is a group.
    """
    for number, wire_type, begin, inside, stop in fields(body, start, end):
        if wire_type == START_GROUP:
            raise BadInput("a group is none of OTLP's")
        # A field of the right number and the wrong type is unknown, as it is to protobuf.
        yield number if wire_type == LENGTH_DELIMITED else 0, begin, inside, stop

"""Protobuf bytes to field positions, without building anything.

This exists beside the protobuf library because a message costs up to 25 times its bytes in
memory once parsed: requests are counted, and their envelopes opened, before that is spent.
The format is https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TypeAlias

from otel_raglog.errors import BadInput

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)

Field: TypeAlias = tuple[int, int, int, int, int]
"""Number, wire type, start of the field (its tag), start of its payload, end of both."""

_CONTINUES = 0x80
_LONGEST_VARINT = 10
_LONGEST_LENGTH = 5
"""Tags and lengths have 32 bits; peers refuse longer ones."""
_HIGHEST_NUMBER = (1 << 29) - 1


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in ``data[start:end]``, in their order.

    A group, which OTLP has never had, is one field of wire type :data:`START_GROUP`.

    Raises:
        BadInput: this is no protobuf message.
    """
    position = start
    while position < end:
        begin = position
        tag, payload = _read_tag(data, position, end)
        wire_type = tag & 7
        if wire_type == LENGTH_DELIMITED:
            length, payload = _varint(data, payload, end, _LONGEST_LENGTH)
            position = payload + length
        elif wire_type == START_GROUP:
            position = _group_end(data, payload, end, tag >> 3)
        else:
            position = _scalar_end(data, payload, end, wire_type)
        if position > end:
            raise BadInput(f"malformed protobuf: the field at byte {begin} is cut off")
        yield tag >> 3, wire_type, begin, payload, position


def read_length(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the length at ``position`` and the position after it. Raises ``BadInput``."""
    return _varint(data, position, end, _LONGEST_LENGTH)


def read_varint(data: bytes, position: int, end: int) -> int:
    """Return the number at ``position``, of 64 bits at most. Raises ``BadInput``."""
    return _varint(data, position, end, _LONGEST_VARINT)[0] & (1 << 64) - 1


def wrap(number: int, payload: bytes) -> bytes:
    """Return ``payload`` as the length-delimited field ``number`` (at most 15)."""
    return wrap_head(number, len(payload)) + payload


def wrap_head(number: int, size: int) -> bytes:
    """Return what stands before ``size`` bytes in the length-delimited field ``number``."""
    tag = number << 3 | LENGTH_DELIMITED
    if size < _CONTINUES:
        return bytes((tag, size))
    if size < _CONTINUES << 7:  # most spans
        return bytes((tag, size & 0x7F | _CONTINUES, size >> 7))
    return bytes((tag,)) + encode_length(size)


def encode_length(size: int) -> bytes:
    """Return ``size`` as a varint; :func:`read_length` reads it."""
    encoded = bytearray()
    while size >= _CONTINUES:
        encoded.append(size & 0x7F | _CONTINUES)
        size >>= 7
    encoded.append(size)
    return bytes(encoded)


def _read_tag(data: bytes, position: int, end: int) -> tuple[int, int]:
    tag = data[position]
    after = position + 1
    if tag >= _CONTINUES:  # otherwise, as usual, it needs no call
        tag, after = _varint(data, position, end, _LONGEST_LENGTH)
    if not 0 < tag >> 3 <= _HIGHEST_NUMBER:
        raise BadInput(f"malformed protobuf: field number {tag >> 3} at byte {position}")
    return tag, after


def _scalar_end(data: bytes, payload: int, end: int, wire_type: int) -> int:
    if wire_type == VARINT:
        return _varint(data, payload, end, _LONGEST_VARINT)[1]
    if wire_type == FIXED64:
        return payload + 8
    if wire_type == FIXED32:
        return payload + 4
    raise BadInput(f"malformed protobuf: wire type {wire_type} before byte {payload}")


def _group_end(data: bytes, position: int, end: int, number: int) -> int:
    """Return the position after the end of the group ``number`` that begins at ``position``."""
    open_groups = [number]
    while position < end:
        tag, position = _read_tag(data, position, end)
        wire_type = tag & 7
        if wire_type == LENGTH_DELIMITED:
            length, position = _varint(data, position, end, _LONGEST_LENGTH)
            position += length
        elif wire_type == START_GROUP:
            open_groups.append(tag >> 3)
        elif wire_type == END_GROUP:
            if open_groups.pop() != tag >> 3:
                break
            if not open_groups:
                return position
        else:
            position = _scalar_end(data, position, end, wire_type)
    raise BadInput(f"malformed protobuf: group {number} does not end")


def _varint(data: bytes, position: int, end: int, longest: int) -> tuple[int, int]:
    """Return the varint of at most ``longest`` bytes at ``position``, and the position after it."""
    value = shift = 0
    for at in range(position, min(end, position + longest)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < _CONTINUES:
            return value, at + 1
        shift += 7
    raise BadInput(f"malformed protobuf: number cut off or too long at byte {position}")


class Shape(IntEnum):
    """The OTLP messages that can hold many others."""

    LEAF = 0
    ANY_VALUE = 1
    ARRAY = 2
    KEY_VALUE = 3
    KEY_VALUE_LIST = 4
    SCOPE = 5
    RESOURCE = 6
    RESOURCE_ENVELOPE = 7
    EVENT = 8
    LINK = 9
    SPAN = 10
    SCOPE_SPANS = 11
    LOG_RECORD = 12
    SCOPE_LOGS = 13
    EXEMPLAR = 14
    NUMBER_POINT = 15
    HISTOGRAM_POINT = 16
    EXPONENTIAL_POINT = 17
    SUMMARY_POINT = 18
    NUMBERS = 19
    HISTOGRAM = 20
    EXPONENTIAL_HISTOGRAM = 21
    SUMMARY = 22
    METRIC = 23
    SCOPE_METRICS = 24


_INSIDE: Mapping[Shape, Mapping[int, Shape]] = {
    Shape.LEAF: {},
    Shape.ANY_VALUE: {5: Shape.ARRAY, 6: Shape.KEY_VALUE_LIST},
    Shape.ARRAY: {1: Shape.ANY_VALUE},
    Shape.KEY_VALUE: {2: Shape.ANY_VALUE},
    Shape.KEY_VALUE_LIST: {1: Shape.KEY_VALUE},
    Shape.SCOPE: {3: Shape.KEY_VALUE},
    Shape.RESOURCE: {1: Shape.KEY_VALUE, 3: Shape.LEAF},
    Shape.RESOURCE_ENVELOPE: {1: Shape.RESOURCE},
    Shape.EVENT: {3: Shape.KEY_VALUE},
    Shape.LINK: {4: Shape.KEY_VALUE},
    Shape.SPAN: {9: Shape.KEY_VALUE, 11: Shape.EVENT, 13: Shape.LINK},
    Shape.SCOPE_SPANS: {1: Shape.SCOPE, 2: Shape.SPAN},
    Shape.LOG_RECORD: {5: Shape.ANY_VALUE, 6: Shape.KEY_VALUE},
    Shape.SCOPE_LOGS: {1: Shape.SCOPE, 2: Shape.LOG_RECORD},
    Shape.EXEMPLAR: {7: Shape.KEY_VALUE},
    Shape.NUMBER_POINT: {5: Shape.EXEMPLAR, 7: Shape.KEY_VALUE},
    Shape.HISTOGRAM_POINT: {8: Shape.EXEMPLAR, 9: Shape.KEY_VALUE},
    Shape.EXPONENTIAL_POINT: {1: Shape.KEY_VALUE, 11: Shape.EXEMPLAR},
    Shape.SUMMARY_POINT: {6: Shape.LEAF, 7: Shape.KEY_VALUE},
    Shape.NUMBERS: {1: Shape.NUMBER_POINT},
    Shape.HISTOGRAM: {1: Shape.HISTOGRAM_POINT},
    Shape.EXPONENTIAL_HISTOGRAM: {1: Shape.EXPONENTIAL_POINT},
    Shape.SUMMARY: {1: Shape.SUMMARY_POINT},
    Shape.METRIC: {
        5: Shape.NUMBERS,
        7: Shape.NUMBERS,
        9: Shape.HISTOGRAM,
        10: Shape.EXPONENTIAL_HISTOGRAM,
        11: Shape.SUMMARY,
        12: Shape.KEY_VALUE,
    },
    Shape.SCOPE_METRICS: {1: Shape.SCOPE, 2: Shape.METRIC},
}
"""Per shape, which field holds which shape (numbers from opentelemetry-proto)."""


def shapes_inside(shape: Shape) -> Mapping[int, Shape]:
    """Return which field of a message of ``shape`` holds which shape."""
    return _INSIDE[shape]


def count_values(data: bytes, shape: Shape, most: int) -> int:
    """Return how many fields a message of ``shape`` has, nested ones included.

    Stops at ``most`` + 1, so it takes little time on hostile bytes.

    Raises:
        BadInput: this is no protobuf message.
    """
    seen = 0
    waiting = [(shape, 0, len(data))]
    while waiting:
        inside, start, end = waiting.pop()
        shapes = _INSIDE[inside]
        for number, wire_type, _, payload, after in fields(data, start, end):
            seen += 1
            if seen > most:
                return seen
            if wire_type == LENGTH_DELIMITED and number in shapes:
                waiting.append((shapes[number], payload, after))
    return seen

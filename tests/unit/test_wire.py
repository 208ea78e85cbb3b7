"""Field positions in protobuf bytes."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.errors import BadInput
from otel_raglog.wire import (
    Shape,
    count_values,
    encode_length,
    fields,
    read_length,
    read_varint,
    shapes_inside,
    wrap,
    wrap_head,
)


def test_fields_come_in_order_and_cover_every_byte() -> None:
    """Nothing between two fields is skipped, whatever the fields' types."""
    data = Span(
        trace_id=b"t" * 300, kind=3, start_time_unix_nano=5, flags=7, events=[Span.Event(name="e")]
    ).SerializeToString()
    found = list(fields(data, 0, len(data)))
    assert [field[0] for field in found] == [1, 6, 7, 11, 16]
    assert b"".join(data[start:end] for _, _, start, _, end in found) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01",  # field number 0
        b"\x0b\x08\x01",  # a group without an end
        b"\x0b\x14",  # a group with the end of another
        b"\x0c",  # the end of no group
        b"\x0b" * 100_000,  # groups in each other, without an end
        b"\x8a\x80\x80\x80\x80\x00\x00",  # a tag of six bytes
        b"\x0a\x80\x80\x80\x80\x80\x00",  # a length of six bytes
        b"\x0e\x00",  # wire type 6
        b"\x0a\x05abc",  # payload cut off
        b"\x0a",  # length missing
        b"\x08",  # number missing
        b"\x09\x00",  # fixed64 cut off
        b"\x08" + b"\xff" * 11,  # number too long
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",  # field number too high
    ],
)
def test_malformed_bytes_are_refused(data: bytes) -> None:
    """Whatever protobuf itself would refuse is BadInput."""
    with pytest.raises(BadInput, match="malformed protobuf"):
        list(fields(data, 0, len(data)))


def test_a_group_is_one_field() -> None:
    """With all that is in it, groups too."""
    group = b"\x0b\x08\x01\x12\x02\x0c\x0c\x13\x15abcd\x19abcdefgh\x14\x0c"
    data = b"\x08\x01" + group + b"\x08\x02"
    assert [data[field[2] : field[4]] for field in fields(data, 0, len(data))] == [
        b"\x08\x01",
        group,
        b"\x08\x02",
    ]


def test_wrapping_gives_a_field() -> None:
    """Of any length."""
    for size in (0, 127, 128, 16_383, 16_384, 3_000_000):
        data = wrap(2, b"x" * size)
        assert [data[field[3] : field[4]] for field in fields(data, 0, len(data))] == [b"x" * size]


def test_values_are_counted_at_every_level() -> None:
    """An array's items and a map's entries count like attributes do."""
    span = Span()
    items = span.attributes.add(key="a").value.array_value.values
    for number in range(10):
        items.add().int_value = number
    data = span.SerializeToString()
    # attribute, its key and value, the array, ten items, ten numbers
    assert count_values(data, Shape.SPAN, 100) == 24
    assert count_values(data, Shape.SPAN, 10) == 11


def test_a_long_text_is_one_value() -> None:
    """What costs no more in memory than on the wire is not counted by length."""
    span = Span()
    span.attributes.add(key="a").value.string_value = "\x0a\x00" * 10_000
    assert count_values(span.SerializeToString(), Shape.SPAN, 10) == 4


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 2**21, 2**32 - 1])
def test_a_length_is_read_as_it_was_written(size: int) -> None:
    """Alone, and behind the tag of its field."""
    encoded = encode_length(size)
    assert read_length(encoded, 0, len(encoded)) == (size, len(encoded))
    assert wrap_head(2, size) == b"\x12" + encoded


def test_numbers_are_read_in_64_bits():
    """A longer varint is no number of protobuf."""
    assert read_varint(b"\xff" * 9 + b"\x01", 0, 10) == 2**64 - 1
    assert read_varint(b"\x00\x96\x01", 1, 3) == 150
    with pytest.raises(BadInput):
        read_varint(b"\xff" * 11, 0, 11)


def test_shapes_tell_what_is_inside():
    """So that others need not know the numbers of OTLP."""
    assert shapes_inside(Shape.SPAN)[11] is Shape.EVENT
    assert shapes_inside(Shape.LEAF) == {}

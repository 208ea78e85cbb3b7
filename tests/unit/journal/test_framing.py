"""Headers as bytes: what is read back, and what is not believed."""

from __future__ import annotations

import zlib

import pytest

from otel_raglog.journal.framing import (
    MAGIC,
    RECORD_HEADER,
    SEGMENT_HEADER,
    NewerVersion,
    RecordHeader,
    SegmentHeader,
    checksum,
    read_record_header,
    read_segment_header,
)

MARK = b"\x01\x02\x03\x04\x05\x06\x07\x08"


@pytest.mark.parametrize("size", [0, 1, 7, 4096, 700_001])
def test_the_checksum_is_that_of_zlib(size):
    """Whole or in pieces, so that any tool can check a file."""
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    assert checksum(data) == zlib.crc32(data)
    assert checksum(data[size // 3 :], checksum(data[: size // 3])) == zlib.crc32(data)


def test_headers_are_read_back():
    """What was encoded comes back equal, at the promised lengths."""
    segment = SegmentHeader(12, MARK)
    record = RecordHeader(12, 10**18, 700_000, 0xDEADBEEF)
    assert len(segment.encode()) == SEGMENT_HEADER
    assert read_segment_header(segment.encode(), 1) == segment
    assert len(record.encode(MARK)) == RECORD_HEADER
    assert read_record_header(record.encode(MARK) + b"payload", MARK) == record


def test_any_changed_bit_of_a_record_header_is_noticed():
    """No header with a flipped bit is believed."""
    head = RecordHeader(5, 1, 2, 3).encode(MARK)
    for bit in range(len(head) * 8):
        changed = bytearray(head)
        changed[bit // 8] ^= 1 << bit % 8
        assert read_record_header(bytes(changed), MARK) is None


def test_any_changed_byte_of_a_segment_header_is_made_good():
    """The copy stands in."""
    header = SegmentHeader(9, MARK)
    for at in range(SEGMENT_HEADER):
        changed = bytearray(header.encode())
        changed[at] ^= 0xFF
        assert read_segment_header(bytes(changed), 1) == header


def test_without_a_segment_header_the_first_record_tells():
    """Both copies lost: the mark is that of a sound first record, the number that of the name."""
    record = RecordHeader(9, 1, 0, 0).encode(MARK)
    assert read_segment_header(b"?" * SEGMENT_HEADER + record, 9) == SegmentHeader(9, MARK)


@pytest.mark.parametrize("head", [b"", b"x" * 200, MAGIC, b"\0" * 200])
def test_something_else_is_no_segment(head):
    """Foreign bytes are nothing of ours."""
    assert read_segment_header(head, 1) is None


def test_a_newer_version_is_told_apart():
    """It is not taken for damage."""
    with pytest.raises(NewerVersion):
        read_segment_header(MAGIC + (2).to_bytes(4, "little") + b"?" * 200, 1)


def test_a_record_of_another_segment_is_none():
    """A payload that holds a copy of some other segment's record is not mistaken for one."""
    assert read_record_header(RecordHeader(5, 1, 2, 3).encode(MARK), b"another!") is None

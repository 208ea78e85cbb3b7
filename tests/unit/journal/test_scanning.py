"""One segment file's bytes to places; every kind of damage is in tests/property/test_segments.py."""

from __future__ import annotations

import os

import pytest

from otel_raglog.journal.framing import (
    RECORD_HEADER,
    SEGMENT_HEADER,
    RecordHeader,
    SegmentHeader,
    checksum,
)
from otel_raglog.journal.scanning import DAMAGED, LONGEST_GAP, WINDOW_BYTES, read_record, scan

MARK = b"a-mark-8"
HEADER = SegmentHeader(10, MARK)


def record(number: int, payload: bytes) -> bytes:
    return RecordHeader(number, 5, len(payload), checksum(payload)).encode(MARK) + payload


@pytest.fixture
def scanned(tmp_path):
    def scan_bytes(data: bytes):
        file = tmp_path / "file"
        file.write_bytes(HEADER.encode() + data)
        descriptor = os.open(file, os.O_RDONLY)
        try:
            return scan(descriptor, file.stat().st_size, HEADER)
        finally:
            os.close(descriptor)

    return scan_bytes


def test_whole_records_are_found(scanned):
    """Each by its offset, also where records are longer than the window."""
    big = record(11, bytes(2 * WINDOW_BYTES + 5))
    found = scanned(record(10, b"abc") + big + record(12, b""))
    start = SEGMENT_HEADER + RECORD_HEADER + 3
    assert list(found.offsets) == [SEGMENT_HEADER, start, start + len(big)]
    assert found.written_nano == 5
    assert (found.torn, found.tail_full) == (None, False)


def test_the_next_mark_is_found_across_windows(scanned):
    """After a damaged header reading goes on, however far the next record is."""
    for size in range(WINDOW_BYTES - 60, WINDOW_BYTES + 20, 7):
        broken = bytearray(record(10, bytes(size)))
        broken[0] ^= 1
        found = scanned(bytes(broken) + record(11, b"next"))
        assert list(found.offsets) == [DAMAGED, SEGMENT_HEADER + len(broken)]


def test_a_torn_record_is_passed_over(scanned):
    """Its number is told, so that it is not given again."""
    found = scanned(record(10, b"abc") + record(11, b"x" * 100)[:-1])
    assert len(found.offsets) == 1
    assert found.torn == 11


def test_zeros_at_the_end_are_no_record(scanned):
    """After a power cut the end of a file may be zeros."""
    found = scanned(record(10, b"abc") + bytes(5000))
    assert len(found.offsets) == 1
    assert not found.tail_full


def test_a_damaged_last_header_is_a_record(scanned):
    """Its number is counted, although nothing tells it."""
    broken = bytearray(record(11, b"abc"))
    broken[10] ^= 1
    found = scanned(record(10, b"abc") + bytes(broken))
    assert list(found.offsets) == [SEGMENT_HEADER, DAMAGED]
    assert found.tail_full


def test_records_that_cannot_follow_are_none(scanned):
    """A number that was there before, or far ahead, is no record of this file."""
    found = scanned(record(10, b"abc") + record(10, b"twin") + record(11, b"next"))
    assert len(found.offsets) == 2
    found = scanned(record(10, b"abc") + record(12 + LONGEST_GAP, b"far"))
    assert len(found.offsets) == 2
    assert found.offsets[1] == DAMAGED


def test_reading_checks_everything(tmp_path):
    """Another number, a changed payload or a file that ends too early is no record."""
    file = tmp_path / "file"
    data = record(10, b"abcdef")
    file.write_bytes(data)
    changed = tmp_path / "changed"
    changed.write_bytes(data[:-1] + b"?")
    short = tmp_path / "short"
    short.write_bytes(data[:-1])
    outcomes = []
    for path, number in [(file, 10), (file, 11), (changed, 10), (short, 10)]:
        descriptor = os.open(path, os.O_RDONLY)
        outcomes.append(read_record(descriptor, 0, MARK, number))
        os.close(descriptor)
    assert outcomes == [b"abcdef", None, None, None]

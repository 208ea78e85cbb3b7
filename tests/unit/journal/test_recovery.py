"""A folder to a log, without changing it; damage of every kind is in tests/property."""

from __future__ import annotations

from otel_raglog.journal.framing import RecordHeader, SegmentHeader, checksum
from otel_raglog.journal.recovery import recover, segment_path
from otel_raglog.journal.scanning import DAMAGED

MARK = b"a-mark-8"


def segment(first: int, *payloads: bytes) -> bytes:
    records = [
        RecordHeader(number, 5, len(payload), checksum(payload)).encode(MARK) + payload
        for number, payload in enumerate(payloads, first)
    ]
    return SegmentHeader(first, MARK).encode() + b"".join(records)


def test_an_empty_folder_is_an_empty_log(tmp_path):
    """Numbers begin at 1."""
    found = recover(tmp_path)
    assert (found.segments, found.next, found.damaged) == ([], 1, 0)


def test_nothing_is_changed(tmp_path):
    """Whatever is found, files stay as they are."""
    contents = {
        segment_path(tmp_path, 1): segment(1, b"a", b"b"),
        segment_path(tmp_path, 3): segment(3, b"c")[:-1],
        segment_path(tmp_path, 4): b"",
        segment_path(tmp_path, 9): b"foreign" * 50,
    }
    for path, data in contents.items():
        path.write_bytes(data)
    found = recover(tmp_path)
    assert [part.first for part in found.segments] == [1]
    assert found.empty == [segment_path(tmp_path, 3), segment_path(tmp_path, 4)]
    assert found.left_alone == [segment_path(tmp_path, 9)]
    assert found.next == 10
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == contents


def test_the_next_segment_tells_how_many_were_lost(tmp_path):
    """Of two records with damaged beginnings only one can be counted; the next file knows."""
    data = bytearray(segment(1, b"a" * 50, b"b" * 50, b"c" * 50))
    for start in (2 * 90, 90):  # each record is 40 bytes of header and 50 of payload
        at = len(data) - start
        data[at] ^= 1
    segment_path(tmp_path, 1).write_bytes(data)
    assert list(recover(tmp_path).segments[0].offsets[1:]) == [DAMAGED]
    segment_path(tmp_path, 4).write_bytes(segment(4, b"d"))
    found = recover(tmp_path)
    assert list(found.segments[0].offsets[1:]) == [DAMAGED, DAMAGED]
    assert (found.damaged, found.next) == (2, 5)


def test_a_renamed_file_keeps_its_numbers(tmp_path):
    """The header counts, and the next segment does not take the name."""
    segment_path(tmp_path, 8).write_bytes(segment(3, b"a"))
    found = recover(tmp_path)
    assert [(part.first, part.end) for part in found.segments] == [(3, 4)]
    assert found.next == 9


def test_a_copy_is_left_alone(tmp_path):
    """Two files that claim the same numbers: the second is none of ours."""
    segment_path(tmp_path, 1).write_bytes(segment(1, b"a"))
    segment_path(tmp_path, 2).write_bytes(segment(1, b"a"))
    found = recover(tmp_path)
    assert len(found.segments) == 1
    assert found.left_alone == [segment_path(tmp_path, 2)]
    assert found.next == 3


def test_a_file_without_a_readable_time_has_that_of_the_file_system(tmp_path):
    """Its age is not taken for decades."""
    data = bytearray(segment(1, b"a"))
    data[-10] ^= 1
    segment_path(tmp_path, 1).write_bytes(data)
    found = recover(tmp_path)
    assert found.segments[0].written_nano == segment_path(tmp_path, 1).stat().st_mtime_ns

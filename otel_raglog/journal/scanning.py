"""A segment file, whatever has happened to it, to where its records are."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass, field

from otel_raglog.journal.framing import (
    MARK_BYTES,
    RECORD_HEADER,
    SEGMENT_HEADER,
    RecordHeader,
    SegmentHeader,
    checksum,
    read_record_header,
)

DAMAGED = 2**64 - 1
"""In place of the offset of a record that was written and cannot be read."""
WINDOW_BYTES = 256 * 1024
LONGEST_GAP = 2**20
"""Records that may be missing between two sound ones; a header that claims more is none."""


@dataclass(slots=True)
class Scanned:
    """What was found in a segment file."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    """Where each record begins, from the segment's first number on, or ``DAMAGED``."""
    written_nano: int = 0
    """When the first sound record was written."""
    end: int = SEGMENT_HEADER
    """Where the last record that was understood ends."""
    torn: int | None = None
    """Number of a record at the end that was begun and never completed."""
    tail_full: bool = False
    """Whether there is room for whole records, none of them sound, after ``end``."""


class _Window:
    """A file read through a bounded buffer; what the disk refuses to give reads as zeros."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size
        self._start = 0
        self._buffer = b""

    def at(self, offset: int) -> memoryview:
        """Return bytes from ``offset``: a record header at least, unless the file ends before."""
        inside = offset - self._start
        if inside < 0 or inside + min(RECORD_HEADER, self.size - offset) > len(self._buffer):
            wanted = min(WINDOW_BYTES, self.size - offset)
            try:
                self._buffer = os.pread(self._descriptor, wanted, offset)
            except OSError:
                self._buffer = b""
            self._buffer = self._buffer.ljust(wanted, b"\0")
            self._start = offset
            inside = 0
        return memoryview(self._buffer)[inside:]

    def checksum(self, offset: int, length: int) -> int:
        value = 0
        while length:
            piece = self.at(offset)[:length]
            value = checksum(piece, value)
            offset += len(piece)
            length -= len(piece)
        return value

    def find(self, mark: bytes, offset: int) -> int | None:
        while offset + MARK_BYTES <= self.size:
            self.at(offset)
            found = self._buffer.find(mark, offset - self._start)
            if found >= 0:
                return self._start + found
            offset = self._start + len(self._buffer) - MARK_BYTES + 1
        return None

    def is_zero(self, offset: int) -> bool:
        while offset < self.size:
            piece = self.at(offset)
            if any(piece):
                return False
            offset += len(piece)
        return True


def scan(descriptor: int, size: int, header: SegmentHeader) -> Scanned:
    """Return where the records of an open segment file of ``size`` bytes are.

    A damaged record costs itself: reading goes on at the next mark. The file is read once,
    through a buffer of ``WINDOW_BYTES``.
    """
    window = _Window(descriptor, size)
    found = Scanned()
    unknown = 0  # places since the last sound header where one should be
    position: int | None = SEGMENT_HEADER
    while position is not None and position + RECORD_HEADER <= size:
        record = read_record_header(bytes(window.at(position)[:RECORD_HEADER]), header.mark)
        if record is None or not _follows(record, header.first + len(found.offsets)):
            unknown += 1
            position = window.find(header.mark, position + 1)
            continue
        end = position + RECORD_HEADER + record.length
        if end > size:
            found.torn = record.number
            position = window.find(header.mark, position + RECORD_HEADER)
            continue
        _note(found, record, header.first, position, window)
        found.end = position = end
        found.torn = None
        unknown = 0
    _judge_tail(found, header.first, unknown, window)
    return found


def _follows(record: RecordHeader, expected: int) -> bool:
    return expected <= record.number <= expected + LONGEST_GAP


def _fill(found: Scanned, first: int, until: int) -> None:
    found.offsets.extend([DAMAGED] * (until - first - len(found.offsets)))


def _note(found: Scanned, record: RecordHeader, first: int, offset: int, window: _Window) -> None:
    _fill(found, first, record.number)
    sound = window.checksum(offset + RECORD_HEADER, record.length) == record.payload_checksum
    found.offsets.append(offset if sound else DAMAGED)
    found.written_nano = found.written_nano or record.written_nano


def _judge_tail(found: Scanned, first: int, unknown: int, window: _Window) -> None:
    """Tell records that were damaged from one that was never completed.

    Without a sound header after them their number is not known: there was one at each mark.
    """
    if found.torn is not None:
        _fill(found, first, found.torn)
    elif unknown and not window.is_zero(found.end):
        _fill(found, first, first + len(found.offsets) + unknown)
        found.tail_full = True


def read_record(descriptor: int, offset: int, mark: bytes, number: int) -> bytes | None:
    """Return the payload of the record at ``offset``, or ``None`` when it is not what was written.

    Raises:
        OSError: the disk refuses.

    """
    record = read_record_header(os.pread(descriptor, RECORD_HEADER, offset), mark)
    if record is None or record.number != number:
        return None
    payload = os.pread(descriptor, record.length, offset + RECORD_HEADER)
    while 0 < len(payload) < record.length:
        more = os.pread(
            descriptor, record.length - len(payload), offset + RECORD_HEADER + len(payload)
        )
        if not more:
            return None
        payload += more
    if len(payload) != record.length or checksum(payload) != record.payload_checksum:
        return None
    return payload

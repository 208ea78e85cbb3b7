"""The bytes around records in a segment file: headers written, and read back with suspicion.

A file is a segment header, written twice, and then records, each a header and a payload. Every
record begins with the segment's own mark, eight random bytes: where a header is damaged, the next
mark is the next record, and no payload can pretend to be one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isal import isal_zlib

MAGIC = b"RAGLOGSG"
VERSION = 1
MARK_BYTES = 8
_SEGMENT = struct.Struct("<8sIIQ8s")  # magic, version, reserved, first number, mark
_RECORD = struct.Struct("<8sQQQI")  # mark, number, unix nanoseconds, payload length, payload CRC
_CHECKSUM = struct.Struct("<I")
_COPY = _SEGMENT.size + _CHECKSUM.size
SEGMENT_HEADER = 2 * _COPY
"""Bytes before the first record."""
RECORD_HEADER = _RECORD.size + _CHECKSUM.size
"""Bytes before each payload."""


class NewerVersion(Exception):
    """The file was written by a version of otel-raglog that this one does not know."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """What a segment file says about itself: its first number, and the mark of its records."""

    first: int
    mark: bytes

    def encode(self) -> bytes:
        """Return the ``SEGMENT_HEADER`` bytes: the header and its copy."""
        head = _SEGMENT.pack(MAGIC, VERSION, 0, self.first, self.mark)
        return 2 * (head + _CHECKSUM.pack(checksum(head)))


class RecordHeader(NamedTuple):
    """What stands before a payload."""

    number: int
    written_nano: int
    length: int
    payload_checksum: int

    def encode(self, mark: bytes) -> bytes:
        """Return the ``RECORD_HEADER`` bytes in a segment whose mark is ``mark``."""
        head = _RECORD.pack(
            mark, self.number, self.written_nano, self.length, self.payload_checksum
        )
        return head + _CHECKSUM.pack(checksum(head))


def checksum(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32 of ``data`` (that of zlib), continued from that of what came ``before``."""
    value: int = isal_zlib.crc32(data, before)
    return value


def measure(chunks: Sequence[bytes]) -> tuple[int, int]:
    """Return the length and the checksum of the concatenated ``chunks``."""
    length = crc = 0
    for chunk in chunks:
        length += len(chunk)
        crc = checksum(chunk, crc)
    return length, crc


def read_segment_header(head: bytes, named: int) -> SegmentHeader | None:
    """Return the header at the start ``head`` of a file (at least the first record's header).

    One sound copy is enough; without one, a sound first record gives the mark, and the file's
    name, ``named``, the number. ``None``: this is no segment.

    Raises:
        NewerVersion: it is one, of a version unknown here.

    """
    copies = [head[start : start + _COPY] for start in (0, _COPY)]
    newer = False
    for copy in copies:
        if len(copy) < _COPY:
            continue
        magic, version, _, first, mark = _SEGMENT.unpack_from(copy)
        sound = _CHECKSUM.unpack_from(copy, _SEGMENT.size)[0] == checksum(copy[: _SEGMENT.size])
        if magic == MAGIC and version == VERSION and sound:
            return SegmentHeader(first, mark)
        newer = newer or (magic == MAGIC and version > VERSION)
    mark = head[SEGMENT_HEADER : SEGMENT_HEADER + MARK_BYTES]
    if read_record_header(head[SEGMENT_HEADER:], mark) is not None:
        return SegmentHeader(named, mark)
    if newer:
        raise NewerVersion
    return None


def read_record_header(head: bytes, mark: bytes) -> RecordHeader | None:
    """Return the record header at the start of ``head``, or ``None`` when there is no sound one."""
    if len(head) < RECORD_HEADER or not head.startswith(mark):
        return None
    if _CHECKSUM.unpack_from(head, _RECORD.size)[0] != checksum(head[: _RECORD.size]):
        return None
    return RecordHeader._make(_RECORD.unpack_from(head)[1:])

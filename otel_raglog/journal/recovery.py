"""A folder of segment files, whatever has happened to it, to the log that it still holds."""

from __future__ import annotations

import os
import re
from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from otel_raglog.journal.framing import (
    MAGIC,
    RECORD_HEADER,
    SEGMENT_HEADER,
    NewerVersion,
    read_segment_header,
)
from otel_raglog.journal.scanning import DAMAGED, Scanned, scan

_NAME = re.compile(r"(\d{20})\.segment")
_MOST = 2**63
"""Numbers from here on leave no room to go on in 64 bits: nobody gave them."""


@dataclass(slots=True, eq=False)
class Segment:
    """One file of the log."""

    path: Path
    first: int
    mark: bytes
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    """Where each record begins, from number ``first`` on, or ``DAMAGED``."""
    size: int = 0
    written_nano: int = 0

    @property
    def end(self) -> int:
        """The number after its last record."""
        return self.first + len(self.offsets)


@dataclass(slots=True)
class Recovery:
    """What a folder holds. ``segments`` ascend, and none is empty."""

    segments: list[Segment] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)
    """Files without a record; their names bear numbers that were given."""
    left_alone: list[Path] = field(default_factory=list)
    """Files that are not segments, are of a newer version, or cannot be opened."""
    next: int = 1
    damaged: int = 0


def segment_path(folder: Path, first: int) -> Path:
    """Return the file of the segment whose first record has number ``first``."""
    return folder / f"{first:020d}.segment"


def recover(folder: Path) -> Recovery:
    """Return what is in ``folder``, changing nothing there.

    A damaged or deleted file costs its own records. What stands torn at the end of a segment was
    never acknowledged and is passed over; its number is not given again.
    """
    found = Recovery()
    tails: dict[int, Scanned] = {}
    for path in sorted(folder.iterdir()):
        named = _NAME.fullmatch(path.name)
        if named is None or int(named[1]) >= _MOST:
            if path.is_file():
                found.left_alone.append(path)
            continue
        _recover_file(path, int(named[1]), found, tails)
    found.segments.sort(key=lambda segment: segment.first)
    for segment, following in pairwise(found.segments):
        _fit(segment, tails[segment.first], following.first)
    found.segments = [segment for segment in found.segments if segment.offsets]
    found.damaged = sum(segment.offsets.count(DAMAGED) for segment in found.segments)
    return found


def _recover_file(path: Path, named: int, found: Recovery, tails: dict[int, Scanned]) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        found.left_alone.append(path)
        found.next = max(found.next, named + 1)
        return
    try:
        status = os.fstat(descriptor)
        head = os.pread(descriptor, SEGMENT_HEADER + RECORD_HEADER, 0)
        header = read_segment_header(head, named)
        if header is not None and header.first not in tails:
            scanned = scan(descriptor, status.st_size, header)
            written = scanned.written_nano or status.st_mtime_ns
            segment = Segment(
                path, header.first, header.mark, scanned.offsets, status.st_size, written
            )
            _keep(segment, named, scanned, found, tails)
            return
        begun = header is None and status.st_size <= len(head) and _is_begun(head)
    except (OSError, NewerVersion):
        begun = False
    finally:
        os.close(descriptor)
    (found.empty if begun else found.left_alone).append(path)
    found.next = max(found.next, named + (not begun))


def _is_begun(head: bytes) -> bool:
    """Tell whether a file too short for a record is one whose header was never completed."""
    return head.startswith(MAGIC[: len(head)]) or not any(head)


def _keep(
    segment: Segment, named: int, scanned: Scanned, found: Recovery, tails: dict[int, Scanned]
) -> None:
    found.next = max(found.next, named, segment.end, (scanned.torn or 0) + 1)
    if not segment.offsets:
        found.empty.append(segment.path)
        return
    if named != segment.first:  # renamed: the next segment must not get this file's name
        found.next = max(found.next, named + 1)
    found.segments.append(segment)
    tails[segment.first] = scanned


def _fit(segment: Segment, scanned: Scanned, following: int) -> None:
    """Correct the end of a segment by the first number of the next.

    Where the numbers in a damaged end cannot be read, the next segment tells how many they were.
    """
    gap = following - segment.end
    if gap < 0:
        del segment.offsets[gap:]
    elif scanned.tail_full:
        room = (segment.size - scanned.end) // RECORD_HEADER
        segment.offsets.extend([DAMAGED] * min(gap, room))

"""Segments in ascending order to the record numbers that they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Numbered(Protocol):
    """Records with the consecutive numbers from ``first`` up to, and without, ``end``."""

    @property
    def first(self) -> int:
        """The first number, also of a segment without records."""
        ...

    @property
    def end(self) -> int:
        """The number after the last record."""
        ...


SegmentT = TypeVar("SegmentT", bound=Numbered)


def holding(segments: Sequence[SegmentT], number: int) -> SegmentT | None:
    """Return the segment that has a record of that number, if one does."""
    at = _position(segments, number)
    return segments[at] if at >= 0 and number < segments[at].end else None


def end_after(segments: Sequence[Numbered], number: int, following: int) -> int:
    """Return the first number after the segment of ``number``.

    For a number that no segment holds: the first of the next segment, else ``following``.
    """
    segment = holding(segments, number)
    if segment is not None:
        return segment.end
    later = _position(segments, number) + 1
    return segments[later].first if later < len(segments) else following


def ranges(segments: Sequence[Numbered]) -> list[range]:
    """Return the numbers of each segment's records."""
    return [range(segment.first, segment.end) for segment in segments]


def _position(segments: Sequence[Numbered], number: int) -> int:
    """Return the index of the last segment that begins at or before ``number``, or -1."""
    return bisect_right(segments, number, key=lambda segment: segment.first) - 1

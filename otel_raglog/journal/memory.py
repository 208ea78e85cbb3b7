"""A log of numbered records in memory, for a journal that need not outlive the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from otel_raglog.clock import Clock
from otel_raglog.errors import Unavailable
from otel_raglog.journal.numbering import end_after, holding, ranges
from otel_raglog.journal.store import Missing

RECORD_OVERHEAD = 100
"""Bytes that Python needs around a small record, about."""


@dataclass(slots=True)
class _Segment:
    first: int
    records: list[tuple[bytes, ...]] = field(default_factory=list)
    size: int = 0
    written_nano: int = 0

    @property
    def end(self) -> int:
        return self.first + len(self.records)


class MemoryStore:
    """A ``Store`` without a disk: the chunks are kept as they came, and joined when read."""

    def __init__(self, segment_bytes: int, clock: Clock) -> None:
        self.segment_bytes = segment_bytes
        self.damaged_records = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._segments: list[_Segment] = []
        self._next = 1
        self._size = 0
        self._closed = False

    @property
    def first(self) -> int:
        """Oldest number that may exist; equal to ``next`` when there is none."""
        with self._lock:
            return self._segments[0].first if self._segments else self._next

    @property
    def next(self) -> int:
        """Least number that the next record can get."""
        return self._next

    @property
    def size_bytes(self) -> int:
        """Bytes of the records, and about those that Python needs around them."""
        return self._size

    def append(self, records: Sequence[Sequence[bytes]]) -> int:
        """Keep ``records`` and return the number of the first; see :meth:`Store.append`."""
        kept = [tuple(chunks) for chunks in records]
        size = sum(sum(map(len, chunks)) + RECORD_OVERHEAD for chunks in kept)
        with self._lock:
            if self._closed:
                raise Unavailable("the journal is closed")
            number = self._next
            if not kept:
                return number
            segment = self._segment_for(size)
            segment.records += kept
            segment.size += size
            self._size += size
            self._next += len(kept)
            return number

    def probe(self, size: int) -> None:
        """Refuse once it is closed; see :meth:`Store.probe`."""
        del size
        if self._closed:
            raise Unavailable("the journal is closed")

    def _segment_for(self, size: int) -> _Segment:
        if self._segments:
            last = self._segments[-1]
            if last.end == self._next and last.size + size <= self.segment_bytes:
                return last
        segment = _Segment(self._next, written_nano=self._clock.unix_nano())
        self._segments.append(segment)
        return segment

    def read(self, number: int) -> bytes:
        """Return the bytes of record ``number``; see :meth:`Store.read`."""
        with self._lock:
            segment = holding(self._segments, number)
            if segment is None:
                raise Missing(number)
            chunks = segment.records[number - segment.first]
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the records present, ascending."""
        with self._lock:
            present = ranges(self._segments)
        yield from chain.from_iterable(present)

    def segment_end(self, number: int) -> int:
        """Return the first number after the segment of ``number``; see :meth:`Store.segment_end`."""
        with self._lock:
            return end_after(self._segments, number, self._next)

    def drop_before(self, number: int) -> int:
        """Free the segments all of whose records are less than ``number``; return their bytes."""
        with self._lock:
            gone = 0
            while gone < len(self._segments) and self._segments[gone].end <= number:
                gone += 1
            freed = sum(segment.size for segment in self._segments[:gone])
            del self._segments[:gone]
            self._size -= freed
            return freed

    def skip_to(self, number: int) -> None:
        """Give only numbers from ``number`` on."""
        with self._lock:
            self._next = max(self._next, number)

    def oldest_age_seconds(self, now_unix: float) -> float:
        """Return how long ago the oldest record was written, 0 when there is none."""
        with self._lock:
            if not self._segments:
                return 0.0
            return max(0.0, now_unix - self._segments[0].written_nano / 1e9)

    def close(self) -> None:
        """Take no more records."""
        with self._lock:
            self._closed = True

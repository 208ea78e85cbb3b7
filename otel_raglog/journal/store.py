"""What a log of numbered records promises, whether on disk or in memory.

::

    RaglogError
    └── Unreadable      this record cannot be had, now or later; the others can
        ├── Missing     dropped, never written, or its file is gone
        └── Damaged     its bytes are not those that were written
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from otel_raglog.errors import RaglogError


class Unreadable(RaglogError):
    """The record of that number cannot be had; others are not concerned."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


class Missing(Unreadable):
    """There is no such record: dropped, never written, or its file is gone."""

    def __init__(self, number: int) -> None:
        super().__init__(number, f"record {number} is not in the log")


class Damaged(Unreadable):
    """The record was written, but its bytes are no longer those."""

    def __init__(self, number: int, what: str = "its checksum does not fit") -> None:
        super().__init__(number, f"record {number} is damaged: {what}")


class Store(Protocol):
    """An append-only log of byte strings with consecutive numbers from 1, safe for threads.

    Records lie in segments of about ``segment_bytes``; space is freed a segment at a time.
    A number is given once: gaps may come up (a refused write, damage, :meth:`skip_to`),
    and reading within a gap raises ``Missing``.
    """

    @property
    def segment_bytes(self) -> int:
        """Bytes after which a segment is finished and the next one begun."""
        ...

    @property
    def first(self) -> int:
        """Oldest number that may exist; equal to ``next`` when there is none."""
        ...

    @property
    def next(self) -> int:
        """Least number that the next record can get."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes that the log's records and their framing occupy."""
        ...

    @property
    def damaged_records(self) -> int:
        """How many records were found damaged, when opening and reading since."""
        ...

    def append(self, records: Sequence[Sequence[bytes]]) -> int:
        """Write ``records``, each the concatenation of its chunks, and return the first's number.

        The others have the numbers that follow. All are written or, when this raises, none.
        (A process killed in the middle may leave the first few, which nobody was told of.)
        With no records it returns ``next``.

        Raises:
            Unavailable: disk full, read-only or failing, or the log is closed. The log is as
                it was, and takes records again as soon as the disk does.

        """
        ...

    def probe(self, size: int) -> None:
        """Try to write ``size`` bytes, of which nothing stays.

        Raises:
            Unavailable: as :meth:`append` would.

        """
        ...

    def read(self, number: int) -> bytes:
        """Return the bytes of record ``number``.

        Raises:
            Missing: there is no such record.
            Damaged: there was one.
            Unavailable: not now; the record is untouched.

        """
        ...

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the records present, damaged ones included, ascending.

        What is appended or dropped meanwhile may or may not be among them.
        """
        ...

    def segment_end(self, number: int) -> int:
        """Return the first number after the segment that holds ``number``.

        For a number that no segment holds: the first number of the next segment, else ``next``.
        So it is always more than ``number`` when ``number`` is less than ``next``.
        """
        ...

    def drop_before(self, number: int) -> int:
        """Free every segment all of whose records are less than ``number``; return the bytes freed.

        The segment being written is freed too when all of it is. Works on a full disk.
        """
        ...

    def skip_to(self, number: int) -> None:
        """Give only numbers from ``number`` on, because others refer to those before it."""
        ...

    def oldest_age_seconds(self, now_unix: float) -> float:
        """Return how long ago the oldest record was written, 0 when there is none."""
        ...

    def close(self) -> None:
        """Take no more records. What is there can still be read."""
        ...

"""Records to segment files, one ``writev`` each, and back after whatever has happened to the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.journal.claiming import claim_folder
from otel_raglog.journal.framing import MARK_BYTES, RecordHeader, SegmentHeader, measure
from otel_raglog.journal.group_commit import GroupCommit
from otel_raglog.journal.numbering import end_after, holding, ranges
from otel_raglog.journal.recovery import Recovery, Segment, recover, segment_path
from otel_raglog.journal.scanning import DAMAGED, read_record
from otel_raglog.journal.store import Damaged, Missing
from otel_raglog.journal.writing import Files, SystemFiles, write_all

RETRY_SECONDS = 5.0
NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
PATIENCE_SECONDS = 60.0
"""How long the disk may say of a record that it cannot be read (EIO) until that is believed."""


class SegmentStore:
    """A ``Store`` in a private folder, one file per segment; see ``docs/adr/0007-journal-store.md``.

    With ``fsync="none"`` a record survives the end of the process from the moment that ``append``
    returns, and a power cut once the system has written it back; with ``"group"`` both at once.

    Raises:
        ConfigError: another process has the folder, or it cannot be made or written.

    """

    def __init__(
        self,
        folder: Path,
        segment_bytes: int,
        fsync: Literal["none", "group"],
        clock: Clock,
        *,
        files: Files | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.segment_bytes = segment_bytes
        self._folder = folder
        self._fsync = fsync
        self._clock = clock
        self._files = files or SystemFiles()
        self._entropy = entropy
        self._lock = threading.Lock()
        self._group = GroupCommit(self._lock, self._sync_call, self._withdraw)
        self._closed = False
        self._active: Segment | None = None
        self._descriptor = -1
        self._finished_early = False
        self._unread_since: dict[int, float] = {}
        self._folder_descriptor = claim_folder(folder)
        try:
            self._take(recover(folder))
        except BaseException:
            os.close(self._folder_descriptor)
            raise

    def _take(self, found: Recovery) -> None:
        self._segments = found.segments
        self._empty = found.empty
        self._next = found.next
        self.damaged_records = found.damaged
        self.left_alone = found.left_alone
        log = structlog.get_logger()
        if found.damaged:
            log.warning("journal_damaged", folder=str(self._folder), records=found.damaged)
        if found.left_alone:
            names = [path.name for path in found.left_alone]
            log.warning("journal_files_left_alone", folder=str(self._folder), files=names)
        try:
            self._begin()
        except OSError as refused:
            if refused.errno in NOT_WRITABLE:
                raise ConfigError(self._says(refused)) from refused
            log.warning("journal_not_writable", problem=self._says(refused))

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
        """Bytes of the segment files."""
        with self._lock:
            return sum(segment.size for segment in self._segments)

    def append(self, records: Sequence[Sequence[bytes]]) -> int:
        """Write ``records`` and return the number of the first; see :meth:`Store.append`."""
        sums = [measure(chunks) for chunks in records]
        size = sum(length for length, _ in sums)
        if not records:
            return self._next
        with self._lock:
            try:
                segment = self._open_segment(size)
                number = self._next
                self._write(segment, records, sums)
                if self._fsync == "group":
                    self._group.wait(number)
            except OSError as refused:
                raise Unavailable(self._says(refused), RETRY_SECONDS) from refused
        return number

    def _open_segment(self, size: int) -> Segment:
        """Return the segment that takes ``size`` bytes more, beginning one where needed."""
        while True:
            if self._closed:
                raise Unavailable("the journal is closed", RETRY_SECONDS)
            active = self._active
            if active is None:
                return self._begin()
            full = active.offsets and active.size + size > self.segment_bytes
            if not full and not self._finished_early and active.end == self._next:
                return active
            self._finish()

    def _begin(self) -> Segment:
        """Make the file of the next segment, whose name keeps the number even when it is empty."""
        path = segment_path(self._folder, self._next)
        header = SegmentHeader(self._next, self._entropy(MARK_BYTES))
        head = header.encode()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # ext4 writes a file back when it is closed if it ever was cut to nothing.
            if os.fstat(descriptor).st_size:
                self._files.truncate(descriptor, 0)
            write_all(self._files, descriptor, [head])
            if self._fsync == "group":
                self._files.sync(descriptor)
                os.fsync(self._folder_descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._active = Segment(path, self._next, header.mark, size=len(head))
        self._descriptor = descriptor
        self._finished_early = False
        self._segments.append(self._active)
        # Only now: till here their names were the trace of the numbers that were given.
        for left in self._empty:
            if left != path:
                with contextlib.suppress(OSError):
                    left.unlink()
        self._empty.clear()
        return self._active

    def _finish(self) -> None:
        """Close the segment being written, after the disk has what writers wait for."""
        active = self._active
        self._group.finish()
        if active is not None and self._active is active:
            os.close(self._descriptor)
            self._active = None
            if not active.offsets:
                self._segments.remove(active)
                self._empty.append(active.path)

    def _write(
        self, segment: Segment, records: Sequence[Sequence[bytes]], sums: list[tuple[int, int]]
    ) -> None:
        now = self._clock.unix_nano()
        chunks: list[bytes] = []
        offsets = []
        end = segment.size
        for at, (length, crc) in enumerate(sums):
            head = RecordHeader(self._next + at, now, length, crc).encode(segment.mark)
            chunks += (head, *records[at])
            offsets.append(end)
            end += len(head) + length
        try:
            write_all(self._files, self._descriptor, chunks)
        except OSError:
            self._undo(segment, segment.size)
            # Whole records of the batch may be left in a file that cannot be cut.
            if self._finished_early:
                self._next += len(records)
            raise
        segment.offsets.extend(offsets)
        segment.size = end
        segment.written_nano = segment.written_nano or now
        self._next += len(records)

    def _undo(self, segment: Segment, size: int) -> None:
        """Cut what was begun; where that fails too, write no more behind it."""
        try:
            self._files.truncate(self._descriptor, size)
        except OSError:
            self._finished_early = True
        segment.size = size

    def _sync_call(self) -> Callable[[], None]:
        return partial(self._files.sync, self._descriptor)

    def _withdraw(self, number: int) -> None:
        """Take back the records from ``number`` on: the disk did not take them, nobody was told.

        Their numbers stay used. The system reports a failed write-back once, so nothing more is
        written to this file.
        """
        segment = self._active
        if segment is not None:
            at = number - segment.first
            self._undo(segment, segment.offsets[at])
            del segment.offsets[at:]
            self._finished_early = True

    def probe(self, size: int) -> None:
        """Write zeros, which a restart takes for nothing, and cut them; see :meth:`Store.probe`.

        To a new file: one that fails is written no more, and nobody waits for it.
        """
        with self._lock:
            if self._closed:
                raise Unavailable("the journal is closed", RETRY_SECONDS)
            try:
                self._finish()
                segment = self._begin()
                try:
                    write_all(self._files, self._descriptor, [bytes(size)])
                    if self._fsync == "group":
                        self._files.sync(self._descriptor)
                except OSError:
                    self._finished_early = True
                    raise
                finally:
                    self._undo(segment, segment.size)
            except OSError as refused:
                raise Unavailable(self._says(refused), RETRY_SECONDS) from refused

    def read(self, number: int) -> bytes:
        """Return the bytes of record ``number``; see :meth:`Store.read`."""
        with self._lock:
            segment = holding(self._segments, number)
            if segment is None:
                raise Missing(number)
            offset = segment.offsets[number - segment.first]
        if offset == DAMAGED:
            raise Damaged(number)
        problem = "its checksum does not fit"
        try:
            payload = _read_at(segment, offset, number)
        except FileNotFoundError:
            raise Missing(number) from None
        except OSError as refused:
            if not self._is_hopeless(number, refused):
                raise Unavailable(self._says(refused), RETRY_SECONDS) from refused
            payload, problem = None, self._says(refused)
        if self._unread_since:
            self._unread_since.pop(number, None)
        if payload is None:
            self._condemn(segment, number, offset)
            raise Damaged(number, problem)
        return payload

    def _is_hopeless(self, number: int, refused: OSError) -> bool:
        """Tell a bad sector, which would hold up its feed for good, from an error that passes."""
        if refused.errno != errno.EIO:
            return False
        now = self._clock.monotonic()
        return now - self._unread_since.setdefault(number, now) > PATIENCE_SECONDS

    def _condemn(self, segment: Segment, number: int, offset: int) -> None:
        """Note that a record is damaged, unless it was dropped while it was read."""
        with self._lock:
            if holding(self._segments, number) is not segment:
                raise Missing(number)
            at = number - segment.first
            if segment.offsets[at] == offset:
                segment.offsets[at] = DAMAGED
                self.damaged_records += 1

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the records present, damaged ones included, ascending."""
        with self._lock:
            present = ranges(self._segments)
        yield from chain.from_iterable(present)

    def segment_end(self, number: int) -> int:
        """Return the first number after the segment of ``number``; see :meth:`Store.segment_end`."""
        with self._lock:
            return end_after(self._segments, number, self._next)

    def drop_before(self, number: int) -> int:
        """Remove the files all of whose records are less than ``number``; return their bytes."""
        with self._lock:
            freed = 0
            while self._segments and self._segments[0].end <= number:
                oldest = self._segments[0]
                if oldest is self._active:
                    return freed + self._empty_active()
                try:
                    oldest.path.unlink(missing_ok=True)
                except OSError as refused:
                    structlog.get_logger().warning("journal_not_freed", problem=self._says(refused))
                    return freed
                freed += oldest.size
                del self._segments[0]
            return freed

    def _empty_active(self) -> int:
        """Free the segment being written, keeping its file under the name of the next number.

        A full disk has no room for another file, and without one the numbers would start again.
        """
        active = self._active
        if active is None or not active.offsets or self._group.waiting:
            return 0
        try:
            target = segment_path(self._folder, self._next)
            active.path.rename(target)
        except OSError as refused:
            structlog.get_logger().warning("journal_not_freed", problem=self._says(refused))
            return 0
        os.close(self._descriptor)
        self._segments.remove(active)
        self._active = None
        # What is in the file is cut off first. If that fails, the next append tries again.
        with contextlib.suppress(OSError):
            self._begin()
        return active.size

    def skip_to(self, number: int) -> None:
        """Give only numbers from ``number`` on; kept over a restart if the disk takes a file."""
        with self._lock:
            if number <= self._next:
                return
            self._next = number
            with contextlib.suppress(OSError, Unavailable):
                self._open_segment(0)

    def oldest_age_seconds(self, now_unix: float) -> float:
        """Return how long ago the oldest record was written, 0 when there is none."""
        with self._lock:
            if not self._segments or not self._segments[0].offsets:
                return 0.0
            return max(0.0, now_unix - self._segments[0].written_nano / 1e9)

    def close(self) -> None:
        """Take no more records, and let another process have the folder."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._group.finish()
            if self._active is not None:
                os.close(self._descriptor)
                self._active = None
            os.close(self._folder_descriptor)

    def _says(self, refused: OSError) -> str:
        return f"journal.path {self._folder}: {os.strerror(refused.errno or errno.EIO)}"


def _read_at(segment: Segment, offset: int, number: int) -> bytes | None:
    # A descriptor for each read: nothing is held open for a log of any length.
    descriptor = os.open(segment.path, os.O_RDONLY)
    try:
        return read_record(descriptor, offset, segment.mark, number)
    finally:
        os.close(descriptor)

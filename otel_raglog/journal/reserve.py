"""Space set aside on the disk, to be given up when decisions find none."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol

_PRIVATE_FILE = 0o600


class Reserve(Protocol):
    """Space that can be had when the disk is full."""

    def hold(self) -> None:
        """Set the space aside, unless it is; without success while the disk is full."""
        ...

    def release(self) -> bool:
        """Free the space; returns whether there was any."""
        ...


class ReserveFile:
    """A file of so many bytes. Deleting it makes room on a full disk, and under a full quota.

    Without it a disk that is filled by others, or a quota that the journal itself has used up,
    would keep decisions from being written, so their spans from being delivered, and so the
    space of these spans from being freed.
    """

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path = path
        self._size_bytes = size_bytes
        self._held = False
        self._lock = threading.Lock()

    def hold(self) -> None:
        """Write the file, or nothing of it."""
        with self._lock:
            if self._held or not self._size_bytes:
                return
            try:
                self._write()
            except OSError:
                self._path.unlink(missing_ok=True)
            else:
                self._held = True

    def release(self) -> bool:
        """Delete the file, also one that an earlier process left."""
        with self._lock:
            try:
                self._path.unlink()
            except OSError:
                return False
            self._held = False
            return True

    def _write(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            # Allocates blocks; where the file system cannot, the C library writes zeros.
            os.posix_fallocate(descriptor, 0, self._size_bytes)
        finally:
            os.close(descriptor)


class NoReserve:
    """Nothing is set aside: the journal is in memory."""

    def hold(self) -> None:
        """Do nothing."""

    def release(self) -> bool:
        """Free nothing."""
        return False

"""Chunks of bytes to the end of a file, through the few system calls that a test can fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

MOST_CHUNKS = 1024
"""Chunks that Linux takes in one ``writev`` (IOV_MAX)."""


class Files(Protocol):
    """The system calls that change a segment's bytes; all raise ``OSError``."""

    def writev(self, descriptor: int, chunks: Sequence[bytes | memoryview]) -> int:
        """Write the chunks one after the other; return how many bytes were written."""
        ...

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file to ``size`` bytes."""
        ...

    def sync(self, descriptor: int) -> None:
        """Return when the file's bytes are on the disk."""
        ...


class SystemFiles:
    """The operating system's calls."""

    def writev(self, descriptor: int, chunks: Sequence[bytes | memoryview]) -> int:
        """Call ``writev``."""
        return os.writev(descriptor, chunks)

    def truncate(self, descriptor: int, size: int) -> None:
        """Call ``ftruncate``."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Call ``fdatasync``."""
        os.fdatasync(descriptor)


def write_all(files: Files, descriptor: int, chunks: Sequence[bytes]) -> None:
    """Write all ``chunks``, unjoined, in one call if the system takes them in one.

    Raises:
        OSError: what was written before stays in the file.

    """
    rest: list[bytes | memoryview] = [chunk for chunk in chunks if chunk]
    while rest:
        written = files.writev(descriptor, rest[:MOST_CHUNKS])
        done = 0
        while done < len(rest) and written >= len(rest[done]):
            written -= len(rest[done])
            done += 1
        del rest[:done]
        if written:
            rest[0] = memoryview(rest[0])[written:]

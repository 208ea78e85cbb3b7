"""How far a destination has come, to a few bytes that are written in place, and back."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Literal, NamedTuple, Protocol
from urllib.parse import quote, unquote
from zlib import crc32

from otel_raglog.errors import ConfigError, Unavailable

_CONTENT = struct.Struct("<4sQQ")
_CHECKSUM = struct.Struct("<I")
_MAGIC = b"RLC1"
_SIZE = _CONTENT.size + _CHECKSUM.size
_SUFFIX = ".cursor"
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


class Mark(NamedTuple):
    """All decisions up to ``number`` are done with.

    Of these, ``lent`` items were given up by the journal while a sender had them: they may yet
    be delivered, and are lost if the process ends first.
    """

    number: int
    lent: int


class Cursor(Protocol):
    """The place of one feed, kept for the next start."""

    def read(self) -> Mark | None:
        """Return what was written last; ``None`` when there is nothing, or it is damaged."""
        ...

    def write(self, mark: Mark) -> None:
        """Keep ``mark`` in place of what was there.

        Raises:
            Unavailable: it could not be written.
        """
        ...

    def sync(self) -> None:
        """Return once what was written outlives a loss of power, if that was asked for.

        Raises:
            Unavailable: the disk refuses.
        """
        ...

    def close(self) -> None:
        """Free what is held."""
        ...


class Cursors(Protocol):
    """All cursors, by name."""

    def open(self, name: str) -> Cursor:
        """Return the cursor of that name, a new one if need be."""
        ...

    def keep_only(self, names: Collection[str]) -> dict[str, Mark | None]:
        """Forget all other cursors: one that is used again much later would mislead.

        Returns what was written last to those that were forgotten, by name.
        """
        ...


class CursorFile:
    """One file of 24 bytes, written in place with a checksum: one system call a batch.

    Raises:
        ConfigError: the file cannot be opened for writing.
    """

    def __init__(self, path: Path, fsync: Literal["none", "group"] = "none") -> None:
        self._path = path
        self._fsync = fsync == "group"
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
        except OSError as failure:
            raise ConfigError(f"journal.path: {path} cannot be opened: {failure}") from failure
        self._closed = False
        self._using = threading.Lock()

    def read(self) -> Mark | None:
        """Return what was written last; ``None`` when there is nothing, or it is damaged."""
        try:
            return _decode(os.pread(self._file, _SIZE, 0))
        except OSError:
            return None

    def write(self, mark: Mark) -> None:
        """Write ``mark`` over what was there; see :meth:`Cursor.write`."""
        content = _CONTENT.pack(_MAGIC, mark.number, mark.lent)
        with self._using:
            if self._closed:
                raise Unavailable("the journal is closed")
            try:
                os.pwrite(self._file, content + _CHECKSUM.pack(crc32(content)), 0)
            except OSError as failure:
                raise Unavailable(f"{self._path}: {failure.strerror}") from failure

    def sync(self) -> None:
        """Wait for the disk, where ``fsync`` asks for it; see :meth:`Cursor.sync`."""
        if not self._fsync:
            return
        with self._using:
            if self._closed:
                return
            try:
                os.fdatasync(self._file)
            except OSError as failure:
                raise Unavailable(f"{self._path}: {failure.strerror}") from failure

    def close(self) -> None:
        """Close the file; writing raises ``Unavailable`` from then on."""
        with self._using:
            if not self._closed:
                self._closed = True
                os.close(self._file)


class CursorFolder:
    """A private folder with a file for each cursor.

    Raises:
        ConfigError: the folder cannot be made.
    """

    def __init__(self, folder: Path, fsync: Literal["none", "group"] = "none") -> None:
        self._folder = folder
        self._fsync: Literal["none", "group"] = fsync
        try:
            folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as failure:
            raise ConfigError(f"journal.path: {folder} cannot be made: {failure}") from failure

    def open(self, name: str) -> CursorFile:
        """Return the cursor of that name."""
        return CursorFile(self._folder / self._file_name(name), self._fsync)

    def keep_only(self, names: Collection[str]) -> dict[str, Mark | None]:
        """Delete the files of all other cursors; one that cannot be deleted stays."""
        kept = {self._file_name(name) for name in names}
        forgotten: dict[str, Mark | None] = {}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path.name in kept:
                continue
            try:
                raw = path.read_bytes()
                path.unlink()
            except OSError:
                continue
            forgotten[unquote(path.name.removesuffix(_SUFFIX))] = _decode(raw)
        return forgotten

    @staticmethod
    def _file_name(name: str) -> str:
        return quote(name, safe="") + _SUFFIX


def _decode(raw: bytes) -> Mark | None:
    if len(raw) != _SIZE:
        return None
    magic, number, lent = _CONTENT.unpack_from(raw)
    (checksum,) = _CHECKSUM.unpack_from(raw, _CONTENT.size)
    if magic != _MAGIC or checksum != crc32(raw[: _CONTENT.size]):
        return None
    return Mark(number, lent)


class MemoryCursor:
    """A cursor that lasts as long as the object."""

    def __init__(self) -> None:
        self._mark: Mark | None = None

    def read(self) -> Mark | None:
        """Return what was written last."""
        return self._mark

    def write(self, mark: Mark) -> None:
        """Keep ``mark``."""
        self._mark = mark

    def sync(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class MemoryCursors:
    """Cursors by name, in memory."""

    def __init__(self) -> None:
        self._cursors: dict[str, MemoryCursor] = {}

    def open(self, name: str) -> MemoryCursor:
        """Return the cursor of that name."""
        return self._cursors.setdefault(name, MemoryCursor())

    def keep_only(self, names: Collection[str]) -> dict[str, Mark | None]:
        """Forget all other cursors."""
        others = [name for name in self._cursors if name not in names]
        return {name: self._cursors.pop(name).read() for name in others}

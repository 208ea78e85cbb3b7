"""Payloads turned into lines of an OTLP/JSON file, one request a line."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.model import Payload
from otel_raglog_exporters.otlp_json import messages_to_json
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.wire_schema import read_payload

_PRIVATE = 0o600  # spans hold questions and documents


@dataclass(frozen=True, slots=True)
class FileConfig:
    """A file to append to. Its folder must exist; a new file is readable by its owner only."""

    path: Path
    name: str = "file"


class FileExporter:
    """Appends to one file, a whole line per export, handed to the system before it returns.

    A file that was moved or deleted (log rotation) is opened anew at the next export.
    A line that could not be written whole is taken back, so that the file stays readable
    when the disk fills up. Only one process may write to the file.

    Raises:
        ConfigError: the file cannot be opened for appending.
    """

    def __init__(self, config: FileConfig) -> None:
        self.name = config.name
        self._path = Path(config.path)
        self._file = _open(self._path)
        self._writing = threading.Lock()
        self._closed = False
        self._torn = _is_torn(self._path, self._file)

    def export(self, payload: Payload) -> ExportOutcome:
        """Append ``payload``; items that are not OTLP are reported as rejected.

        Raises:
            Unavailable: the line could not be written (disk full, closed ...).
        """
        if self._closed:
            raise Unavailable("the exporter is closed")
        read = read_payload(payload)
        line = messages_to_json(*read.requests).encode() if payload.body and read.requests else b""
        with self._writing:
            if self._closed:
                raise Unavailable("the exporter is closed")
            if line:
                self._follow_rotation()
                self._append(line + b"\n")
        message = "not readable as OTLP" if read.unreadable else ""
        return ExportOutcome(payload.items - read.unreadable, read.unreadable, message)

    def close(self) -> None:
        """Close the file after the export in flight."""
        with self._writing:
            if not self._closed:
                self._closed = True
                os.close(self._file)

    def _follow_rotation(self) -> None:
        """Open the file anew when it was moved or deleted: else items go where nobody looks."""
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        except OSError as failure:
            raise Unavailable(f"{self._path}: {failure.strerror}") from failure
        ours = os.fstat(self._file)
        if there is not None and (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
            return
        try:
            renewed = _open(self._path)
        except ConfigError as failure:
            raise Unavailable(str(failure)) from failure
        os.close(self._file)
        self._file, self._torn = renewed, _is_torn(self._path, renewed)

    def _append(self, line: bytes) -> None:
        if self._torn:
            line = b"\n" + line
        end = os.fstat(self._file).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as failure:
            self._take_back(end, begun=len(rest) < len(line))
            raise Unavailable(f"{self._path}: {failure.strerror}") from failure
        self._torn = False

    def _take_back(self, end: int, *, begun: bool) -> None:
        if not begun:
            return
        try:
            os.ftruncate(self._file, end)
        except OSError:  # then the next line starts on a fresh one
            self._torn = True


def _open(path: Path) -> int:
    if not path.parent.is_dir():
        raise ConfigError(f"path: the folder {path.parent} does not exist")
    try:
        # Read as well, where there is something to read: to see how the file ends.
        mode = os.O_RDWR if path.is_file() or not path.exists() else os.O_WRONLY
        return os.open(path, mode | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
    except OSError as failure:
        raise ConfigError(f"path: {path} cannot be written: {failure.strerror}") from failure


def _is_torn(path: Path, file: int) -> bool:
    """Return whether the file ends inside a line, as after a kill in the middle of one."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return False
    try:
        return os.pread(file, 1, status.st_size - 1) != b"\n"
    except OSError as failure:
        raise ConfigError(f"path: {path} cannot be read: {failure.strerror}") from failure

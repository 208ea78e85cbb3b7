"""Payloads that a destination refused for good to lines of a file, and back for ``replay``."""

from __future__ import annotations

import base64
import binascii
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from otel_raglog.clock import Clock
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.model import Payload, Signal

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


class DeadLetterFile:
    """Appends refused payloads to ``<exporter>.jsonl`` in a private folder, one a line.

    A file that would grow beyond ``max_bytes`` becomes ``<exporter>.jsonl.1``, in place of the
    one before; a single line beyond ``max_bytes`` is written all the same. Thread-safe.

    Raises:
        ConfigError: the folder cannot be made.
    """

    def __init__(self, folder: Path, max_bytes: int, clock: Clock) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._clock = clock
        self._writing = threading.Lock()
        try:
            folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as failure:
            raise ConfigError(f"dead letters: {folder} cannot be made: {failure}") from failure

    def put(self, exporter: str, payload: Payload, reason: str, message: str) -> bool:
        """Keep ``payload``; returns whether that worked (a full disk: no). Never raises."""
        at = datetime.fromtimestamp(self._clock.unix_nano() / 1e9, tz=UTC)
        letter = {
            "at": at.isoformat(timespec="milliseconds"),
            "exporter": exporter,
            "signal": payload.signal.value,
            "reason": reason,
            "items": payload.items,
            "message": message,
            "headers": _joined(payload),
            "body": base64.b64encode(payload.body).decode("ascii"),
        }
        line = json.dumps(letter).encode("ascii") + b"\n"
        path = self._folder / f"{quote(exporter, safe='')}.jsonl"
        with self._writing:
            try:
                self._make_room(path, len(line))
                _append(path, line)
            except OSError:
                return False
        return True

    def _make_room(self, path: Path, line_bytes: int) -> None:
        size = path.stat().st_size if path.exists() else 0
        if not size or size + line_bytes <= self._max_bytes:
            return
        path.replace(path.with_name(f"{path.name}.1"))


def read_dead_letter(line: str | bytes) -> Payload:
    """Return the payload of one line, its body exactly as it was refused.

    Raises:
        BadInput: this is no dead letter.
    """
    try:
        letter = json.loads(line)
        headers = tuple((str(name), str(value)) for name, value in letter["headers"].items())
        body = base64.b64decode(letter["body"], validate=True)
        return Payload(Signal(letter["signal"]), body, int(letter["items"]), headers)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise BadInput(f"no dead letter: {error}") from error


def _joined(payload: Payload) -> dict[str, str]:
    """Return the headers by name; values of one name are joined, as HTTP allows."""
    joined: dict[str, str] = {}
    for name, value in payload.headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _append(path: Path, line: bytes) -> None:
    """Append all of ``line`` or nothing, on a line of its own after one that was cut off."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
    try:
        end = os.fstat(file).st_size
        if end and os.pread(file, 1, end - 1) != b"\n":
            line = b"\n" + line
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            os.ftruncate(file, end)
            raise
    finally:
        os.close(file)

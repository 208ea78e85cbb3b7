"""Events on standard input to spans at the sidecar: the process that works for the add-on."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from typing import BinaryIO, TextIO

from otel_raglog_proxy_bridge.addon_options import BadOption, read_settings
from otel_raglog_proxy_bridge.capturing import Capturing
from otel_raglog_proxy_bridge.frames import Begun, Forgotten, read_data, read_event
from otel_raglog_proxy_bridge.masking import mask_text

_LOG = logging.getLogger(__name__)
CLOSE_SECONDS = 8.0
_WRONG_START = 2
_LONGEST_MESSAGE = 2000
_COURTESY = 5
"""So much nicer than the proxy: the pipeline comes first."""


def main() -> int:
    """Work until standard input ends."""
    with contextlib.suppress(OSError):
        os.nice(_COURTESY)
    return work(sys.stdin.buffer, sys.stdout)


def work(events: BinaryIO, out: TextIO) -> int:
    """Take options and then events from ``events``; write log records and counts to ``out``.

    Each line written is a JSON list: ``["log", level, message]``, or at the end
    ``["counts", {…}]``.
    """
    with _logging_to(out):
        values = read_data(events)
        if not isinstance(values, Mapping):
            return _WRONG_START
        try:
            capturing = Capturing(read_settings(values))
        except BadOption as bad:
            _LOG.warning("raglog: %s", bad)
            return _WRONG_START
        capturing.start()
        _pass_on(events, capturing)
        capturing.close(CLOSE_SECONDS)
    _write(out, ["counts", dict(capturing.counts)])
    return 0


@contextlib.contextmanager
def _logging_to(out: TextIO) -> Iterator[None]:
    handler = _LogLines(out)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def _pass_on(events: BinaryIO, capturing: Capturing) -> None:
    while (event := read_event(events)) is not None:
        if isinstance(event, Begun):
            capturing.begin(event.call_id, event.started_ns, event.side, event.traceparent)
        elif isinstance(event, Forgotten):
            capturing.forget(event.call_id)
        else:
            capturing.put(event)


class _LogLines(logging.Handler):
    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out

    def emit(self, record: logging.LogRecord) -> None:
        _write(self._out, ["log", record.levelno, _safe_message(record)])


def _safe_message(record: logging.LogRecord) -> str:
    """Return a record's message without secrets and traceback: other packages log URLs and more."""
    try:
        return mask_text(record.getMessage()[:_LONGEST_MESSAGE], cut=True)
    except Exception as unforeseen:  # noqa: BLE001 - what cannot be masked is not let through
        return f"a record of {record.name} left out: {type(unforeseen).__name__}"


def _write(out: TextIO, data: object) -> None:
    with contextlib.suppress(OSError, ValueError):  # the add-on is gone: nobody reads on
        out.write(json.dumps(data) + "\n")
        out.flush()

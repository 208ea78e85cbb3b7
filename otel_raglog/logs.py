"""Log calls to lines on a stream: JSON for machines, aligned words on a terminal."""

from __future__ import annotations

import contextlib
from typing import TextIO

import structlog
from structlog.typing import Processor


def configure_logs(level: str, stream: TextIO) -> None:
    """Send all log calls of ``level`` and above to ``stream``.

    Tracebacks are plain: structlog's default shows local variables, and those hold the texts of
    other people's documents. A line that cannot be written (a full disk, a closed pipe) is lost.
    """
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if stream.isatty():
        rendering: list[Processor] = [
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        ]
    else:
        rendering = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(sort_keys=False),
        ]
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Lines(stream),
        cache_logger_on_first_use=False,
    )


class _Lines:
    """Writes lines; that a line cannot be written is no reason to fail whatever it reports."""

    def __init__(self, stream: TextIO) -> None:
        self._logger = structlog.PrintLogger(stream)

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._logger.msg(message)

    log = debug = info = warn = warning = error = critical = fatal = failure = exception = msg

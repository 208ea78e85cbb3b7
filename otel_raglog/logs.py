"""Log calls to lines on a stream: JSON for machines, aligned words on a terminal."""

from __future__ import annotations

from typing import TextIO

import structlog
from structlog.typing import Processor


def configure_logs(level: str, stream: TextIO) -> None:
    """Send all log calls of ``level`` and above to ``stream``.

    Tracebacks are plain: structlog's default shows local variables, and those hold the texts of
    other people's documents.
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
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )

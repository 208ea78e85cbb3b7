"""The exceptions of otel-raglog, all of them.

::

    RaglogError
    ├── ConfigError     the configuration is wrong; names the option and the values it knows
    ├── BadInput        what came in can never be read; do not try again
    │   └── TooLarge    a limit on bytes, spans or nesting was passed
    ├── Unavailable     not now; try again after ``retry_after_seconds``
    │   └── RateLimited because too much was asked for
    └── Rejected        a destination refused for good; do not try again
"""

from __future__ import annotations


class RaglogError(Exception):
    """Base of every exception that otel-raglog raises on purpose."""


class ConfigError(RaglogError):
    """The configuration is wrong; the message names the option as it was typed."""


class BadInput(RaglogError):
    """Input that can never be read."""


class TooLarge(BadInput):
    """Input beyond a configured limit."""


class Unavailable(RaglogError):
    """A failure that may pass: try again after ``retry_after_seconds`` (``None``: own back-off)."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RateLimited(Unavailable):
    """Too much was asked for in too short a time."""


class Rejected(RaglogError):
    """A destination refused for good. ``reason`` is a short snake_case word for metrics."""

    def __init__(self, message: str, reason: str = "rejected") -> None:
        super().__init__(message)
        self.reason = reason

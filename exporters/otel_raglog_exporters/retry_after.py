"""The Retry-After header to seconds; light enough for the application's own process."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from otel_raglog.clock import Clock


def read_retry_after(value: str, clock: Clock) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date; ``None`` where it is neither."""
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):  # no date, or none that a computer can hold
        return None
    return max(0.0, moment - clock.unix_nano() / 1e9)

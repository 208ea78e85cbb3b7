"""What an HTTP server answered, read with care, and turned into what it means for a sender."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import httpx2

from otel_raglog.clock import Clock

_MAX_ANSWER_BYTES = 1024 * 1024


def read_answer(response: httpx2.Response, clock: Clock, timeout_seconds: float) -> bytes:
    """Read what a well-behaved server sends, in the time that one may take."""
    deadline = clock.monotonic() + timeout_seconds
    answer = bytearray()
    for chunk in response.iter_bytes():
        answer += chunk
        if len(answer) > _MAX_ANSWER_BYTES or clock.monotonic() > deadline:
            break
    return bytes(answer)


def retry_after_seconds(response: httpx2.Response, clock: Clock) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date."""
    value = response.headers.get("retry-after", "")
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):  # no date, or none that a computer can hold
        return None
    return max(0.0, moment - clock.unix_nano() / 1e9)

"""What an HTTP server answered, read with care, and turned into what it means for a sender."""

from __future__ import annotations

import httpx2

from otel_raglog.clock import Clock
from otel_raglog_exporters.retry_after import read_retry_after

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
    """Read the Retry-After header of an answer, in seconds."""
    return read_retry_after(response.headers.get("retry-after", ""), clock)

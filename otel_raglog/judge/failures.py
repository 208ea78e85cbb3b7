"""HTTP statuses of LLM APIs to what they mean for whoever asked: later, or never."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from otel_raglog.clock import Clock
from otel_raglog.errors import RaglogError, RateLimited, Rejected, Unavailable

CLOSED = "the client is closed"
NO_TEXT = "the prompt holds characters that cannot be sent"

_TOO_MANY = 429
_MAY_PASS = frozenset({408, 409, 425, _TOO_MANY})
_LOWEST_SERVER_ERROR = 500
_REASONS: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "unauthorized",
    404: "no_such_model",
    413: "prompt_too_large",
    422: "bad_request",
}
_HINTS: Mapping[str, str] = {
    "no_such_model": "; check judge.model and judge.endpoint",
    "unauthorized": "; check the key",
}
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")


def failure_of(
    status: int, headers: Mapping[str, str], provider: str, clock: Clock
) -> Unavailable | Rejected:
    """Return the exception for a status that is no success; nothing of the reply is in its text."""
    message = f"{provider} answered HTTP {status}"
    if status in _MAY_PASS or status >= _LOWEST_SERVER_ERROR:
        kind = RateLimited if status == _TOO_MANY else Unavailable
        return kind(message, retry_after_seconds(headers, clock))
    reason = _REASONS.get(status, f"http_{status}")
    return Rejected(message + _HINTS.get(reason, ""), reason)


def connection_failure(error: Exception) -> RaglogError:
    """Return what the transport raised, in which an SDK may have wrapped an exception of its own."""
    for each in (error, error.__cause__):
        if isinstance(each, RaglogError):
            return each
    return Unavailable(CLOSED)  # all else that a transport like ours can fail of


def retry_after_seconds(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Read ``retry-after-ms``, or else ``retry-after``: seconds, or an HTTP date."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1_000
    told = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(told):
        return float(told)
    try:
        moment = parsedate_to_datetime(told).timestamp()
    except (ValueError, OverflowError):  # no date, or none that a computer can hold
        return None
    return max(0.0, moment - clock.unix_nano() / 1e9)

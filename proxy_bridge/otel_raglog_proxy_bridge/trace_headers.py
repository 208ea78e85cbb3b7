"""The W3C ``traceparent`` header of a call to the ids in it."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.model import Call

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-[0-9a-f]{2}")


def trace_id_of(call: Call) -> str:
    """Return the trace id of the request in hex, "" when it has none that is valid."""
    return _ids(call)[0]


def parent_id_of(call: Call) -> str:
    """Return the span id of the request's caller in hex, "" when it has none that is valid."""
    return _ids(call)[1]


def is_traceparent(value: str) -> bool:
    """Return whether a header's value has the form of one."""
    return _TRACEPARENT.fullmatch(value.strip().lower()) is not None


def _ids(call: Call) -> tuple[str, str]:
    found = _TRACEPARENT.match(call.request_headers.get("traceparent", "").strip().lower())
    if found is None or not found["trace"].strip("0") or not found["span"].strip("0"):
        return "", ""
    return found["trace"], found["span"]

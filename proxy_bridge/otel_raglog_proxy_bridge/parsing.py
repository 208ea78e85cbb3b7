"""Calls to exchanges: the URL taken apart, JSON parsed, streamed answers as their events."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qsl, unquote, urlsplit

from otel_raglog_proxy_bridge.model import Call, Exchange

_LINE_END = re.compile(r"\r\n|\n|\r")
_WHITE = " \t"
_OPENING = frozenset("{[")
_FORM = "application/x-www-form-urlencoded"


def parse(call: Call) -> Exchange:
    """Return ``call`` taken apart; a body that is no JSON gives ``None``, never an error."""
    try:
        parts = urlsplit(call.url)
    except ValueError:
        parts = urlsplit("")
    try:
        port = parts.port
    except ValueError:
        port = None
    response = parse_json(call.response_body)
    return Exchange(
        call=call,
        host=(parts.hostname or "").lower(),
        port=port,
        path=unquote(parts.path),
        segments=tuple(unquote(part) for part in parts.path.split("/") if part),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        request=_request(call),
        response=response,
        events=() if response is not None else events_of(call.response_body),
    )


def parse_json(text: str) -> object:
    """Return the JSON data in ``text``, ``None`` when it is none."""
    if not text or text.isspace():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def events_of(text: str) -> tuple[object, ...]:
    """Return the parsed data of server-sent events, or of JSON lines; others are left out.

    Follows the WHATWG's rules for event streams: an event's ``data`` lines are joined by line
    breaks, a blank line ends it. A last event without its blank line counts too, since a stream
    may be cut anywhere. JSON lines are objects or lists.
    """
    # Not splitlines: JSON may hold U+2028, U+0085 and others as they are, which end no line.
    lines = _LINE_END.split(text)
    if not any(line.startswith("data:") for line in lines):
        held = (line for line in lines if line.lstrip(_WHITE)[:1] in _OPENING)
        return tuple(found for line in held if (found := parse_json(line)) is not None)
    events: list[object] = []
    data: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            parsed = parse_json("\n".join(data))
            if parsed is not None:
                events.append(parsed)
            data.clear()
    return tuple(events)


def _request(call: Call) -> object:
    data = parse_json(call.request_body)
    if data is None and call.request_headers.get("content-type", "").startswith(_FORM):
        return dict(parse_qsl(call.request_body, keep_blank_values=True))
    if data is None and call.request_body:
        lines = events_of(call.request_body)  # msearch and bulk bodies are JSON lines
        return list(lines) or None
    return data

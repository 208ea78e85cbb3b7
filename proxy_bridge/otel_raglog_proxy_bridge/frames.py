"""What the add-on sees of calls, to bytes on a pipe and back."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import RawCall

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that started."""

    call_id: str
    started_ns: int
    side: Side
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A call that started and is of no interest."""

    call_id: str


Event: TypeAlias = RawCall | Begun | Forgotten


def frame_of(event: Event) -> tuple[bytes, ...]:
    """Return the bytes of an event, in parts, so that long bodies are not copied."""
    match event:
        case Begun():
            head = ["begun", event.call_id, event.started_ns, event.side, event.traceparent]
            return (headed(head),)
        case Forgotten():
            return (headed(["forgotten", event.call_id]),)
        case RawCall():
            return (headed(_call_head(event)), event.request_body, event.response_body)


def headed(data: object) -> bytes:
    """Return the bytes of JSON data, such as settings."""
    content = json.dumps(data, separators=(",", ":")).encode()
    return _LENGTH.pack(len(content)) + content


def read_data(stream: BinaryIO) -> Any:
    """Return the next JSON data, of an event its head; ``None`` at the end, or when it is cut."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    content = stream.read(_LENGTH.unpack(length)[0])
    try:
        return json.loads(content)
    except ValueError:
        return None


def read_event(stream: BinaryIO) -> Event | None:
    """Return the next event, ``None`` at the end, or when it is cut."""
    match read_data(stream):
        case ["begun", call_id, started_ns, side, traceparent]:
            return Begun(call_id, started_ns, Side(side), traceparent)
        case ["forgotten", call_id]:
            return Forgotten(call_id)
        case ["call", head]:
            request, response = head.pop("sizes")
            bodies = stream.read(request), stream.read(response)
            if (len(bodies[0]), len(bodies[1])) != (request, response):
                return None
            return _call(head, *bodies)
        case _:
            return None


def _call_head(call: RawCall) -> list[object]:
    return [
        "call",
        {
            "id": call.id,
            "method": call.method,
            "url": call.url,
            "status": call.status,
            "request_headers": call.request_headers,
            "response_headers": call.response_headers,
            "started_ns": call.started_ns,
            "ended_ns": call.ended_ns,
            "side": call.side,
            "client": call.client,
            "error": call.error,
            "cut": sorted(call.cut),
            "sizes": (len(call.request_body), len(call.response_body)),
        },
    ]


def _call(head: dict[str, Any], request_body: bytes, response_body: bytes) -> RawCall:
    for name in ("request_headers", "response_headers"):
        head[name] = tuple((key, value) for key, value in head[name])
    head["side"] = Side(head["side"])
    head["cut"] = frozenset(head["cut"])
    return RawCall(**head, request_body=request_body, response_body=response_body)

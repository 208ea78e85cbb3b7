"""AWS event streams (``application/vnd.amazon.eventstream``) to JSON lines."""

from __future__ import annotations

import base64
import binascii
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PRELUDE = struct.Struct(">III")  # length of all, length of the headers, CRC of these two
_CRC = struct.Struct(">I")
_SHORT = struct.Struct(">H")
_STRING_TYPES = frozenset({6, 7})  # bytes and text: two bytes of length, then the value
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How many bytes the values of the other header types have."""

_RAW_EVENT = "PayloadPart"  # SageMaker's: pieces of the container's own stream, cut anywhere


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its text headers by name, such as ``:event-type``, and its payload."""

    headers: Mapping[str, str]
    payload: bytes


def messages(content: bytes) -> Iterator[Message]:
    """Yield the whole messages in ``content``; an unfinished last one is left out.

    Raises:
        ValueError: A length or a checksum is wrong, so that this is no event stream.
    """
    start = 0
    while len(content) - start >= _PRELUDE.size:
        length, header_length, prelude_crc = _PRELUDE.unpack_from(content, start)
        if zlib.crc32(content[start : start + 8]) != prelude_crc:
            raise ValueError("a message's prelude has a wrong checksum")
        end = start + length
        payload_start = start + _PRELUDE.size + header_length
        if payload_start > end - _CRC.size:
            raise ValueError("a message's headers are longer than the message")
        if end > len(content):
            return
        if zlib.crc32(content[start : end - 4]) != _CRC.unpack_from(content, end - 4)[0]:
            raise ValueError("a message has a wrong checksum")
        headers = _headers(content[start + _PRELUDE.size : payload_start])
        yield Message(headers, content[payload_start : end - _CRC.size])
        start = end


def json_lines(content: bytes) -> str:
    """Return the events in ``content``, one JSON object a line.

    A line is ``{"<event type>": <payload>}``; an exception counts as an event of its type. Where
    the payload wraps JSON as base64 ``bytes``, as the streams of invoked models do, the line is
    that JSON itself; wrapped text, as an agent's, becomes the payload's ``text``. The streams of
    SageMaker's endpoints carry another stream in pieces: then the text is that stream.

    Raises:
        ValueError: ``content`` is no event stream.
    """
    found = list(messages(content))
    if any(message.headers.get(":event-type") == _RAW_EVENT for message in found):
        parts = (m.payload for m in found if m.headers.get(":event-type") == _RAW_EVENT)
        return b"".join(parts).decode("utf-8", "replace")
    return "".join(f"{json.dumps(_line(message))}\n" for message in found)


def _line(message: Message) -> object:
    kind = (
        message.headers.get(":event-type")
        or message.headers.get(":exception-type")
        or message.headers.get(":error-code")
        or "event"
    )
    text = message.payload.decode("utf-8", "replace")
    payload = _json(text)
    if payload is None:
        return {kind: message.headers.get(":error-message") or text}
    if isinstance(payload, dict) and isinstance(payload.get("bytes"), str):
        inner = _unwrapped(payload["bytes"])
        wrapped = _json(inner) if inner is not None else None
        if isinstance(wrapped, dict):
            return wrapped
        if inner is not None:
            rest = {key: value for key, value in payload.items() if key != "bytes"}
            return {kind: {"text": inner, **rest}}
    return {kind: payload}


def _unwrapped(encoded: str) -> str | None:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _headers(data: bytes) -> dict[str, str]:
    found = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode("utf-8", "replace")
            kind = data[name_end]
            at = name_end + 1
            if kind in _STRING_TYPES:
                size = _SHORT.unpack_from(data, at)[0]
                at += _SHORT.size
                found[name] = data[at : at + size].decode("utf-8", "replace")
            else:
                size = _SIZES[kind]
            at += size
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError("a message's headers cannot be read") from error
    return found

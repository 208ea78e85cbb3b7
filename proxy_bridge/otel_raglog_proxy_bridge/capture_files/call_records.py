"""Call records to raw calls: the bridge's own simple format, easy to write from any language.

A file is JSON lines or a JSON array of objects, one for each call, in the order of the calls:

* ``method`` and ``url`` (absolute) must be there;
* ``status``: left out or ``null`` when no answer came; then ``error`` may say why;
* ``request_body``, ``response_body``: text as sent, or its JSON; content encodings undone;
* ``request_headers``, ``response_headers``: an object, whose values are texts or lists, or pairs;
* ``request_content_type``, ``response_content_type``: for who keeps no headers;
* ``started_at``, ``ended_at``: ISO 8601, or seconds since the epoch;
* ``side``: ``outbound`` (the default) or ``front``, a call to the pipeline's own API;
* ``client``: a connection or process; ``id``: the call's name in what is said of it.

Other keys are left alone.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from itertools import islice

from otel_raglog_proxy_bridge.capture_files.damaged_lists import Broken, json_items
from otel_raglog_proxy_bridge.capture_files.raw_values import (
    DamagedItem,
    clean,
    headers_of,
    json_body,
    method_of,
    nanoseconds,
    status_of,
    text_body,
    url_of,
    with_content_type,
    without_encoding,
)
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import Headers, RawCall

_LINES_LOOKED_AT = 10
_NEEDED = ("method", "url")
_SIDES = {"outbound": Side.OUTBOUND, "front": Side.FRONT}


def matches(suffix: str, content: bytes) -> bool:  # noqa: ARG001  JSON is told by its keys
    """Return whether one of the first objects of ``content`` has a method and a URL."""
    if b'"method"' not in content or b'"url"' not in content:
        return False
    if _is_record(_first_object(content)):
        return True
    lines = islice(io.BytesIO(content), _LINES_LOOKED_AT)
    return any(_is_record(_parsed(line)) for line in lines)


def read(content: bytes) -> Iterator[RawCall | str]:
    """Yield the calls in the file's order, and sentences on what could not be read."""
    for number, (where, data) in enumerate(_items(content), 1):
        if isinstance(data, Broken):
            yield data.told("call", number)
            break
        try:
            call = _call(data, number)
        except DamagedItem as error:
            yield f"{where} is damaged: {error}"
            continue
        for key in ("started_at", "ended_at"):
            told = data.get(key) if isinstance(data, Mapping) else None
            if told is not None and not nanoseconds(told):
                yield f"{where}: {key} is no time"
        yield call


def _items(content: bytes) -> Iterator[tuple[str, object]]:
    whole = _parsed(content)
    if whole is None and content.lstrip()[:1] == b"[":
        whole = json_items(content) or None
    if isinstance(whole, list):
        yield from ((f"call {number}", item) for number, item in enumerate(whole, 1))
    elif whole is not None:
        yield "call 1", whole
    else:
        for number, line in enumerate(content.splitlines(), 1):
            if line.strip():
                yield f"line {number}", _parsed(line)


def _call(data: object, number: int) -> RawCall:
    if not isinstance(data, Mapping):
        raise DamagedItem("it is no JSON object")
    side = data.get("side")
    if side is not None and not (isinstance(side, str) and side in _SIDES):
        raise DamagedItem("its side is neither outbound nor front")
    return RawCall(
        id=_name(data, "id") or str(number),
        method=method_of(data.get("method")),
        url=url_of(data.get("url")),
        status=status_of(data.get("status")),
        request_headers=_headers(data, "request"),
        response_headers=_headers(data, "response"),
        request_body=_body(data.get("request_body")),
        response_body=_body(data.get("response_body")),
        started_ns=nanoseconds(data.get("started_at")),
        ended_ns=nanoseconds(data.get("ended_at")),
        side=_SIDES[side] if side is not None else Side.OUTBOUND,
        client=_name(data, "client"),
        error=_name(data, "error"),
    )


def _headers(data: Mapping[str, object], message: str) -> Headers:
    headers = without_encoding(headers_of(data.get(f"{message}_headers")))
    return with_content_type(headers, data.get(f"{message}_content_type"))


def _body(found: object) -> bytes:
    if found is None:
        return b""
    return text_body(found) if isinstance(found, str) else json_body(found)


def _name(data: Mapping[str, object], key: str) -> str:
    found = data.get(key)
    return clean(str(found)) if isinstance(found, str | int | float) else ""


def _is_record(data: object) -> bool:
    return isinstance(data, dict) and all(isinstance(data.get(key), str) for key in _NEEDED)


def _first_object(content: bytes) -> object:
    """Return the object that the content, or the array in it, begins with."""
    text = content.decode("utf-8", "replace").lstrip().removeprefix("[").lstrip()
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

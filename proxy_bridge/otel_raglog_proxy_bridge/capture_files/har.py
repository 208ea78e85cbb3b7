"""HAR 1.2 archives, of browsers and of mitmproxy, to raw calls.

The content of an answer has its encodings undone, as the format says; base64 is decoded. Entries
of other schemes than HTTP (``data:``, ``blob:``, WebSockets) are left out and counted. A status of
0 says that no answer came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from otel_raglog_proxy_bridge.capture_files.damaged_lists import Broken, json_items
from otel_raglog_proxy_bridge.capture_files.raw_values import (
    BadCapture,
    DamagedItem,
    Note,
    base64_body,
    clean,
    headers_of,
    mapping_at,
    method_of,
    nanoseconds,
    status_of,
    text_body,
    url_of,
    with_content_type,
    without_encoding,
)
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import RawCall

_BEGINNING = re.compile(rb'\s*\{\s*"log"\s*:\s*\{')
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_LONGEST_MS = 24 * 60 * 60 * 1000
_FORM = "application/x-www-form-urlencoded"


def matches(suffix: str, content: bytes) -> bool:
    """Return whether ``content`` begins as a HAR file, or is JSON and named as one."""
    named = suffix == ".har" and content.lstrip()[:1] == b"{"
    return named or _BEGINNING.match(content) is not None


def read(content: bytes) -> Iterator[RawCall | str]:
    """Yield the calls of an archive in its order, and sentences on what could not be read.

    One that is cut short is read up to there.

    Raises:
        BadCapture: it is no JSON, or has no list of entries.
    """
    left_out = 0
    for number, entry in enumerate(_entries(content), 1):
        if isinstance(entry, Broken):
            yield entry.told("entry", number)
            break
        if _is_other(entry):
            left_out += 1
            continue
        try:
            call = _call(entry, number)
        except DamagedItem as error:
            yield f"entry {number} is damaged: {error}"
            continue
        told = entry.get("startedDateTime") if isinstance(entry, Mapping) else None
        if not call.started_ns and told is not None:
            yield f"entry {number}: startedDateTime is no time"
        yield call
    if left_out:
        entries = "entry left out: it holds" if left_out == 1 else "entries left out: they hold"
        yield Note(f"{left_out} {entries} no HTTP call")


def _entries(content: bytes) -> Sequence[object]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        if whole := json_items(content, "entries"):
            return whole
        raise BadCapture(f"a HAR file that is no JSON: {clean(str(error))}") from None
    log = data.get("log") if isinstance(data, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise BadCapture("a HAR file without a list of entries")
    return entries


def _is_other(entry: object) -> bool:
    request = entry.get("request") if isinstance(entry, Mapping) else None
    url = request.get("url") if isinstance(request, Mapping) else None
    found = _SCHEME.match(url) if isinstance(url, str) else None
    return found is not None and found[0].lower() not in {"http:", "https:"}


def _call(data: object, number: int) -> RawCall:
    request = mapping_at(data, "request")
    entry: Mapping[str, object] = data if isinstance(data, Mapping) else {}
    response = entry.get("response")
    answer: Mapping[str, object] = response if isinstance(response, Mapping) else {}
    request_type, request_body = _posted(request.get("postData"))
    status = status_of(answer.get("status"))
    content = answer.get("content")
    response_body, encoded = _answered(content)
    response_headers = headers_of(answer.get("headers"))
    mime = content.get("mimeType") if isinstance(content, Mapping) else None
    started = nanoseconds(entry.get("startedDateTime"))
    connection = entry.get("connection")
    return RawCall(
        id=str(number),
        method=method_of(request.get("method")),
        url=url_of(request.get("url")),
        status=status,
        request_headers=with_content_type(headers_of(request.get("headers")), request_type),
        response_headers=with_content_type(
            response_headers if encoded else without_encoding(response_headers), mime
        ),
        request_body=request_body,
        response_body=response_body,
        started_ns=started,
        ended_ns=started + _duration_ns(entry.get("time")) if started else 0,
        side=Side.OUTBOUND,
        client=clean(connection) if isinstance(connection, str) else "",
        error="" if status is not None else _error(answer),
    )


def _posted(data: object) -> tuple[str, bytes]:
    """Return the content type and the body of a request."""
    if not isinstance(data, Mapping):
        return "", b""
    mime = data.get("mimeType")
    content_type = mime if isinstance(mime, str) else ""
    text = data.get("text")
    if isinstance(text, str) and text:
        is_base64 = data.get("encoding") == "base64"
        return content_type, base64_body(text) if is_base64 else text_body(text)
    params = data.get("params")
    pairs = headers_of(params) if isinstance(params, list) else ()
    return content_type or (_FORM if pairs else ""), urlencode(pairs).encode()


def _answered(content: object) -> tuple[bytes, bool]:
    """Return the body of an answer, and whether a content encoding is still on it."""
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str) or not isinstance(content, Mapping):
        return b"", False
    if content.get("encoding") != "base64":
        return text_body(text), False
    body = base64_body(text)
    # Some tools put into base64 what came over the wire, against the format.
    return body, body.startswith(_COMPRESSED)


def _duration_ns(milliseconds: object) -> int:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return 0
    return nanoseconds(milliseconds / 1000) if 0 < milliseconds < _LONGEST_MS else 0


def _error(answer: Mapping[str, object]) -> str:
    for key in ("_error", "statusText"):
        found = answer.get(key)
        if isinstance(found, str) and found:
            return clean(found)
    return ""

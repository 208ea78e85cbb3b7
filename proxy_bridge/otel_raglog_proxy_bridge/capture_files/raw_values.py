"""Values as capture files write them to what a raw call holds: URLs, headers, bodies, times.

No message quotes a value: whatever is read here may be a secret.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from otel_raglog_proxy_bridge.safety import Headers

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 9_000_000_000  # nanoseconds since the epoch fit into 63 bits until the year 2262
_LONGEST_BODY = 256 * 2**20
_STATUS = re.compile(r"\s*([0-9]{3})(?![0-9])")
_PAIR = 2


class BadCapture(Exception):
    """A file of captured calls that cannot be read at all; the text says why."""


class DamagedItem(Exception):
    """One item of a file that is no call; the text says why. The others can be read."""


class Note(str):
    """A sentence on a file in which all is well: something of no interest was left out."""

    __slots__ = ()


def clean(text: str) -> str:
    """Return ``text`` with lone surrogates, which no encoder takes, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def mapping_at(data: object, key: str) -> Mapping[str, object]:
    """Return the mapping at ``key``.

    Raises:
        DamagedItem: there is none.
    """
    found = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(found, Mapping):
        raise DamagedItem(f"it has no {key}")
    return found


def method_of(value: object) -> str:
    """Return the method in capitals.

    Raises:
        DamagedItem: ``value`` is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise DamagedItem("it has no method")
    return clean(value.strip().upper())


def url_of(value: object) -> str:
    """Return ``value``, an absolute URL of HTTP.

    Raises:
        DamagedItem: it is something else.
    """
    if not isinstance(value, str) or not value:
        raise DamagedItem("it has no URL")
    url = clean(value.strip())
    try:
        parts = urlsplit(url)
    except ValueError:
        raise DamagedItem("its URL cannot be taken apart") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise DamagedItem("its URL is not absolute, of http or https")
    return url


def status_of(value: object) -> int | None:
    """Return the status; ``None`` for none, for 0 and for -1, which say that no answer came.

    Raises:
        DamagedItem: ``value`` is something else.
    """
    if value is None or value in (0, -1, ""):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    found = _STATUS.match(str(value)) if isinstance(value, int | str) else None
    if found is None:
        raise DamagedItem("its status is no number of three digits")
    return int(found[1])


def headers_of(value: object) -> Headers:
    """Return the headers of a mapping (to a text or a list), of pairs, or of name-value objects."""
    if isinstance(value, Mapping):
        return tuple(_headers_in(list(value.items())))
    return tuple(_headers_in(value)) if isinstance(value, list | tuple) else ()


def _headers_in(entries: Sequence[object]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if isinstance(entry, Mapping):
            name, value = entry.get("name"), entry.get("value")
        elif isinstance(entry, list | tuple) and len(entry) == _PAIR:
            name, value = entry
        else:
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            key, text = _header_text(name), _header_text(each)
            if key and text is not None:
                yield key, text


def _header_text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str | int | float):
        return clean(str(value))
    return None


def without_encoding(headers: Headers) -> Headers:
    """Return ``headers`` of a body whose content encoding was undone already."""
    return tuple(pair for pair in headers if pair[0].lower() != "content-encoding")


def with_content_type(headers: Headers, content_type: object) -> Headers:
    """Return ``headers`` with a content type that was told elsewhere, where they have none."""
    if not isinstance(content_type, str) or not content_type:
        return headers
    if any(name.lower() == "content-type" for name, _ in headers):
        return headers
    return (*headers, ("content-type", clean(content_type)))


def text_body(text: str) -> bytes:
    """Return ``text`` as a body."""
    return text.encode("utf-8", "replace")


def json_body(data: object) -> bytes:
    """Return JSON data as a body; what JSON does not know, such as a date, becomes a text.

    Raises:
        DamagedItem: it contains itself, or is far too long written out.
    """
    encoder = json.JSONEncoder(ensure_ascii=False, default=str, skipkeys=True)
    pieces: list[str] = []
    length = 0
    try:
        for piece in encoder.iterencode(data):
            length += len(piece)
            if length > _LONGEST_BODY:
                raise DamagedItem("its body is too long")
            pieces.append(piece)
    except (ValueError, RecursionError):
        raise DamagedItem("its body is no JSON data") from None
    return text_body("".join(pieces))


def base64_body(value: object) -> bytes:
    """Return the bytes of a body in base64.

    Raises:
        DamagedItem: it is none.
    """
    if not isinstance(value, str | bytes):
        raise DamagedItem("its body is no base64")
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise DamagedItem("its body is no base64") from None


def nanoseconds(value: object) -> int:
    """Return nanoseconds since the epoch of seconds or an ISO 8601 text; 0 for anything else.

    A text without a zone is in UTC.
    """
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return _of_seconds(value)


def _of_seconds(seconds: float) -> int:
    if not 0 < seconds < _LAST_SECOND:
        return 0
    # A float of today's seconds is good to a microsecond; its further digits are noise.
    return round(seconds * 1_000_000) * 1000


def _of_text(text: str) -> int:
    try:
        return _of_seconds(float(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return 0
    microseconds = since // timedelta(microseconds=1)
    return microseconds * 1000 if 0 < microseconds < _LAST_SECOND * 1_000_000 else 0

"""Secrets that calls carry to the same values wherever they come back: in answers, later calls."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from otel_raglog_proxy_bridge.key_forms import MASK
from otel_raglog_proxy_bridge.secret_names import is_secret_header, is_secret_parameter

Headers = Iterable[tuple[str, str]]

_MOST = 64
"""So many values are remembered; those seen longest ago go first."""
_SHORTEST = 8
_LONGEST = 8192
_SHORTEST_COOKIE = 16
_SHORTEST_WORDS = 20
_PARTS = re.compile(r"[\s,;]+")
_QUOTES = "\"'"
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d(?:[T ][\d:.]*(?:Z|[+-][\d:]+)?)?")
_WORDS = re.compile(r"[A-Za-z]+(?:[ ._-][A-Za-z]+)*")
_NUMBER = re.compile(r"[-+\d.,:eE]+")
_NOT_CARRIED = frozenset({"xamzdate", "xamzalgorithm", "xamzsignedheaders", "xamzexpires"})
_FLEETING = frozenset({"code", "hmac", "otp", "pin", "session", "sid", "sig"})
"""Parameters that differ from call to call, or name a conversation: not looked for elsewhere."""


class CarriedSecrets:
    """Remembers the secrets that calls carried, in this process's memory alone, and masks them.

    Not thread-safe: one worker owns it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._written: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def note(self, values: Iterable[str]) -> None:
        """Remember those of ``values`` that are no ordinary words."""
        for value in values:
            if value in self._written:
                self._written.move_to_end(value)
            elif is_unmistakable(value):
                self._written[value] = _ways_to_write(value)
                if len(self._written) > self._most:
                    self._written.popitem(last=False)

    def mask(self, text: str) -> str:
        """Return ``text`` with every remembered value masked; JSON stays JSON."""
        found = [way for ways in self._written.values() for way in ways if way in text]
        if not found:
            return text
        found.sort(key=len, reverse=True)  # of two that begin alike the longer one
        return re.sub("|".join(map(re.escape, found)), _masked, text)


def is_unmistakable(value: str) -> bool:
    """Return whether ``value`` may be masked wherever it stands: it is no word, number or date."""
    if not _SHORTEST <= len(value) <= _LONGEST or value.strip() != value or MASK in value:
        return False
    if _NUMBER.fullmatch(value) or _DATE.fullmatch(value):
        return False
    return len(value) >= _SHORTEST_WORDS or _WORDS.fullmatch(value) is None


def of_headers(headers: Headers) -> Iterator[str]:
    """Yield the secrets in headers: what follows a scheme, values of cookies, keys."""
    for name, value in headers:
        lowered = name.lower()
        if "cookie" in lowered:
            yield from _of_cookies(value, several=lowered != "set-cookie")
        elif is_secret_header(lowered):
            yield from of_credentials(value)


def of_credentials(value: str) -> Iterator[str]:
    """Yield the secrets in the value of an ``Authorization`` header, with or without a scheme."""
    parts = [part for part in _PARTS.split(value.strip()) if part]
    if len(parts) > 1 and "=" in parts[1].rstrip("="):
        for part in parts[1:]:  # AWS4-HMAC-SHA256, Digest, OAuth
            name, _, inner = part.partition("=")
            if is_secret_parameter(name) or name.lower() == "response":
                yield inner.strip(_QUOTES)
        return
    for part in parts[1:] or parts:
        yield part
        if parts[0].lower() == "basic":
            yield from _of_basic(part)


def of_url(url: str, parameters: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the secrets in a URL: its user, and parameters whose name tells a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        name, colon, password = user.partition(":")
        yield unquote(password if colon else name)
    extra = {name.lower() for name in parameters}
    matrix = parts.path.replace("/", "&").replace(";", "&")
    for query in (parts.query.replace(";", "&"), parts.fragment, matrix):
        for name, value in parse_qsl(query):
            plain = re.sub(r"[^a-z0-9]", "", unquote(name).lower())
            if plain in _NOT_CARRIED or plain in _FLEETING or plain.endswith("signature"):
                continue
            if name.lower() in extra or is_secret_parameter(unquote(name)):
                yield value


def _of_cookies(value: str, *, several: bool) -> Iterator[str]:
    for pair in value.split(";") if several else [value.split(";", 1)[0]]:
        _, _, held = pair.strip().partition("=")
        if len(held) >= _SHORTEST_COOKIE and re.search(r"\d", held) and re.search("[A-Za-z]", held):
            yield held.strip(_QUOTES)


def _of_basic(part: str) -> Iterator[str]:
    try:
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return
    user, _, password = decoded.partition(":")
    yield decoded
    yield password or user


def _ways_to_write(value: str) -> tuple[str, ...]:
    """Return ``value`` as texts, JSON, JSON in JSON and URLs write it."""
    escaped = json.dumps(value)[1:-1]
    kept = json.dumps(value, ensure_ascii=False)[1:-1]
    ways = (
        value,
        escaped,
        kept,
        value.replace("/", "\\/"),
        json.dumps(escaped)[1:-1],
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
    )
    return tuple(dict.fromkeys(ways))


def _masked(found: re.Match[str]) -> str:
    """Return the mask; a letter that belongs to an escape before it stays, so that JSON stays."""
    before = found.string[max(0, found.start() - 64) : found.start()]
    if (len(before) - len(before.rstrip("\\"))) % 2 == 0 or found[0][0] == "\\":
        return MASK
    return f"u002a{MASK}" if found[0][0] == "u" else found[0][0] + MASK

"""URLs to the same URLs without credentials."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, unquote_plus, urlsplit, urlunsplit

from otel_raglog_proxy_bridge.masking import Patterns, mask_text
from otel_raglog_proxy_bridge.secret_formats import MASK
from otel_raglog_proxy_bridge.secret_names import Secrecy, is_secret_parameter, secrecy

_SAFE = "-._~!$'()*+,;=:@"
_RUN = re.compile(r"[A-Za-z0-9]{20,}+")
_BOT = re.compile(r"bot\d{6,}:[\w-]{10,}")
_LEAST_DIGITS = 2
_SIGNS = frozenset({"&", ";"})
_PARTS = re.compile("([&;])")
_MOST_DECODINGS = 3
_LONGEST = 8192


def mask_url(url: str, patterns: Patterns = (), parameters: frozenset[str] = frozenset()) -> str:
    """Return ``url`` with no user, no fragment, and masks for its secrets.

    Those are values of parameters whose name tells a secret (or is one of ``parameters``), parts
    of the path that look like keys or follow one that is named so, and what ``patterns`` find.
    Everything else stays as it is written; what is longer than 8,192 characters is cut.

    Raises:
        ValueError: ``url`` is none.
    """
    parts = urlsplit(url)
    masked = urlunsplit(
        (
            parts.scheme,
            parts.netloc.rpartition("@")[2],
            _path(parts.path, patterns, parameters),
            mask_query(parts.query, patterns, parameters),
            "",
        )
    )
    return mask_text(masked, patterns)[:_LONGEST]


def mask_query(
    query: str, patterns: Patterns = (), parameters: frozenset[str] = frozenset()
) -> str:
    """Return a query, or a form's body, with its secrets masked."""
    extra = {name.lower() for name in parameters}
    return "".join(
        part if part in _SIGNS else _pair(part, patterns, extra) for part in _PARTS.split(query)
    )


def _pair(pair: str, patterns: Patterns, extra: set[str]) -> str:
    name, equals, value = pair.partition("=")
    plain = _decoded(name)
    if value and (plain.lower() in extra or is_secret_parameter(plain)):
        return f"{_written(name, patterns)}={MASK}"
    return f"{_written(name, patterns)}{equals}{_written(value, patterns)}"


def _written(value: str, patterns: Patterns) -> str:
    """Return a part of a query with its secrets masked, as it was written where it has none."""
    plain = value
    for _ in range(_MOST_DECODINGS):
        plain, before = unquote_plus(plain), plain
        masked = mask_text(plain, patterns)
        if masked != plain:
            return quote(masked, safe="*")
        if plain == before:
            break
    return value


def _decoded(name: str) -> str:
    for _ in range(_MOST_DECODINGS):
        name = unquote_plus(name)
    return name


def _path(path: str, patterns: Patterns, parameters: frozenset[str]) -> str:
    written = []
    before = ""
    for part in path.split("/"):
        segment, semicolon, matrix = part.partition(";")
        plain = unquote(segment)
        masked = MASK if _is_key(plain, before) else mask_text(plain, patterns)
        written.append(segment if masked == plain else quote(masked, safe=_SAFE))
        if semicolon:
            written[-1] += f";{mask_query(matrix, patterns, parameters)}"
        before = plain
    return "/".join(written)


def _is_key(segment: str, before: str) -> bool:
    if not segment:
        return False
    if before.lower() == "key" or (
        before.lower() != "auth" and secrecy(before) is not Secrecy.NONE
    ):
        return True
    return _BOT.fullmatch(segment) is not None or any(map(_is_mixed, _RUN.findall(segment)))


def _is_mixed(run: str) -> bool:
    """Return whether capital letters, small ones and digits mix as in no word or hash."""
    return (
        sum(character.isdigit() for character in run) >= _LEAST_DIGITS
        and any(character.isupper() for character in run)
        and any(character.islower() for character in run)
    )

"""Where calls go to templates without ids: what two calls of one operation have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from otel_raglog_proxy_bridge.model import Exchange

_PLACE = "{id}"
_FIRST_EPHEMERAL_PORT = 32_768
"""Ports from here on are drawn anew at each start, so they say nothing."""
_MOST_CHARACTERS = 64
_MOST_DIGITS = 8
_PLAIN = re.compile(r"[A-Za-z0-9._:$~-]+")
_SEPARATORS = re.compile(r"[._:$~-]+")
_BEFORE_NAMES = frozenset(
    {"users", "people", "persons", "customers", "accounts", "contacts", "members", "patients",
     "tenants", "sessions", "emails", "tokens", "keys"}
)  # fmt: skip
"""Of these a record's own name comes next."""
_LONG_NUMBER = re.compile(r"\d{6,}")
_HEX = re.compile(r"(?=[a-f]*\d)[0-9a-f]{8,}", re.IGNORECASE)
_TURNS = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_HUMPS = re.compile(r"[a-z](?=[A-Z])")


def template_of(segments: Sequence[str]) -> str:
    """Return the path with ``{id}`` in place of each segment that is no plain name."""
    kept = [
        segment if is_plain(segment) and before.lower() not in _BEFORE_NAMES else _PLACE
        for before, segment in zip(("", *segments), segments, strict=False)
    ]
    return "/" + "/".join(kept)


def host_of(exchange: Exchange) -> str:
    """Return the host, with its port where that is named and lasting."""
    port = exchange.port
    if port is None or port >= _FIRST_EPHEMERAL_PORT:
        return exchange.host
    return f"{exchange.host}:{port}"


def path_matches(template: str, segments: Sequence[str]) -> bool:
    """Tell whether a path is of ``template``, whose ``{name}`` stands for any one segment."""
    wanted = [part for part in template.split("/") if part]
    return len(wanted) == len(segments) and all(
        is_place(part) or part == segment for part, segment in zip(wanted, segments, strict=True)
    )


def host_matches(pattern: str, exchange: Exchange) -> bool:
    """Tell whether a host is of ``pattern``: exact, or with ``*``; without a port any port will do."""
    wanted, host = pattern.lower(), exchange.host
    return fnmatchcase(host, wanted) or (
        exchange.port is not None and fnmatchcase(f"{host}:{exchange.port}", wanted)
    )


def is_place(part: str) -> bool:
    """Tell whether a template's segment stands for any."""
    return part.startswith("{") and part.endswith("}")


def is_plain(text: str) -> bool:
    """Tell whether ``text`` is a name that people gave: no id, number, long token or free text."""
    bare = text.lstrip("_@$")
    if len(text) > _MOST_CHARACTERS or not _PLAIN.fullmatch(bare):
        return False
    digits = sum(character.isdigit() for character in bare)
    if not any(character.isalpha() for character in bare) or digits > _MOST_DIGITS:
        return False
    return not any(_is_token(part) for part in _SEPARATORS.split(bare.replace("_", ".")))


def _is_token(part: str) -> bool:
    """Tell whether a part of a name looks drawn by a machine."""
    if _LONG_NUMBER.search(part) or _HEX.fullmatch(part):
        return True
    size = len(part)
    return (
        size >= 26  # noqa: PLR2004  no word of an API is that long
        or (size >= 12 and len(_TURNS.findall(part)) >= 3)  # noqa: PLR2004
        or (size >= 16 and (part.isupper() or len(_HUMPS.findall(part)) >= 5))  # noqa: PLR2004
    )

"""Tnetstrings, the serialization of mitmproxy's flow files, to Python values.

A value is ``LENGTH:PAYLOAD`` and a type: ``,`` bytes, ``;`` UTF-8 text, ``#`` whole number, ``^``
float, ``!`` boolean, ``~`` null, ``]`` list, ``}`` dictionary. A file holds one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LENGTH_DIGITS = 12
_NUMBER_DIGITS = 64
_DEEPEST = 32
_INTEGER = re.compile(rb"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Damage:
    """What stands where a value could not be read; ``rest_lost`` when none after it can be."""

    offset: int
    reason: str
    rest_lost: bool = False


class _NotOne(Exception):
    """A place in the content where no tnetstring is."""


def read_items(content: bytes) -> Iterator[object]:
    """Yield the values of ``content``, and a ``Damage`` in the place of each that is broken.

    A value that is broken inside costs itself alone. One whose length does not fit costs the rest,
    since the length tells where the next begins. Keys of dictionaries are text.
    """
    at = 0
    while at < len(content):
        try:
            start, stop = _bounds(content, at, len(content))
        except _NotOne as error:
            yield Damage(at, str(error), rest_lost=True)
            return
        try:
            item = _value(content, start, stop, 0)
        except _NotOne as error:
            yield Damage(at, str(error))
        else:
            yield item
        at = stop + 1


def _bounds(content: bytes, at: int, end: int) -> tuple[int, int]:
    """Return where the payload begins, and where it ends and its type stands."""
    colon = content.find(b":", at, min(at + _LENGTH_DIGITS + 1, end))
    if colon < 0 or not content[at:colon].isdigit():
        raise _NotOne(f"no length at byte {at}")
    start = colon + 1
    stop = start + int(content[at:colon])
    if stop >= end:
        raise _NotOne(f"cut short: {stop + 1 - at} bytes announced at byte {at}, {end - at} there")
    return start, stop


def _value(content: bytes, start: int, stop: int, depth: int) -> object:
    if depth > _DEEPEST:
        raise _NotOne(f"nested more than {_DEEPEST} deep at byte {start}")
    kind = content[stop : stop + 1]
    if kind == b"}":
        return _dictionary(content, start, stop, depth)
    if kind == b"]":
        return list(_members(content, start, stop, depth))
    return _scalar(kind, content[start:stop], start)


def _members(content: bytes, at: int, end: int, depth: int) -> Iterator[object]:
    while at < end:
        start, stop = _bounds(content, at, end)
        yield _value(content, start, stop, depth + 1)
        at = stop + 1


def _dictionary(content: bytes, start: int, stop: int, depth: int) -> dict[str, object]:
    members = _members(content, start, stop, depth)
    found: dict[str, object] = {}
    for key in members:
        if isinstance(key, bytes):
            key = key.decode("utf-8", "replace")  # noqa: PLW2901  as Python 2 wrote them
        if not isinstance(key, str):
            raise _NotOne(f"a key that is no text in the dictionary at byte {start}")
        try:
            found[key] = next(members)
        except StopIteration:
            raise _NotOne(f"a key without a value in the dictionary at byte {start}") from None
    return found


def _scalar(kind: bytes, payload: bytes, start: int) -> object:
    match kind:
        case b",":
            return payload
        case b";":
            return payload.decode("utf-8", "replace")
        case b"~" if not payload:
            return None
        case b"!" if payload in {b"true", b"false"}:
            return payload == b"true"
        case b"#" if len(payload) <= _NUMBER_DIGITS and _INTEGER.fullmatch(payload):
            return int(payload)
        case b"^" if len(payload) <= _NUMBER_DIGITS:
            try:
                return float(payload)
            except ValueError:
                pass
        case _:
            pass
    raise _NotOne(f"no value of type {kind.decode('ascii', 'replace')!r} at byte {start}")

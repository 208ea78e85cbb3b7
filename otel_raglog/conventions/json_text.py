"""Attribute values to plain text and plain JSON data, whatever shape they arrived in."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence

from otel_raglog.model import AttributeValue

MAX_DEPTH = 32
"""Nesting below which JSON is not looked into: deeper values are foreign data, not texts."""

MAX_LITERAL_CHARS = 20_000
"""Python literals longer than this are left as text: parsing them is slow."""

_JSON_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MEMBER = re.compile(r'\s*\{\s*(?P<key>"(?:[^"\\]|\\.)*")\s*:\s*')
_NEXT_MEMBER = re.compile(r'\s*,\s*(?P<key>"(?:[^"\\]|\\.)*")\s*:\s*')
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{"\]\d-])')


def parse_json(text: str) -> object | None:
    """Return the value of a JSON object or array, ``None`` when ``text`` is neither.

    Constants outside JSON (``NaN``, ``Infinity``) become ``None``; halves of surrogate
    pairs become U+FFFD, so that every string can be encoded again.
    """
    stripped = text.strip(_JSON_SPACE)
    if not stripped.startswith(("{", "[")):
        return None
    value: object
    try:
        value, end = _DECODER.raw_decode(stripped)
    except (ValueError, RecursionError):
        return None
    if end < len(stripped):
        return None
    may_hold_surrogates = "\\ud" in text or "\\uD" in text
    return _without_surrogates(value, 0) if may_hold_surrogates else value


def parse_json_or_literal(text: str) -> object | None:
    """Return a JSON object or array, or one written as a Python ``repr``, else ``None``."""
    value = parse_json(text)
    if value is not None or text.lstrip()[:1] not in {"{", "["} or len(text) > MAX_LITERAL_CHARS:
        return value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            literal: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return literal if isinstance(literal, dict | list) else None


def whole_members(text: str) -> dict[str, object]:
    """Return the members of a cut JSON object that came whole: those before the cut."""
    found: dict[str, object] = {}
    member = _MEMBER.match(text)
    while member is not None:
        try:
            value, end = _DECODER.raw_decode(text, member.end())
            key = _DECODER.decode(member["key"])
        except (ValueError, RecursionError):
            break
        found[key] = value
        member = _NEXT_MEMBER.match(text, end)
    safe = _without_surrogates(found, 0)
    return safe if isinstance(safe, dict) else {}


def looks_cut(text: str, *, declared_json: bool) -> bool:
    """Tell whether ``text`` is the beginning of JSON that no longer parses."""
    if not (_JSON_START.match(text) or (declared_json and text.lstrip()[:1] in {"{", "["})):
        return False
    closing = "}" if text.lstrip()[:1] == "{" else "]"
    if not declared_json and text.rstrip()[-1:] == closing:
        return False
    return parse_json_or_literal(text) is None


def as_text(value: AttributeValue) -> str | None:
    """Return a value as text: strings as they are, numbers as written, structures as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return json.dumps(as_data(value), ensure_ascii=False)


def as_data(value: object, depth: int = 0) -> object:
    """Return a decoded ``AnyValue`` as lists, dicts and scalars, as ``json.loads`` gives them."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(key): as_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_data(item, depth + 1) for item in value]
    return value


def strings_in(data: object, limit: int = 200) -> Iterator[str]:
    """Yield the strings of JSON data in order, looking into strings that are JSON themselves."""
    pending: list[tuple[object, int]] = [(data, 0)]
    seen = 0
    while pending and seen < limit:
        value, depth = pending.pop()
        seen += 1
        if isinstance(value, str):
            nested = parse_json(value)
            if nested is None:
                yield value
            else:
                value = nested
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, dict):
            pending.extend((item, depth + 1) for item in reversed(value.values()))
        elif isinstance(value, (list, tuple)):
            pending.extend((item, depth + 1) for item in reversed(value))


def as_number(value: object) -> float | None:
    """Return a finite number, also from its text form, else ``None``."""
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def as_count(value: object) -> int | None:
    """Return a non-negative whole number, else ``None``."""
    number = as_number(value)
    return int(number) if number is not None and number >= 0 else None


def _without_surrogates(value: object, depth: int) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {
            _SURROGATE.sub("\ufffd", str(key)): _without_surrogates(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_surrogates(item, depth + 1) for item in value]
    return value

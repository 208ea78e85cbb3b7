"""Texts that were written as JSON, whole or cut, to the texts."""

from __future__ import annotations

import json
import re

_ASKED = re.compile(
    r'\s*(?:\{\s*"\w+"\s*:\s*){0,2}\{\s*"(?:question|query|input|user_\w+|messages|chat_history)"'
)
_FIRST_TEXT = re.compile(r'\s*(?:\{\s*"(?:\w+)"\s*:\s*){0,3}"((?:[^"\\]|\\.)*)("?)', re.DOTALL)


def unquoted(text: str) -> str | None:
    """Return a text that was written as JSON, ``None`` when it was not."""
    stripped = text.strip()
    if len(stripped) < 2 or not (stripped.startswith('"') and stripped.endswith('"')):  # noqa: PLR2004  two quotes
        return None
    try:
        value: object = json.loads(stripped)
    except ValueError:
        return None
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def beginning_of_text(text: str, *, spoken: bool = True) -> tuple[str, bool]:
    """Return the text with which cut JSON begins, and whether it is whole; else an empty one.

    An output (not ``spoken``) that begins with what was asked is a whole state: the answer in it
    is lost.
    """
    match = _FIRST_TEXT.match(text)
    if match is None or not match[1] or (not spoken and _ASKED.match(text)):
        return "", False
    found = unquoted(f'"{match[1]}"')
    return (found or "", bool(match[2])) if found else ("", False)

"""Turns text into sentences."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"(?<=[.!?])[\"'”’)\]]{0,2}\s+(?=[\"'“‘(\[]{0,2}[A-Z0-9])|\n{1,}\s*")  # noqa: RUF001
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|no|vol|inc|ltd|co|u\.s|u\.k|[ap]\.m)\.$",
    re.IGNORECASE,
)
_LOOK_BACK = 12


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of ``text``, stripped, without empty ones; a line break ends one."""
    found: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        before = text[max(start, match.start() - _LOOK_BACK) : match.start()]
        if "\n" not in match.group() and _ABBREVIATION.search(before):
            continue
        found.append(text[start : match.start()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return tuple(sentence for sentence in found if sentence)

"""Turns text into sentences, by the sentencex library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import sentencex

_LINE = re.compile(r"[^\n]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ENUMERATION = re.compile(r"[\s(\[*]*(?:\d{1,3}|[a-z])[.)]\s*\Z", re.IGNORECASE)


class SentenceSpan(NamedTuple):
    """A sentence without white space around it, and where it begins and ends in its text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of ``text``, stripped, without empty ones; a line break ends one."""
    return tuple(span.text for span in sentence_spans(text))


def sentence_spans(text: str) -> tuple[SentenceSpan, ...]:
    """Return the sentences of ``text`` as :func:`sentences` does, with their places.

    Offsets count characters, the end excluded. A number of a list ("1.") belongs to what follows.
    """
    # A lone surrogate is no text for the library.
    readable = text if text.isascii() else _SURROGATE.sub("?", text)
    return tuple(
        span
        for line in _LINE.finditer(readable)
        for start, end in _of_line(line.group(), line.start())
        if (span := _stripped(text, start, end)).text
    )


def _of_line(line: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a line's sentences, white space included."""
    start: int | None = None
    for boundary in sentencex.get_sentence_boundaries("en", line):
        first, end = boundary["start_index"], boundary["end_index"]
        start = first if start is None else start
        if end < len(line) and _ENUMERATION.match(line[start:end]):
            continue
        yield at + start, at + end
        start = None


def _stripped(text: str, start: int, end: int) -> SentenceSpan:
    part = text[start:end]
    inner = part.strip()
    begin = start + len(part) - len(part.lstrip())
    return SentenceSpan(inner, begin, begin + len(inner))

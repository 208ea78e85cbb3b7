"""Pieces of text to whether a longer text holds them, fast where there are many of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED_CHARACTERS = 160
_FEWEST_CHARACTERS = 12
_LONGEST_LINE = 400
_MOST_LINES = 40
_MOST_WORDS = 4
_LETTERS_OF_A_SIGN = 3
_FIRST_SIGN = "\u2e80"
"""From here on scripts write a word in one or two signs."""

_MARKER = re.compile(r"^(?:[-*•>#]+|\(?\d{1,3}[.):])\s+")
_QUOTED = re.compile(r'"([^"\n]{3,400})"')
_AROUND = "\"'`«»“”[]{}()<> \t"


@dataclass(frozen=True, slots=True)
class Piece:
    """A plain text that is looked for. ``words`` are some of the whole words inside it."""

    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A plain text that pieces are looked for in, and its words: they rule most pieces out."""

    text: str = ""
    words: frozenset[str] = frozenset()

    def holds(self, piece: Piece) -> bool:
        """Whether ``piece`` is a part of the text."""
        return all(word in self.words for word in piece.words) and piece.text in self.text


def plain(text: str) -> str:
    """Return ``text`` in lower case with single spaces."""
    return " ".join(text.split()).lower()


def shown(text: str) -> Shown:
    """Return a plain ``text`` to look in."""
    return Shown(text, frozenset(text.split(" ")))


def piece_of(text: str) -> Piece:
    """Return a plain ``text`` to look for.

    The first and the last word may be parts of longer ones where the text is found, those between
    are not: they must be words there too. Those that few texts have are kept: long ones, numbers.
    """
    inside = sorted(text.split(" ")[1:-1], key=len, reverse=True)
    numbers = [word for word in inside if not word.isalpha()]
    return Piece(text, tuple(dict.fromkeys(numbers[:_MOST_WORDS] + inside[:_MOST_WORDS])))


def beginning(text: str) -> str:
    """Return the beginning of ``text``, plain: what a prompt that cuts texts still has."""
    return plain(text[: 2 * _COMPARED_CHARACTERS])[:_COMPARED_CHARACTERS]


def weight(text: str) -> int:
    """Return the length of ``text`` in letters; a sign of Chinese, say, counts as several."""
    if text.isascii():
        return len(text)
    return sum(_LETTERS_OF_A_SIGN if sign >= _FIRST_SIGN else 1 for sign in text)


def is_long(text: str) -> bool:
    """Whether the plain ``text`` has so many letters that it is not found just anywhere."""
    return weight(text) >= _FEWEST_CHARACTERS


def tells(text: str) -> bool:
    """Whether the plain ``text`` is long enough that finding it again means something."""
    return is_long(text) or text.count(" ") >= 2  # noqa: PLR2004  three words


def parts_of(text: str) -> frozenset[str]:
    """Return what may be a question in ``text``: short lines, what follows a colon, quotations.

    All plain, without list markers and quotation marks. Of many lines the first and the last.
    """
    lines = text.splitlines()
    if len(lines) > 2 * _MOST_LINES:
        lines = [*lines[:_MOST_LINES], *lines[-_MOST_LINES:]]
    found = (plain(part).strip(_AROUND) for line in lines for part in _parts_of_line(line))
    return frozenset(part for part in found if part)


def _parts_of_line(line: str) -> Iterator[str]:
    if len(line) > _LONGEST_LINE:
        return
    line = _MARKER.sub("", line.strip())
    yield line
    _, colon, rest = line.partition(": ")
    if colon:
        yield rest
    yield from _QUOTED.findall(line)

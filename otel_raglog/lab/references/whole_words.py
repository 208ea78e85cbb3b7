"""A text to its words, in which a number is one word, however many parts it is written in."""

from __future__ import annotations

import re

from otel_raglog.checks.text.lexicon import MULTIPLIERS, SMALL_NUMBERS, UNITS_OF_TEN
from otel_raglog.checks.text.words import fold

_INSIDE = r".,:/'\u2044\u2012-\u2015\u2212-"
"""What joins the digits of a number, a date, a time, a range."""
_WORD = re.compile(
    rf"(?:(?<![\w.,])[-\u2212]?\.?(?=\d))?[^\W_]+(?:(?<=\d)[{_INSIDE}](?=\d)[^\W_]+|'[^\W_]+)*"
)
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_FEW_DIGITS = re.compile(r"-?\d{1,3}(?: \d{3})*")
_THREE_DIGITS = re.compile(r"\d{3}(?:\.\d+)?")
_ORDINALS = frozenset(
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
)
_MULTIPLES = frozenset(f"{word}{end}" for word in MULTIPLIERS for end in ("", "s"))
_IN_WORDS = _ORDINALS | _MULTIPLES | SMALL_NUMBERS.keys() | UNITS_OF_TEN.keys()


def whole_words(text: str) -> tuple[str, ...]:
    """Return the folded words of ``text`` in order, a possessive ``'s`` removed.

    One word each are ``1.5 million``, ``3,500`` (as ``3500``), ``10-12``, ``-5``, ``22:15`` and
    ``one hundred and five`` (as ``one hundred five``): no part of a number is a number of its own.
    """
    found: list[str] = []
    folded = fold(text)
    end = 0
    for match in _WORD.finditer(folded):
        word = _plain(match.group())
        before, end = folded[end : match.start()], match.end()
        if before and before.strip() in {"", "-"} and _is_joined(found, word):
            if found[-1] == "and":
                found.pop()
            found[-1] = f"{found[-1]} {word}"
        else:
            found.append(word)
    return tuple(found)


def _plain(word: str) -> str:
    word = word.replace("\u2212", "-").removesuffix("'s")
    return word.replace(",", "") if _THOUSANDS.fullmatch(word) else word


def _is_joined(before: list[str], word: str) -> bool:
    """Tell whether ``word`` goes on with the number that stands before it."""
    *_, previous = ("", *before)
    last = previous.rpartition(" ")[2]
    if last == "and":
        number = before[-2].rpartition(" ")[2] if len(before) > 1 else ""
        return number in _MULTIPLES and word in _IN_WORDS - _MULTIPLES
    if last in _IN_WORDS:
        return word in _IN_WORDS
    if word in _MULTIPLES:
        return last[-1:].isdigit()
    return bool(_FEW_DIGITS.fullmatch(previous) and _THREE_DIGITS.fullmatch(word))

"""Plain text work that all examples share: sentences, names and numbers, passages."""

from __future__ import annotations

import re
from random import Random
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["date", "year", "number", "number word", "name", "phrase"]

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SENTENCE_BREAK = re.compile(r'(?<=[.!?])\s+(?=[A-Z0-9"\u201c(])')
_DATE = re.compile(
    rf"\b(?:(?:{_MONTHS}) \d{{1,2}}, \d{{4}}|\d{{1,2}} (?:{_MONTHS}) \d{{4}}|(?:{_MONTHS}) \d{{4}})\b"
)
YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b")
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
NAME = re.compile(r"\b[A-Z][\w'\u2019-]+(?:\s+(?:of|the|de|von|van|and|&)?\s*[A-Z][\w'\u2019-]+)*")
QUESTION_WORD = re.compile(
    r"^\s*(who|what|which|when|where|how many|how much|how long|how old|whose|why|how"
    r"|in what year|in which year)\b",
    re.IGNORECASE,
)
LEADING_AUXILIARY = re.compile(
    r"^(is|are|was|were|did|does|do|has|have|had|can|could|will|would)\b\s*", re.IGNORECASE
)
STOP_WORDS = frozenset(
    "a an the of in on at is are was were did does do who what which when where how many much to"
    " for and by with from it its that this as be has have had".split()
)
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty hundred".split()
)
_NO_NAMES = frozenset("The In It He She This A An On At As For However After When While".split())
_WINDOW_WORDS = 85
_MIN_CANDIDATE_LETTERS = 4
_PHRASES = 6


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, cut where a capital or a number follows a full stop."""
    return [sentence for sentence in _SENTENCE_BREAK.split(text) if sentence.strip()]


def capitalised(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """Return the text with its first letter in lower case."""
    return text[:1].lower() + text[1:]


def holds(text: str, part: str) -> bool:
    """Return whether ``part`` stands in the text, in any case."""
    return part.lower() in text.lower()


def overlap(one: str, other: str) -> bool:
    """Return whether one of the two stands in the other, in any case."""
    return holds(one, other) or holds(other, one)


def kind_of(answer: str) -> Kind:
    """Return what an answer is, so that a wrong one of the same kind can be found."""
    answer = answer.strip()
    if _DATE.search(answer):
        return "date"
    if YEAR.fullmatch(answer):
        return "year"
    if NUMBER.search(answer):
        return "number"
    if answer.lower() in _NUMBER_WORDS:
        return "number word"
    return "name" if NAME.match(answer) else "phrase"


def names_in(text: str) -> list[str]:
    """Return the names of a text: capitalised words, as far as they stand together."""
    return [
        name
        for name in NAME.findall(text)
        if len(name) >= _MIN_CANDIDATE_LETTERS and name.split()[0] not in _NO_NAMES
    ]


def candidates(text: str, kind: Kind, rng: Random) -> list[str]:
    """Return what stands in a text and could be an answer of that kind; phrases are drawn."""
    if kind == "date":
        return _DATE.findall(text)
    if kind == "year":
        return YEAR.findall(text)
    if kind == "number":
        return NUMBER.findall(text)
    if kind == "number word":
        return [word for word in re.findall(r"\b[a-z]+\b", text.lower()) if word in _NUMBER_WORDS]
    if kind == "name":
        return names_in(text)
    return _phrases(text, rng)


def _phrases(text: str, rng: Random) -> list[str]:
    """Return a few runs of one to four words."""
    all_words = text.split()
    found = []
    for _ in range(_PHRASES):
        length = rng.randint(1, 4)
        begin = rng.randrange(max(1, len(all_words) - length))
        found.append(" ".join(all_words[begin : begin + length]).strip('.,;:()"'))
    return [phrase for phrase in found if len(phrase) > _MIN_CANDIDATE_LETTERS]


def window(text: str, anchor: str | None, rng: Random) -> str:
    """Return at most 85 words of the text, drawn among those runs that hold ``anchor``."""
    all_words = text.split()
    if len(all_words) <= _WINDOW_WORDS:
        return text
    last = len(all_words) - _WINDOW_WORDS
    if anchor is None:
        begin = rng.randrange(last + 1)
    else:
        before = len(text[: text.lower().find(anchor.lower())].split())
        earliest = max(0, before + len(anchor.split()) - _WINDOW_WORDS)
        latest = min(before, last)
        begin = rng.randint(min(earliest, latest), max(earliest, latest))
        begin = max(0, min(begin, last))
    return " ".join(all_words[begin : begin + _WINDOW_WORDS])

"""Nouns of questions, and which of them may stand in for another without meaning the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from training.reader.texts import STOP_WORDS

_MIN_SEEN = 3
_NO_NOUNS = frozenset(
    "was is are did does the kind type sort other two three first last same one most best total"
    " main many much american british french german famous else making rest top three final".split()
)
_ALIKE = (
    "film movie motion picture",
    "kind type sort form",
    "country nation state land",
    "city town place location capital village",
    "author writer novelist poet",
    "company firm corporation business organization",
    "person man woman people actor actress player character name singer artist musician",
    "band group",
    "book novel work story",
    "song track single album record",
    "show series program programme",
    "school university college",
    "year date day time month period",
    "number amount total population",
    "war battle conflict",
    "term word name title",
    "region area district county province territory",
    "reason purpose cause",
    "job position profession occupation role",
    "newspaper magazine publication journal",
    "building house",
    "team club",
    "game match",
    "award prize",
)
_GROUPS: Mapping[str, frozenset[str]] = {
    word: frozenset(other for group in _ALIKE if word in group.split() for other in group.split())
    for group in _ALIKE
    for word in group.split()
}
"""Words that may mean the same, by each of them."""

_NOUN = re.compile(
    r"\b(?:what|which)\s+([a-z]{3,})\s+(?:is|was|are|were|did|does|do|has|have|won|of)\b"
    r"|\bthe\s+([a-z]{3,})\s+of\b",
    re.IGNORECASE,
)


def nouns_of(questions: Iterable[str]) -> tuple[str, ...]:
    """Return words that questions use as nouns, often ones first: "which game is", "the book of"."""
    seen = Counter(
        word.lower()
        for question in questions
        for found in _NOUN.findall(question)
        for word in found
        if word and word.lower() not in _NO_NOUNS and word.lower() not in STOP_WORDS
    )
    return tuple(word for word, times in seen.most_common() if times >= _MIN_SEEN)


def in_place_of(word: str, nouns: Sequence[str]) -> list[str]:
    """Return the nouns that mean something else than the word."""
    alike = _GROUPS.get(word.lower(), frozenset((word.lower(),)))
    return [noun for noun in nouns if noun not in alike and noun.rstrip("s") != word.rstrip("s")]

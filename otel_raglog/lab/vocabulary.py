"""Turns a corpus's texts into which words are specific there, which generic, which names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from otel_raglog.checks.text.words import WORD, fold, is_content, words

_SPECIFIC_SHARE = 0.004
_GENERIC_SHARE = 0.02
_FEW = 2
_MOSTLY = 0.75


class Vocabulary:
    """How often words occur in passages, and how often with a capital inside a sentence."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._passages = 0
        self._holding: Counter[str] = Counter()
        self._inside: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        for text in texts:
            self._passages += 1
            self._holding.update(set(words(text)))
            self._read_capitals(text)

    def _read_capitals(self, text: str) -> None:
        for match in WORD.finditer(text):
            before = text[max(0, match.start() - 2) : match.start()]
            if not before or before[0] in '.!?:\n"“(' or not match.group()[0].isalpha():
                continue
            word = fold(match.group()).removesuffix("'s")
            self._inside[word] += 1
            self._capital[word] += match.group()[0].isupper()

    def rarity(self, word: str) -> float:
        """Return the word's inverse document frequency, log((n + 1) / (passages with it + 1))."""
        return math.log((self._passages + 1) / (self._holding[word] + 1))

    def specific(self, word: str) -> bool:
        """Whether so few passages hold the word that it narrows what is asked."""
        most = max(_FEW, _SPECIFIC_SHARE * self._passages)
        return is_content(word) and self._holding[word] <= most

    def generic(self, word: str) -> bool:
        """Whether the word is in so many passages that it narrows nothing."""
        least = max(_FEW, _GENERIC_SHARE * self._passages)
        return not is_content(word) or self._holding[word] > least

    def name_like(self, word: str) -> bool:
        """Whether the corpus writes the word with a capital inside sentences."""
        seen = self._inside[word]
        return seen > 0 and self._capital[word] >= _MOSTLY * seen

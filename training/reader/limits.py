"""Cuts from a document what the reader reads whole: 25 to 75 words around the evidence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import lru_cache
from random import Random
from typing import NamedTuple

from tokenizers import Tokenizer

from training.reader.texts import Span

MAX_TOKENS = 160
MAX_TEXT_TOKENS = 64
"""What the service reads: of the text its last tokens, of the passage what is left of all."""

MARKS = 3
"""One token before the text, one behind it, one behind the passage."""

MIN_WORDS, MAX_WORDS = 25, 75
"""Of a passage; the service reads no longer ones."""


class Passage(NamedTuple):
    """A piece of a document, and where it begins there, in characters."""

    text: str
    begin: int


class Limits:
    """Keeps examples within what the service reads; ``dropped`` counts by reason what was not."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.dropped: Counter[str] = Counter()
        self._starts = lru_cache(maxsize=8)(self._starts_of)

    def tokens(self, text: str) -> int:
        """Return how many tokens the text has."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def room_beside(self, text: str) -> int:
        """Return how many tokens of a passage are read beside the text."""
        return MAX_TOKENS - MARKS - min(self.tokens(text), MAX_TEXT_TOKENS)

    def read_whole(self, text: str, passage: str, *, behind: str = "") -> bool:
        """Return whether text and passage are read whole; what is ``behind`` may be cut."""
        lead = f"{behind} " if behind else ""
        if self.tokens(text) > MAX_TEXT_TOKENS:
            return self._drop("text of more than 64 tokens")
        if self.tokens(passage) > self.room_beside(lead + text):
            return self._drop("passage too long beside its text")
        return True

    def _drop(self, reason: str) -> bool:
        self.dropped[reason] += 1
        return False

    def passage(
        self, document: str, evidence: Span | None, room: int, rng: Random
    ) -> Passage | None:
        """Return a run of words, drawn among those of a drawn length that hold the evidence.

        At most 75 words and ``room`` tokens. None if the evidence alone has more.
        """
        at = [Span(*match.span()) for match in re.finditer(r"\S+", document)]
        first, last = _words_of(evidence, at)
        if last - first > MAX_WORDS:
            self._drop("evidence of more than 75 words")
            return None
        length = min(len(at), max(rng.randint(MIN_WORDS, MAX_WORDS), last - first))
        if evidence is None:
            begin = rng.randint(0, len(at) - length)
            first, last = begin, begin + 1
        else:
            begin = rng.randint(max(0, last - length), min(first, len(at) - length))
        end = begin + length
        while self._tokens_between(document, at[begin].begin, at[end - 1].end) > room:
            if end > last and end - last >= first - begin:
                end -= 1
            elif begin < first:
                begin += 1
            else:
                self._drop("evidence of more tokens than are read")
                return None
        return Passage(document[at[begin].begin : at[end - 1].end], at[begin].begin)

    def _tokens_between(self, document: str, begin: int, end: int) -> int:
        starts = self._starts(document)
        return bisect_left(starts, end) - bisect_left(starts, begin)

    def _starts_of(self, document: str) -> list[int]:
        encoded = self._tokenizer.encode(document, add_special_tokens=False)
        return [start for start, _ in encoded.offsets]


def _words_of(evidence: Span | None, at: list[Span]) -> tuple[int, int]:
    """Return the first word of the evidence, and the one behind its last; ``at`` are all words."""
    if evidence is None:
        return 0, 0
    held = [
        i for i, word in enumerate(at) if word.end > evidence.begin and word.begin < evidence.end
    ]
    return held[0], held[-1] + 1

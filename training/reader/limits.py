"""Cuts from a document what the reader reads whole: sentences around the evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import lru_cache
from random import Random
from typing import NamedTuple

from tokenizers import Tokenizer

from training.reader.texts import Span, sentence_spans

MAX_TOKENS = 160
MAX_TEXT_TOKENS = 64
"""What the service reads: of the text its last tokens, of the passage what is left of all."""

MARKS = 3
"""One token before the text, one behind it, one behind the passage."""

MIN_WORDS, MAX_WORDS = 25, 75
"""Between these, the most words of a passage are drawn; the service packs sentences up to 75."""

_NEAR = 6
_BESIDE = 15
"""Words more than the evidence has, so that most passages hold something else, too."""


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
        self.tokens = lru_cache(maxsize=1000)(self._tokens_of)
        """How many tokens a text has."""

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

    def passage(self, document: str, evidence: Span, room: int, rng: Random) -> Passage | None:
        """Return the sentences with the evidence, and some of those before and behind it.

        At most as many words as drawn, and ``room`` tokens. None if the evidence alone has over 75
        words or does not fit.
        """
        spans = sentence_spans(document)
        touched = [s for s in spans if s.end > evidence.begin and s.begin < evidence.end]
        held = Span(touched[0].begin, touched[-1].end)
        count = _words_between(document, held)
        if count > MAX_WORDS:
            self._drop("evidence of more than 75 words")
            return None
        if self._tokens_between(document, held) > room:
            self._drop("evidence of more tokens than are read")
            return None
        most = rng.randint(min(MAX_WORDS, max(MIN_WORDS, count + _BESIDE)), MAX_WORDS)
        while wider := self._wider(document, held, most, room):
            held = rng.choice(wider)
        return Passage(document[held.begin : held.end], held.begin)

    def any_passage(
        self, document: str, kept: Span | None, count: int, room: int, rng: Random
    ) -> str:
        """Return sentences of a document with about ``count`` words: those kept, or any.

        At most 75 words and ``room`` tokens; fewer words where the document has no more.
        """
        spans = sentence_spans(document)
        short = [span for span in spans if _words_between(document, span) <= count]
        held = kept or _first_words(document, rng.choice(short or spans), count)
        while _words_between(document, held) < count - _NEAR and (
            wider := self._wider(document, held, MAX_WORDS, room)
        ):
            held = rng.choice(wider)
        return document[held.begin : held.end]

    def _wider(self, document: str, held: Span, most: int, room: int) -> list[Span]:
        """Return what is held with the sentence before it, and with the one behind it, if short."""
        spans = sentence_spans(document)
        before = [Span(s.begin, held.end) for s in spans if s.end <= held.begin][-1:]
        behind = [Span(held.begin, s.end) for s in spans if s.begin >= held.end][:1]
        return [
            span
            for span in (*before, *behind)
            if _words_between(document, span) <= most
            and self._tokens_between(document, span) <= room
        ]

    def _tokens_of(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _tokens_between(self, document: str, span: Span) -> int:
        starts = self._starts(document)
        return bisect_left(starts, span.end) - bisect_left(starts, span.begin)

    def _starts_of(self, document: str) -> list[int]:
        encoded = self._tokenizer.encode(document, add_special_tokens=False)
        return [start for start, _ in encoded.offsets]


def _words_between(document: str, span: Span) -> int:
    return len(document[span.begin : span.end].split())


def _first_words(document: str, span: Span, count: int) -> Span:
    text = document[span.begin : span.end]
    kept = " ".join(text.split()[:count])
    return Span(span.begin, span.begin + len(kept))

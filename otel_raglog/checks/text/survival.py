"""Turns a chunk and a rendered prompt into how much of the chunk survived in the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.checks.text.keeping import kept
from otel_raglog.checks.text.words import WORD, fold

_SHINGLE_WORDS = 6
_PREFIX_WORDS = 5
_INTACT = 0.97
_DROPPED = 0.15


class Fate(StrEnum):
    """What became of a chunk on its way into the prompt."""

    INTACT = "intact"
    REFORMATTED = "reformatted"
    TRUNCATED = "truncated"
    PARTIAL = "partial"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Survival:
    """A chunk's fate; ``kept`` is the share of its words in the prompt.

    ``lost_text`` is the part that is missing, in normalised words: the tail of a truncated
    chunk, all of a dropped one, else empty. ``position`` is where in the prompt the chunk
    begins, from 0 to 1, ``None`` when it cannot be told.
    """

    fate: Fate
    kept: float
    lost_text: str = ""
    position: float | None = None


class PromptText:
    """A rendered prompt, prepared to look up many chunks; linear in the prompt's length."""

    def __init__(self, prompt: str) -> None:
        self._plain = " ".join(prompt.split())
        self._words = _words(prompt)
        self._joined = f" {' '.join(self._words)} "
        self._shingles: frozenset[tuple[str, ...]] | None = None

    @staticmethod
    def of(prompt: str) -> PromptText:
        """Return a prompt prepared, kept for the next checks that look into it."""
        return _prepared(prompt)

    def survival(self, chunk: str) -> Survival:
        """Return what became of ``chunk``; white space and letter case never matter.

        Exact text is intact; the same words with other marks between them are reformatted; a
        beginning without the rest is truncated; otherwise the share of the chunk's shingles
        of six words decides between reformatted, partial and dropped.
        """
        plain = " ".join(chunk.split())
        if not plain:
            return Survival(Fate.INTACT, 1.0)
        at = self._plain.find(plain)
        if at >= 0:
            return Survival(Fate.INTACT, 1.0, position=at / max(1, len(self._plain)))
        return self._of_words(_words(chunk))

    def _of_words(self, words: tuple[str, ...]) -> Survival:
        prefix = self._longest_prefix(words)
        position = self._position(words[:prefix]) if prefix else None
        share = prefix / max(1, len(words))
        kept = max(share, self._shingle_share(words))
        if kept >= _INTACT:
            return Survival(Fate.REFORMATTED, kept, position=position)
        if kept < _DROPPED:
            return Survival(Fate.DROPPED, kept, " ".join(words))
        if prefix >= _PREFIX_WORDS and kept - share < _DROPPED:
            return Survival(Fate.TRUNCATED, kept, " ".join(words[prefix:]), position)
        return Survival(Fate.PARTIAL, kept, position=position)

    def _longest_prefix(self, words: tuple[str, ...]) -> int:
        """Return how many leading words stand in the prompt in one run; by bisection."""
        low, high = 0, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            if f" {' '.join(words[:middle])} " in self._joined:
                low = middle
            else:
                high = middle - 1
        return low if low >= min(_PREFIX_WORDS, len(words)) else 0

    def _position(self, words: tuple[str, ...]) -> float:
        at = self._joined.find(f" {' '.join(words)} ")
        return max(0, at) / max(1, len(self._joined))

    def _shingle_share(self, words: tuple[str, ...]) -> float:
        if self._shingles is None:
            self._shingles = frozenset(_shingles(self._words))
        wanted = _shingles(words)
        if not wanted:
            return 0.0
        return sum(shingle in self._shingles for shingle in wanted) / len(wanted)


@kept(texts=16, longest=50_000)
def _prepared(prompt: str) -> PromptText:
    return PromptText(prompt)


def _words(text: str) -> tuple[str, ...]:
    # Prompts that were serialised as JSON show line breaks as two characters.
    return tuple(WORD.findall(fold(text.replace("\\n", " ").replace("\\u2019", "'"))))


def _shingles(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    count = len(words) - _SHINGLE_WORDS + 1
    return [words[i : i + _SHINGLE_WORDS] for i in range(count)]

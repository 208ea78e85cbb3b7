"""Turns text into folded words, stems, and an index that finds related words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property, lru_cache

import snowballstemmer

from otel_raglog.checks.text.keeping import kept
from otel_raglog.checks.text.lexicon import SMALL_NUMBERS, STOPWORDS, UNITS_OF_TEN

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001  the typographic apostrophe is meant
_MARK = re.compile(r"[\u0300-\u036f]+")
_MANY_MARKS = re.compile(r"[^\w\s\x00-\x7f]{31,}")
"""May hold more marks on one letter than any text has: sorting them takes quadratic time."""

_CACHED_STEMS = 65_536
_LONGEST_STEMMED = 40
"""Characters; what is longer is no English word, and would fill the cache."""

_KEPT_TEXTS, _LONGEST_KEPT = 256, 8_000
_MIN_COMMON_PREFIX = 5
_LETTERS_OF_AN_ADJECTIVE = 3
_FIGURES = {
    **{word: str(value) for word, value in SMALL_NUMBERS.items()},
    **{word: f"{tens}0" for word, tens in UNITS_OF_TEN.items()},
}


def fold(text: str) -> str:
    """Return ``text`` without case and diacritics, with plain apostrophes."""
    if text.isascii():
        return text.casefold()
    plain = text.replace("\u2019", "'").replace("\u2018", "'")
    plain = _MANY_MARKS.sub(_without_marks, plain)
    return _MARK.sub("", unicodedata.normalize("NFKD", plain)).casefold()


def _without_marks(run: re.Match[str]) -> str:
    return "".join(sign for sign in run.group() if not unicodedata.combining(sign))


@kept(texts=_KEPT_TEXTS, longest=_LONGEST_KEPT)
def words(text: str) -> tuple[str, ...]:
    """Return the folded words of ``text`` in order, a possessive ``'s`` removed.

    Underscores and hyphens separate words, as search keywords use them for spaces.
    """
    folded = fold(text)
    found = WORD.findall(folded)
    return tuple(map(_without_possessive, found) if "'" in folded else found)


def stem(word: str) -> str:
    """Return the stem of a folded English word, by the Snowball (Porter 2) stemmer.

    That of a number in words (*four*, *ninety*) is its figure; that of a word of more than 40
    characters the word itself.
    """
    return _stemmed(word) if len(word) <= _LONGEST_STEMMED else word


@lru_cache(maxsize=_CACHED_STEMS)
def _stemmed(word: str) -> str:
    if word in _FIGURES:
        return _FIGURES[word]
    # A stemmer has state of its own, so each call makes one: words come from several threads.
    return str(snowballstemmer.stemmer("english").stemWord(word))


def content_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of ``text`` that are no stopwords, in order of appearance."""
    return tuple(dict.fromkeys(w for w in words(text) if is_content(w)))


def is_content(word: str) -> bool:
    """Whether a folded word carries content: no stopword, and no single letter."""
    return word not in STOPWORDS and (len(word) > 1 or word.isdigit())


class WordIndex:
    """The stems of a text, which tells whether a word or a related form of it occurs there.

    Related are words of one stem, and words whose common prefix is at least five
    letters and three quarters of the shorter stem (*critic*, *criticism*).
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = {word for text in texts for word in words(text)}
        self._stems = {stem(word) for word in self._words}

    @cached_property
    def _sorted(self) -> list[str]:
        """The longer stems, those that begin alike side by side."""
        return sorted(s for s in self._stems if len(s) >= _MIN_COMMON_PREFIX)

    @cached_property
    def _beginnings(self) -> dict[int, set[str]]:
        """What a longer word has to begin with to be related to one of the stems, by their length."""
        found: dict[int, set[str]] = {}
        for stemmed in self._sorted:
            length = len(stemmed)
            found.setdefault(length, set()).add(stemmed[: _needed(length)])
        return found

    @cached_property
    def _nouns(self) -> set[str]:
        """Of what the stems may be adjectives."""
        return {
            stemmed[:-letters]
            for stemmed in self._sorted
            for letters in range(1, _LETTERS_OF_AN_ADJECTIVE + 1)
        }

    @staticmethod
    def of(text: str) -> WordIndex:
        """Return the index of one text, kept for the next checks that ask for it."""
        return _indexed(text)

    def holds(self, word: str) -> bool:
        """Whether the word itself, or another form of its stem, occurs."""
        return word in self._words or stem(word) in self._stems

    def holds_related(self, word: str) -> bool:
        """Whether the word or a related one occurs."""
        stemmed = stem(word)
        if word in self._words or stemmed in self._stems:
            return True
        length = len(stemmed)
        if length < _MIN_COMMON_PREFIX:
            return False
        begin = stemmed[: _needed(length)]
        at = bisect_left(self._sorted, begin)
        if at < len(self._sorted) and self._sorted[at].startswith(begin):
            return True
        return any(
            stemmed[: _needed(other)] in begins
            for other, begins in self._beginnings.items()
            if other < length
        )

    def holds_name(self, word: str) -> bool:
        """Whether a name's word occurs, or as its adjective (*India*, *Indian*).

        Stricter than ``holds_related``: *Austria* is not *Australia*.
        """
        stemmed = stem(word)
        if word in self._words or stemmed in self._stems:
            return True
        if len(stemmed) < _MIN_COMMON_PREFIX:
            return False
        shorter = (stemmed[:-letters] for letters in range(1, _LETTERS_OF_AN_ADJECTIVE + 1))
        return stemmed in self._nouns or any(
            len(noun) >= _MIN_COMMON_PREFIX and noun in self._stems for noun in shorter
        )


@kept(texts=_KEPT_TEXTS, longest=_LONGEST_KEPT)
def _indexed(text: str) -> WordIndex:
    return WordIndex((text,))


def _needed(length: int) -> int:
    """Return how many first letters two stems share, of which the shorter has so many letters."""
    return max(_MIN_COMMON_PREFIX, -(-3 * length // 4))


def _without_possessive(word: str) -> str:
    return word.replace("\u2019", "'").removesuffix("'s")

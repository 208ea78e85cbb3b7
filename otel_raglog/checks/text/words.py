"""Turns text into folded words, stems, and an index that finds related words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache

import snowballstemmer

from otel_raglog.checks.text.lexicon import SMALL_NUMBERS, STOPWORDS, UNITS_OF_TEN

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001  the typographic apostrophe is meant
_MARK = re.compile(r"[\u0300-\u036f]+")
_BUCKET = 4
_CACHED_STEMS = 65_536
_CACHED_TEXTS, _LONGEST_CACHED = 256, 8_000
_MIN_COMMON_PREFIX = 5
_FIGURES = {
    **{word: str(value) for word, value in SMALL_NUMBERS.items()},
    **{word: f"{tens}0" for word, tens in UNITS_OF_TEN.items()},
}


def fold(text: str) -> str:
    """Return ``text`` without case and diacritics, with plain apostrophes."""
    if text.isascii():
        return text.casefold()
    plain = text.replace("\u2019", "'").replace("\u2018", "'")
    return _MARK.sub("", unicodedata.normalize("NFKD", plain)).casefold()


def words(text: str) -> tuple[str, ...]:
    """Return the folded words of ``text`` in order, a possessive ``'s`` removed.

    Underscores and hyphens separate words, as search keywords use them for spaces.
    """
    # The same chunks are read for several checks, and found by other questions again.
    return _split_again(text) if len(text) <= _LONGEST_CACHED else _split(text)


def _split(text: str) -> tuple[str, ...]:
    folded = fold(text)
    found = WORD.findall(folded)
    return tuple(map(_without_possessive, found) if "'" in folded else found)


_split_again = lru_cache(maxsize=_CACHED_TEXTS)(_split)


@lru_cache(maxsize=_CACHED_STEMS)
def stem(word: str) -> str:
    """Return the stem of a folded English word, by the Snowball (Porter 2) stemmer.

    That of a number in words (*four*, *ninety*) is its figure.
    """
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
    def _buckets(self) -> dict[str, list[str]]:
        """The longer stems by how they begin: where a related word would be."""
        found: dict[str, list[str]] = {}
        for stemmed in self._stems:
            if len(stemmed) >= _MIN_COMMON_PREFIX:
                found.setdefault(stemmed[:_BUCKET], []).append(stemmed)
        return found

    @classmethod
    def of(cls, text: str) -> WordIndex:
        """Return the index of one text, kept for the next checks that ask for it."""
        return _index_again(text) if len(text) <= _LONGEST_CACHED else cls((text,))

    def holds(self, word: str) -> bool:
        """Whether the word itself, or another form of its stem, occurs."""
        return word in self._words or stem(word) in self._stems

    def holds_related(self, word: str) -> bool:
        """Whether the word or a related one occurs."""
        stemmed = stem(word)
        if word in self._words or stemmed in self._stems:
            return True
        near = self._buckets.get(stemmed[:_BUCKET], ())
        return any(_share_prefix(stemmed, other) for other in near)

    def holds_name(self, word: str) -> bool:
        """Whether a name's word occurs, or as its adjective (*India*, *Indian*).

        Stricter than ``holds_related``: *Austria* is not *Australia*.
        """
        stemmed = stem(word)
        if word in self._words or stemmed in self._stems:
            return True
        near = self._buckets.get(stemmed[:_BUCKET], ())
        return any(_extends(stemmed, other) for other in near)


@lru_cache(maxsize=_CACHED_TEXTS)
def _index_again(text: str) -> WordIndex:
    return WordIndex((text,))


def _share_prefix(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    needed = max(_MIN_COMMON_PREFIX, -(-3 * shorter // 4))
    return one[:needed] == other[:needed] and shorter >= needed


def _extends(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    letters_of_an_adjective = 3
    return (
        len(short) >= _MIN_COMMON_PREFIX
        and long.startswith(short)
        and len(long) - len(short) <= letters_of_an_adjective
    )


def _without_possessive(word: str) -> str:
    return word.replace("\u2019", "'").removesuffix("'s")

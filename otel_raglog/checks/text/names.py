"""Turns text into the names it holds: runs of capitalised words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from otel_raglog.checks.text.keeping import kept
from otel_raglog.checks.text.lexicon import (
    GENERIC_NOUNS,
    MONTHS,
    NAME_JOINERS,
    QUESTION_WORDS,
    SENTENCE_OPENERS,
    STOPWORDS,
    WEEKDAYS,
)
from otel_raglog.checks.text.words import WORD, fold, words

_STARTS_SENTENCE = re.compile(r"(?:^|[.!?:;\n\"“(•*])[\s\"'“(\[-]*$")
_GAP_INSIDE_NAME = frozenset({" ", "-", ". ", " & ", "."})
_TITLE_CASE_SHARE = 0.8
_TITLE_CASE_WORDS = 6
_ACRONYM_LETTERS = 2


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, and its folded words without joining words such as *of*."""

    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    folded: str
    start: int
    end: int
    opens: bool
    """First word of a sentence."""

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper() and self.folded not in _NEVER_NAMES

    @property
    def acronym(self) -> bool:
        return len(self.text) >= _ACRONYM_LETTERS and self.text.isupper() and self.text.isalpha()


_NEVER_NAMES = frozenset({"i", "i'm", "i've", "i'd", "i'll", *MONTHS, *WEEKDAYS, *QUESTION_WORDS})


@kept(texts=256, longest=2_000)
def names(text: str) -> tuple[Name, ...]:
    """Return the distinct names of ``text`` in order of appearance.

    A single capitalised word that opens a sentence is no name, for its capital says nothing,
    unless it is an acronym. Text in lower case, in capitals or in title case has no names that
    could be told apart, and yields none.
    """
    tokens = tuple(_tokens(text))
    if not tokens or _cased_throughout(tokens):
        return ()
    return tuple(dict.fromkeys(_runs(tokens, text)))


def _tokens(text: str) -> Iterator[_Token]:
    for match in WORD.finditer(text):
        before = text[max(0, match.start() - 8) : match.start()]
        opens = match.start() == 0 or _STARTS_SENTENCE.search(before) is not None
        if opens and before.endswith(". ") and before[-4:-3] in {" ", "."}:
            opens = False  # an initial, as in "J. Smith"
        folded = fold(match.group())
        yield _Token(match.group(), folded.removesuffix("'s"), match.start(), match.end(), opens)


def _cased_throughout(tokens: tuple[_Token, ...]) -> bool:
    """Whether case says nothing: nearly every word, small ones too, is capitalised."""
    letters = [t for t in tokens if t.text[0].isalpha()]
    if len(letters) < _TITLE_CASE_WORDS:
        return len(letters) > _ACRONYM_LETTERS and all(t.text.isupper() for t in letters)
    return sum(t.text[0].isupper() for t in letters) >= _TITLE_CASE_SHARE * len(letters)


def _runs(tokens: tuple[_Token, ...], text: str) -> Iterator[Name]:
    index = 0
    while index < len(tokens):
        if not tokens[index].capitalised:
            index += 1
            continue
        end = _end_of_run(tokens, index, text)
        run = list(tokens[index:end])
        if run[0].opens and (run[0].folded in STOPWORDS or run[0].folded in SENTENCE_OPENERS):
            run = run[1:]
        while run and not run[0].capitalised:
            run = run[1:]
        lone_opener = len(run) == 1 and run[0].opens and not run[0].acronym
        if run and not lone_opener and any(_naming(t) for t in run):
            name = text[run[0].start : run[-1].end]
            yield Name(
                " ".join(name.split()),
                tuple(w for w in words(name) if w not in NAME_JOINERS and w not in STOPWORDS),
            )
        index = end


def _naming(token: _Token) -> bool:
    return token.folded not in STOPWORDS and token.folded not in GENERIC_NOUNS


def _end_of_run(tokens: tuple[_Token, ...], start: int, text: str) -> int:
    """Return the index after the last capitalised word that belongs to the run at ``start``."""
    end = start + 1
    index = start + 1
    while index < len(tokens):
        previous, token = tokens[index - 1], tokens[index]
        if token.opens or text[previous.end : token.start] not in _GAP_INSIDE_NAME:
            break
        if token.capitalised:
            end = index + 1
        elif token.folded not in NAME_JOINERS or not previous.capitalised:
            break
        index += 1
    return end

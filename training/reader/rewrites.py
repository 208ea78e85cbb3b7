"""Examples C: a question, a rewrite that keeps its meaning, and one that does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeAlias

from training.reader.corpora import Question
from training.reader.nouns import in_place_of, nouns_of
from training.reader.texts import (
    NUMBER,
    QUESTION_WORD,
    STOP_WORDS,
    YEAR,
    names_in,
    normalised,
    replaced,
    uncapitalised,
    words,
)
from training.reader.values import another_number

_QUALIFIERS = (
    "in the United States",
    "in Europe",
    "in Japan",
    "for beginners",
    "for the first time",
    "for the second time",
    "before 1990",
    "after 2015",
    "for women",
    "in California",
    "on average",
    "per year",
)
_YEAR_STEPS = (-10, -3, -1, 1, 2, 7)
_ASKED = ("who", "when", "where", "why", "how many", "how")
_ALIKE_ASKED = {
    "in what year": {"when"},
    "in which year": {"when"},
    "how much": {"how many"},
    "what": {"who", "when", "where"},
    "which": {"who", "when", "where"},
    "whose": {"who"},
}
"""What may ask for the same as another question word: "which director", "what year"."""

_LIGHT = frozenset(
    "called named known located considered famous different various about which there their would"
    " could should other these those being really actually exactly currently".split()
)
"""Long words whose loss may change nothing."""

_NAME_QUESTIONS, _WORD_QUESTIONS = 4000, 3000
_LONG_WORD_LETTERS = 4
_MIN_LONG_WORDS = 2
_MIN_WORDS_LEFT = 4
_MIN_GOLD_LETTERS = 12
_SAME_WORDS_SHARE = 0.6
_PAIR_SHARE, _QUESTION_SHARE = 0.5, 0.4

Change: TypeAlias = Callable[[], str]


class Recorded(NamedTuple):
    """A rewrite that a model wrote, beside the one that people wrote."""

    gold: str
    rewrite: str
    exact: bool


class RewritePair(NamedTuple):
    """A question, a rewrite of the same meaning, and a rewrite of another one."""

    question: str
    same: str
    other: str


@dataclass(frozen=True)
class Vocabulary:
    """Names, words and nouns that stand in for others."""

    names: Sequence[str]
    words: Sequence[str]
    nouns: Sequence[str]


def vocabulary_of(questions: Sequence[Question]) -> Vocabulary:
    """Return names of the first documents, long words of the first questions, nouns of all."""
    return Vocabulary(
        [name for q in questions[:_NAME_QUESTIONS] for name in names_in(q.document)[:2]],
        [word for q in questions[:_WORD_QUESTIONS] for word in _long_words(q.text)],
        nouns_of(q.text for q in questions),
    )


def rewrite_pairs(
    recorded: Iterable[Recorded], questions: Sequence[Question], rng: Random
) -> list[RewritePair]:
    """Return the examples C: of recorded rewrites first, then of questions."""
    vocabulary = vocabulary_of(questions)
    pairs: list[RewritePair] = []
    for row in recorded:
        pairs += _of_recorded(row, vocabulary, rng)
    for question in questions:
        if rng.random() < _QUESTION_SHARE:
            same = paraphrased(question.text, rng)
            base = same if rng.random() < _SAME_WORDS_SHARE else question.text
            pairs.append(RewritePair(question.text, same, changed(base, vocabulary, rng)))
    return [pair for pair in pairs if keeps_apart(pair)]


def keeps_apart(pair: RewritePair) -> bool:
    """Return whether the other rewrite has other words than both question and rewrite."""
    question, same, other = (normalised(text.replace("_", " ")) for text in pair)
    return other not in {question, same}


def _of_recorded(row: Recorded, vocabulary: Vocabulary, rng: Random) -> list[RewritePair]:
    """Return up to two pairs: one by rule, one around a model's own close paraphrase."""
    gold, rewrite = row.gold, row.rewrite
    if len(gold) < _MIN_GOLD_LETTERS:
        return []
    pairs = []
    exact = bool(rewrite) and row.exact and rewrite != gold
    same = rewrite if exact else paraphrased(gold, rng)
    other = changed(gold if rng.random() < _PAIR_SHARE else same, vocabulary, rng)
    if rng.random() < _PAIR_SHARE:
        pairs.append(RewritePair(gold, same, other))
    if not row.exact and rewrite and _keeps_meaning(gold, rewrite):
        pairs.append(RewritePair(gold, rewrite, changed(rewrite, vocabulary, rng)))
    return pairs


def _keeps_meaning(gold: str, rewrite: str) -> bool:
    """Return whether a model's rewrite has most words of the gold one, and all of its facts.

    No name, number or year is lost or added, and both ask with the same word. Where the gold
    rewrite shows no names, as in lower case, no content word may be lost.
    """
    ours, theirs = set(words(gold)) - STOP_WORDS, set(words(rewrite)) - STOP_WORDS
    if not ours or len(ours & theirs) / len(ours | theirs) <= _SAME_WORDS_SHARE:
        return False
    if _asked_word(gold) != _asked_word(rewrite) or _numbers(gold) != _numbers(rewrite):
        return False
    lost, added = _name_words(gold) - theirs, _name_words(rewrite) - ours
    return not lost and not added and (bool(_name_words(gold)) or ours <= theirs)


def _asked_word(text: str) -> str:
    asked = QUESTION_WORD.match(text)
    return asked.group(1).lower() if asked else ""


def _numbers(text: str) -> set[str]:
    return {word for word in words(text) if any(letter.isdigit() for letter in word)}


def _name_words(text: str) -> set[str]:
    return {word for name in names_in(text) for word in words(name)} - STOP_WORDS


def _long_words(text: str, begin: int = 0) -> list[str]:
    return [
        word
        for word in text.rstrip("?").split()[begin:]
        if len(word) > _LONG_WORD_LETTERS and word.lower() not in _LIGHT
    ]


def paraphrased(question: str, rng: Random) -> str:
    """Return a rewrite that keeps the meaning, by one of five rules."""
    form = rng.random()
    content = " ".join(w for w in question.rstrip("?").split() if w.lower() not in STOP_WORDS)
    if form < 0.4:  # shares of the rules, cumulated
        return content or question
    if form < 0.55:
        return question.lower()
    if form < 0.7:
        return f"information about {content}"
    if form < 0.85:
        return question.rstrip("?").strip() + ("" if question.endswith("?") else "?")
    return f"I want to know {uncapitalised(question).rstrip('?')}"


def changed(text: str, vocabulary: Vocabulary, rng: Random) -> str:
    """Return the text with one change of meaning, drawn among those that it allows.

    Some changes find nothing to change; then the text itself comes back.
    """
    changes = [
        *_number_changes(text, rng),
        *_name_changes(text, vocabulary, rng),
        *_question_word_changes(text, rng),
        lambda: _narrowed(text, rng),
        *_word_changes(text, vocabulary, rng),
        *_noun_changes(text, vocabulary, rng),
        lambda: re.sub(r"\b(is|are|was|were|did|does|do|can)\b", r"\1 not", text, count=1),
    ]
    return rng.choice(changes)()


def _number_changes(text: str, rng: Random) -> list[Change]:
    """Another year, no year, another number."""
    changes: list[Change] = []
    years = YEAR.findall(text)
    if years:
        year = years[0]
        changes += [
            lambda: replaced(text, year, str(int(year) + rng.choice(_YEAR_STEPS))),
            lambda: re.sub(rf"\s*\b(in|of|since|for)?\s*\b{year}\b", "", text),
        ]
    numbers = [number for number in NUMBER.findall(text) if number not in years]
    if numbers:
        changes.append(lambda: replaced(text, numbers[0], another_number(numbers[0], rng)))
    return changes


def _name_changes(text: str, vocabulary: Vocabulary, rng: Random) -> list[Change]:
    """Another name (twice as likely), no name."""
    names = names_in(text)
    if not names:
        return []
    name = rng.choice(names)
    changes: list[Change] = [lambda: replaced(text, name, rng.choice(vocabulary.names))] * 2
    if len(text.split()) - len(name.split()) > _MIN_WORDS_LEFT:
        changes.append(lambda: " ".join(replaced(text, name, "").split()))
    return changes


def _question_word_changes(text: str, rng: Random) -> list[Change]:
    """Another question word, but none that may ask for the same."""
    asked = QUESTION_WORD.match(text)
    if not asked:
        return []
    word = asked.group(1).lower()
    others = [
        other for other in _ASKED if other != word and other not in _ALIKE_ASKED.get(word, ())
    ]
    return [lambda: rng.choice(others) + text[asked.end() :]]


def _narrowed(text: str, rng: Random) -> str:
    """Return the text with a qualifier or a year behind it."""
    qualifier = rng.choice(
        [
            rng.choice(_QUALIFIERS),
            f"in {rng.randint(1950, 2025)}",
            f"in {rng.randint(2010, 2025)}",
        ]
    )
    return f"{text.rstrip('?').strip()} {qualifier}" + ("?" if text.endswith("?") else "")


def _word_changes(text: str, vocabulary: Vocabulary, rng: Random) -> list[Change]:
    """A long word less, or another one in its place; never one of the first two words."""
    long_words = _long_words(text, 2)
    if len(long_words) <= _MIN_LONG_WORDS:
        return []
    chosen = rng.choice(long_words)
    return [
        lambda: " ".join(word for word in text.split() if word.strip("?") != chosen),
        lambda: " ".join(
            rng.choice(vocabulary.words) if word.strip("?") == chosen else word
            for word in text.split()
        ),
    ]


def _noun_changes(text: str, vocabulary: Vocabulary, rng: Random) -> list[Change]:
    """Another noun in the place of one, such as "book" for "game"."""
    nouns = [word for word in text.rstrip("?").split() if word in vocabulary.nouns]
    if not nouns:
        return []
    noun = rng.choice(nouns)
    others = in_place_of(noun, vocabulary.nouns)
    return [lambda: replaced(text, noun, rng.choice(others))] if others else []

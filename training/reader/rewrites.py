"""Examples C: a question, a rewrite that keeps its meaning, and one that does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeAlias

from training.reader.corpora import Question
from training.reader.texts import (
    NUMBER,
    QUESTION_WORD,
    STOP_WORDS,
    YEAR,
    names_in,
    uncapitalised,
    words,
)

_QUALIFIERS = (
    "first",
    "last",
    "current",
    "maximum",
    "minimum",
    "official",
    "average",
    "annual",
    "new",
    "original",
    "in the United States",
    "in Europe",
    "for beginners",
    "today",
    "before 1990",
    "after 2015",
    "for women",
    "in California",
    "non-",
)
_YEAR_STEPS = (-10, -3, -1, 1, 2, 7)
_ASKED = ("who", "when", "where", "why", "how many", "how")
_NAME_QUESTIONS, _WORD_QUESTIONS = 4000, 3000
_LONG_WORD_LETTERS = 4
_MIN_LONG_WORDS = 2
_MIN_WORDS_LEFT = 4
_MIN_GOLD_LETTERS = 12
_SAME_WORDS_SHARE = 0.6
_PAIR_SHARE, _QUESTION_SHARE = 0.5, 0.4

Change: TypeAlias = Callable[[], str]


class RewritePair(NamedTuple):
    """A question, a rewrite of the same meaning, and a rewrite of another one."""

    question: str
    same: str
    other: str


@dataclass(frozen=True)
class Vocabulary:
    """Names and words that stand in for others."""

    names: Sequence[str]
    words: Sequence[str]


def vocabulary_of(questions: Sequence[Question]) -> Vocabulary:
    """Return names of the first documents and long words of the first questions."""
    return Vocabulary(
        [name for q in questions[:_NAME_QUESTIONS] for name in names_in(q.document)[:2]],
        [word for q in questions[:_WORD_QUESTIONS] for word in _long_words(q.text)],
    )


def rewrite_pairs(
    rewrites: Iterable[dict[str, Any]], questions: Sequence[Question], rng: Random
) -> list[RewritePair]:
    """Return the examples C: of recorded rewrites first, then of questions."""
    vocabulary = vocabulary_of(questions)
    pairs: list[RewritePair] = []
    for row in rewrites:
        pairs += _of_recorded(row, vocabulary, rng)
    for question in questions:
        if rng.random() < _QUESTION_SHARE:
            same = paraphrased(question.text, rng)
            base = same if rng.random() < _SAME_WORDS_SHARE else question.text
            other = changed(base, vocabulary, rng)
            if other not in {same, question.text}:
                pairs.append(RewritePair(question.text, same, other))
    return pairs


def _of_recorded(row: dict[str, Any], vocabulary: Vocabulary, rng: Random) -> list[RewritePair]:
    """Return up to two pairs: one by rule, one around a model's own close paraphrase."""
    gold, rewrite = row.get("gold_rewrite"), row["rewrite"]
    if not gold or len(gold) < _MIN_GOLD_LETTERS:
        return []
    pairs = []
    exact = bool(rewrite) and row["exact"] and rewrite != gold
    same = rewrite if exact else paraphrased(gold, rng)
    other = changed(gold if rng.random() < _PAIR_SHARE else same, vocabulary, rng)
    if other not in {gold, same} and rng.random() < _PAIR_SHARE:
        pairs.append(RewritePair(gold, same, other))
    if not row["exact"] and rewrite and _nearly_same_words(gold, rewrite):
        other = changed(rewrite, vocabulary, rng)
        if other != rewrite:
            pairs.append(RewritePair(gold, rewrite, other))
    return pairs


def _nearly_same_words(gold: str, rewrite: str) -> bool:
    ours, theirs = set(words(gold)) - STOP_WORDS, set(words(rewrite)) - STOP_WORDS
    return bool(ours) and len(ours & theirs) / len(ours | theirs) > _SAME_WORDS_SHARE


def _long_words(text: str, begin: int = 0) -> list[str]:
    return [word for word in text.rstrip("?").split()[begin:] if len(word) > _LONG_WORD_LETTERS]


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
            lambda: text.replace(year, str(int(year) + rng.choice(_YEAR_STEPS))),
            lambda: re.sub(rf"\s*(in|of|since|for)?\s*{year}", "", text),
        ]
    numbers = [number for number in NUMBER.findall(text) if number not in years]
    if numbers:
        changes.append(lambda: text.replace(numbers[0], str(rng.randint(2, 99)), 1))
    return changes


def _name_changes(text: str, vocabulary: Vocabulary, rng: Random) -> list[Change]:
    """Another name (twice as likely), no name."""
    names = [n for n in names_in(text) if not text.startswith(n) or len(n.split()) > 1]
    if not names:
        return []
    name = rng.choice(names)
    changes: list[Change] = [lambda: text.replace(name, rng.choice(vocabulary.names))] * 2
    if len(text.split()) - len(name.split()) > _MIN_WORDS_LEFT:
        changes.append(lambda: " ".join(text.replace(name, "").split()))
    return changes


def _question_word_changes(text: str, rng: Random) -> list[Change]:
    asked = QUESTION_WORD.match(text)
    if not asked:
        return []
    others = [word for word in _ASKED if word != asked.group(1).lower()]
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

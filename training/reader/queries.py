"""Examples G: a question as the search queries that models write, and with one thing changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from training.reader.nouns import in_place_of, nouns_of
from training.reader.rewrites import RewritePair, keeps_apart
from training.reader.texts import (
    LEADING_AUXILIARY,
    QUESTION_WORD,
    STOP_WORDS,
    YEAR,
)
from training.reader.values import another_number

_MAX_WORDS = 14
_MIN_CONTENT = 3
_SHARE = 0.75
_ASKED_SHARE, _ADDED_SHARE, _PHRASE_SHARE = 0.4, 0.5, 0.6
_GLUED_SHARE, _HYPHEN_SHARE = 0.3, 0.6
_YEAR_STEPS = (-10, -3, -1, 1, 2, 7)
_ASKED_FOR: Mapping[str, str] = {
    "who": "person",
    "when": "date",
    "where": "location",
    "why": "reason",
    "how many": "number",
    "how long": "duration",
    "how old": "age",
}
"""What a query may say in place of a question word."""

_NEUTRAL = ("info", "information", "details", "facts", "explained", "answer")
"""Words that ask for nothing else."""

_SUBJECTS = (
    "music football cricket chess physics chemistry biology law economics politics fashion"
    " mythology astronomy medicine literature painting cinema baseball tennis poetry"
).split()
_SCOPES = (
    "for children",
    "for beginners",
    "in europe",
    "in africa",
    "in canada",
    "in the us",
    "worldwide",
    "before 1900",
    "after 2010",
    "during world war ii",
)
_EMPTY = frozenset("there any some their his her your my our i you or".split())
"""Words that a query leaves out, beside stop words."""

_LIGHT = frozenset(
    "famous well known called named popular various different certain specific particular same both"
    " following whole entire large great real actual own such other more most very also".split()
)
"""Words whose loss may change nothing."""

Tokens: TypeAlias = list[str]
Change: TypeAlias = Callable[[], Tokens]


@dataclass(frozen=True)
class Query:
    """A question as content words, with the nouns that may stand in for one of them.

    ``modifiers``: places of words that stand right before a noun; ``asked``: the question word.
    """

    tokens: Tokens
    modifiers: Sequence[int]
    nouns: Mapping[int, Sequence[str]]
    asked: str | None


def query_pairs(questions: Sequence[str], rng: Random) -> list[RewritePair]:
    """Return at most a pair of each of three quarters of the questions that are short enough.

    Words come from the questions themselves: the changed query is about as likely as the other.
    """
    nouns = nouns_of(questions)
    pairs: list[RewritePair] = []
    for question in questions:
        if rng.random() < _SHARE and len(question.split()) <= _MAX_WORDS:
            query = _query(question, nouns)
            if len(query.tokens) >= _MIN_CONTENT:
                pairs += _pair(question, query, rng)
    return pairs


def _query(question: str, nouns: Sequence[str]) -> Query:
    """Return the question's content words, in order, without what only asks."""
    asked = QUESTION_WORD.match(question)
    rest = question[asked.end() :].strip() if asked else question
    rest = LEADING_AUXILIARY.sub("", re.sub(r"^['\u2019]s\b\s*", "", rest))
    known = frozenset(nouns)
    raw = [word.strip("?.,:;!\"'()\u201c\u201d") for word in rest.split()]
    kept = [i for i, word in enumerate(raw) if word and word.lower() not in STOP_WORDS | _EMPTY]
    place = {i: n for n, i in enumerate(kept)}
    modifiers = [
        place[i]
        for i in kept
        if i + 1 in place
        and raw[i + 1].lower() in known
        and raw[i].lower() not in _LIGHT | known
        and not raw[i].isdigit()
        and not _is_named(raw, i + 2)
    ]
    tokens = [re.sub(r"['\u2019]s$", "", raw[i]).lower() for i in kept]
    exchangeable = {
        place[i]: in_place_of(raw[i], nouns)
        for i in kept
        if raw[i].lower() in known and raw[i].islower()
    }
    return Query(tokens, modifiers, exchangeable, asked.group(1).lower() if asked else None)


def _is_named(raw: Sequence[str], place: int) -> bool:
    """Return whether a name stands there: what stands before it only says more of it."""
    return place < len(raw) and raw[place][:1].isupper()


def _pair(question: str, query: Query, rng: Random) -> list[RewritePair]:
    """Return at most one pair: both sides have the same form."""
    changes = _changes(query, rng)
    if not changes:
        return []
    same, other = query.tokens, rng.choice(changes)()
    neutral = [rng.choice(_NEUTRAL)]
    if len(other) <= len(same) and rng.random() < _ADDED_SHARE / 2:
        same, other = [*same, *neutral], [*other, *neutral]
    elif len(other) > len(same) and rng.random() < _ADDED_SHARE:
        same = [*same, *neutral]  # so that the length does not tell that a phrase was added
    asked = _ASKED_FOR.get(query.asked or "")
    if asked and rng.random() < _ASKED_SHARE:
        same, other = [*same, asked], [*other, asked]
    join = _joint(rng)
    pair = RewritePair(question, join(same), join(other))
    return [pair] if keeps_apart(pair) else []


def _changes(query: Query, rng: Random) -> list[Change]:
    """One word exchanged or dropped, a phrase added, another number or year."""
    tokens = query.tokens
    changes: list[Change] = []
    if rng.random() < _PHRASE_SHARE:  # every question allows it: not most pairs should differ so
        changes.append(lambda: _with_phrase(tokens, rng))
    for place, others in query.nouns.items():
        if others:
            changes += [
                lambda place=place, others=others: [
                    *tokens[:place],
                    rng.choice(others),
                    *tokens[place + 1 :],
                ]
            ] * 2
    if query.modifiers and len(tokens) > _MIN_CONTENT:
        place = rng.choice(query.modifiers)
        changes += [lambda: [*tokens[:place], *tokens[place + 1 :]]] * 2
    numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
    if numbers:
        changed = rng.choice(numbers)
        changes += [
            lambda: [
                *tokens[:changed],
                _other_number(tokens[changed], rng),
                *tokens[changed + 1 :],
            ],
            lambda: [*tokens[:changed], *tokens[changed + 1 :]],
        ]
    return changes


def _other_number(number: str, rng: Random) -> str:
    if YEAR.fullmatch(number):
        return str(int(number) + rng.choice(_YEAR_STEPS))
    return another_number(number, rng)


def _with_phrase(tokens: Tokens, rng: Random) -> Tokens:
    """Return the words with a phrase that asks for less, or for something else."""
    phrase = rng.choice(
        [
            f"in {rng.choice(_SUBJECTS)}",
            rng.choice(_SCOPES),
            f"{rng.randint(1985, 2025)} edition",
            f"in {rng.randint(1950, 2025)}",
        ]
    )
    return [*tokens, *phrase.split()]


def _joint(rng: Random) -> Callable[[Tokens], str]:
    """Return one way, drawn, to join words: spaces, hyphens, underscores, mixed, partly glued."""
    form, seed = rng.random(), rng.getrandbits(32)
    if form < 0.4:  # shares of the ways, cumulated
        return " ".join
    if form < 0.6:
        return "-".join
    if form < 0.72:
        return "_".join
    gap, share = ("", _GLUED_SHARE) if form < 0.86 else ("-", _HYPHEN_SHARE)

    def join(tokens: Tokens) -> str:
        drawn = Random(seed)
        gaps = [gap if drawn.random() < share else " " for _ in tokens[1:]]
        return "".join(a + b for a, b in zip(tokens, [*gaps, ""], strict=True))

    return join

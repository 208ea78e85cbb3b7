"""Turns a question into the kind of answer that it asks for."""

from __future__ import annotations

from enum import StrEnum

from otel_raglog.checks.text.lexicon import (
    AUXILIARIES,
    COUNT_NOUNS,
    HOW_COUNTS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    QUESTION_WORDS,
    REASON_NOUNS,
    TIME_NOUNS,
)
from otel_raglog.checks.text.words import words

_NOUNS_AFTER_WHAT = 4


class AnswerKind(StrEnum):
    """What a question asks for."""

    PERSON = "a person"
    TIME = "a time"
    PLACE = "a place"
    COUNT = "a number"
    REASON = "a reason"
    MANNER = "a manner"
    YES_NO = "yes or no"
    THING = "a thing"


def answer_kind(question: str) -> AnswerKind | None:
    """Return what ``question`` asks for, ``None`` for text that is no question (keywords)."""
    found = words(question)
    if not found:
        return None
    at = next((i for i, word in enumerate(found) if word in QUESTION_WORDS), None)
    if found[0] in AUXILIARIES:
        return AnswerKind.YES_NO
    if at is None:
        return None
    word, after = found[at], found[at + 1 : at + 1 + _NOUNS_AFTER_WHAT]
    plain = {
        "who": AnswerKind.PERSON,
        "whom": AnswerKind.PERSON,
        "whose": AnswerKind.PERSON,
        "when": AnswerKind.TIME,
        "where": AnswerKind.PLACE,
        "why": AnswerKind.REASON,
    }
    if word in plain:
        return plain[word]
    if word == "how":
        return AnswerKind.COUNT if after and after[0] in HOW_COUNTS else AnswerKind.MANNER
    return _kind_of_noun(after)


def kinds_differ(one: AnswerKind | None, other: AnswerKind | None) -> float:
    """Return 1.0 when two questions ask for different kinds of things, 0.5 when they may.

    *Which film* against *who* may be one question in two forms (*which band*, *who*), so a
    thing never differs for certain; times and counts overlap (*what age*, *when*).
    """
    if one is None or other is None or one is other:
        return 0.0
    kinds = {one, other}
    if kinds == {AnswerKind.TIME, AnswerKind.COUNT}:
        return 0.5
    if AnswerKind.THING in kinds:
        (specific,) = kinds - {AnswerKind.THING}
        doubtful = {AnswerKind.PERSON, AnswerKind.TIME, AnswerKind.YES_NO}
        return 0.5 if specific in doubtful else 0.0
    return 1.0


def _kind_of_noun(after: tuple[str, ...]) -> AnswerKind:
    by_noun = (
        (TIME_NOUNS, AnswerKind.TIME),
        (COUNT_NOUNS, AnswerKind.COUNT),
        (PLACE_NOUNS, AnswerKind.PLACE),
        (PERSON_NOUNS, AnswerKind.PERSON),
        (REASON_NOUNS, AnswerKind.REASON),
    )
    for word in after:
        if word in {"of", "in", "that", "who", "do", "does", "did"}:
            break
        for nouns, kind in by_noun:
            if word in nouns:
                return kind
    return AnswerKind.THING

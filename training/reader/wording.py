"""Words a question and an answer as what a language model might write."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from training.reader.texts import LEADING_AUXILIARY, QUESTION_WORD, capitalised

_LEADS = (
    "According to the context, ",
    "Based on the provided context, ",
    "Based on the given passage, ",
    "The passage states that ",
)
_PAST = {"take place": "took place", "come out": "came out"}
_BARE, _THE_ANSWER_IS, _REPEATS_QUESTION = 0.15, 0.22, 0.3
"""Shares of the forms of a claim, cumulated; the rest are statements."""

_LEAD_SHARE = 0.35
_SHORT_REST_WORDS = 3

Wording: TypeAlias = Callable[[str], str]
"""An answer to a claim."""


def wording_of(question: str, rng: Random) -> Wording:
    """Return one way, drawn, to word any answer to the question: right and wrong ones alike."""
    seed = rng.getrandbits(32)
    return lambda answer: claim(question, answer, Random(seed))


def claim(question: str, answer: str, rng: Random) -> str:
    """Return the answer as one of four forms: bare, "The answer is", with question, a statement."""
    return _claim(question, answer, rng).replace("..", ".")


def _claim(question: str, answer: str, rng: Random) -> str:
    form = rng.random()
    if form < _BARE:
        return answer
    if form < _THE_ANSWER_IS:
        return f"The answer is {answer}."
    if form < _REPEATS_QUESTION:
        return f'The answer to the question "{question}" is {answer}.'
    statement = declared(question, answer, rng)
    return rng.choice(_LEADS) + statement if rng.random() < _LEAD_SHARE else statement


def declared(question: str, answer: str, rng: Random) -> str:
    """Return question and answer as one statement, by rule: often clumsy, never of other meaning."""
    question = question.strip().rstrip("?").strip()
    asked = QUESTION_WORD.match(question)
    if not asked:
        return f"{capitalised(question)}: {answer}."
    word, rest = asked.group(1).lower(), question[asked.end() :].strip()
    if word == "who":
        return _who(rest, answer, rng)
    if word in {"how many", "how much"}:
        return f"{answer} {rest}."
    if word in {"when", "where", "in what year", "in which year", "how long"}:
        return _when_or_where(word, rest, answer, rng)
    return _what(word, rest, answer)


def _who(rest: str, answer: str, rng: Random) -> str:
    behind = LEADING_AUXILIARY.sub("", rest)
    if re.match(r"(did|does|do)\b", rest):
        return f"{behind} {answer}."
    if auxiliary := re.match(r"(is|was|are|were)\b", rest):
        verb = auxiliary.group(1)
        return rng.choice([f"{answer} {verb} {behind}.", f"{capitalised(behind)} {verb} {answer}."])
    return f"{answer} {rest}."


def _when_or_where(word: str, rest: str, answer: str, rng: Random) -> str:
    found = LEADING_AUXILIARY.match(rest)
    stays = found is not None and found.group(1).lower() not in {"did", "do", "does"}
    auxiliary = f"{found.group(1)} " if found and stays else ""
    preposition = "" if word == "how long" else rng.choice(["in ", ""])
    behind = re.sub(
        r"\b(take place|come out)\b",
        lambda verb: _PAST[verb.group(0)],
        LEADING_AUXILIARY.sub("", rest),
    )
    return f"{capitalised(behind)} {auxiliary}{preposition}{answer}."


def _what(word: str, rest: str, answer: str) -> str:
    auxiliary = LEADING_AUXILIARY.match(rest)
    if auxiliary:
        behind = capitalised(LEADING_AUXILIARY.sub("", rest))
        if auxiliary.group(1).lower() in {"is", "are", "was", "were"}:
            return f"{behind} {auxiliary.group(1)} {answer}."
        return f"{behind} {answer}."
    if word in {"what", "which", "whose"} and len(rest.split()) < _SHORT_REST_WORDS:
        return f"{answer} {rest}."
    return f"{capitalised(rest)}: {answer}."

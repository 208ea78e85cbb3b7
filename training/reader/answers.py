"""Examples A (where the answer stands, if it does) and B (a right claim and a wrong one)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from training.reader.corpora import Library, Question
from training.reader.texts import candidates, holds, kind_of, overlap, sentences, window
from training.reader.wording import claim

_REMOVED_SHARE = 0.5
_FROM_DOCUMENT_SHARE = 0.75
_VERBATIM_SHARE = 0.2
_UNSUPPORTED_SHARE = 0.5
_MIN_WORDS_LEFT = 15
_MAX_VERBATIM_WORDS = 50


class SpanExample(NamedTuple):
    """A question and a passage; ``answer`` stands in the passage, or None when it does not."""

    question: str
    passage: str
    answer: str | None


class ClaimPair(NamedTuple):
    """A claim that its passage supports, and one that its passage does not.

    ``question`` is None when the claims answer none.
    """

    question: str | None
    supported: str
    unsupported: str
    supported_passage: str
    unsupported_passage: str


def answer_examples(
    questions: Sequence[Question], library: Library, rng: Random
) -> tuple[list[SpanExample], list[ClaimPair]]:
    """Return the examples A and B of all questions, in order."""
    same_kind: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        same_kind[kind_of(question.answer)].append(question.answer)
    spans: list[SpanExample] = []
    claims: list[ClaimPair] = []
    for question in questions:
        holding = window(question.document, question.answer, rng)
        lacking = _passage_without_answer(question, library, rng)
        spans.append(SpanExample(question.text, holding, question.answer))
        if lacking and not holds(lacking, question.answer):
            spans.append(SpanExample(question.text, lacking, None))
        claims += _wrong_answer(question, holding, same_kind, rng)
        claims += _missing_evidence(question, holding, lacking, rng)
    return spans, claims


def _passage_without_answer(question: Question, library: Library, rng: Random) -> str | None:
    """Return a passage of the gold document less its answering sentences, or of a look-alike."""
    rest = " ".join(s for s in sentences(question.document) if not holds(s, question.answer))
    look_alike = library.look_alike(question, rng)
    if len(rest.split()) > _MIN_WORDS_LEFT and rng.random() < _REMOVED_SHARE:
        return window(rest, None, rng)
    return window(library.documents[look_alike], None, rng) if look_alike else None


def _wrong_answer(
    question: Question, passage: str, same_kind: dict[str, list[str]], rng: Random
) -> list[ClaimPair]:
    """Return at most one pair of claims that differ in the answer alone, about one passage."""
    right, wrong = question.answer, _other_answer(question, same_kind, rng)
    if wrong.lower() == right.lower():
        return []
    # The same draws twice: both claims get the same wording.
    state = rng.getstate()
    supported = claim(question.text, right, rng)
    rng.setstate(state)
    unsupported = claim(question.text, wrong, rng)
    if rng.random() < _VERBATIM_SHARE:
        sentence = next((s for s in sentences(question.document) if holds(s, right)), None)
        if sentence and len(sentence.split()) < _MAX_VERBATIM_WORDS:
            supported = sentence
            unsupported = re.sub(re.escape(right), lambda _: wrong, sentence, flags=re.IGNORECASE)
    return [ClaimPair(question.text, supported, unsupported, passage, passage)]


def _other_answer(question: Question, same_kind: dict[str, list[str]], rng: Random) -> str:
    """Return a wrong answer of the right kind, mostly from the gold document itself."""
    kind = kind_of(question.answer)
    others = [
        candidate
        for candidate in candidates(question.document, kind, rng)
        if not overlap(candidate, question.answer)
        and not holds(question.text, candidate)
        and not any(overlap(candidate, answer) for answer in question.answers)
    ]
    if others and rng.random() < _FROM_DOCUMENT_SHARE:
        return rng.choice(others)
    return rng.choice(same_kind[kind])


def _missing_evidence(
    question: Question, holding: str, lacking: str | None, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair whose wrong claim takes its answer from the passage that lacks it."""
    if not lacking or rng.random() >= _UNSUPPORTED_SHARE:
        return []
    others = [
        candidate
        for candidate in candidates(lacking, kind_of(question.answer), rng)
        if not holds(question.text, candidate)
    ]
    if not others:
        return []
    wrong = rng.choice(others)
    supported = claim(question.text, question.answer, rng)
    unsupported = claim(question.text, wrong, rng)
    return [ClaimPair(question.text, supported, unsupported, holding, lacking)]

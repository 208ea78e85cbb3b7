"""Examples A (where the answer stands, if it does) and B (a right claim and a wrong one)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from training.reader.corpora import Library, Question, Side
from training.reader.limits import Limits, Passage
from training.reader.texts import (
    DATE,
    NUMBER,
    YEAR,
    Kind,
    candidates,
    holds,
    kind_of,
    overlap,
    places,
    sentences,
)
from training.reader.wording import Wording, wording_of

_REMOVED_SHARE = 0.5
_FROM_PASSAGE_SHARE = 0.75
_VERBATIM_SHARE = 0.2
_UNSUPPORTED_SHARE = 0.5
_MIN_WORDS_LEFT = 15
_MAX_VERBATIM_WORDS = 45
_TRIES = 5
_SPARE_TOKENS = 8
"""By as much a wrong answer may be longer than the right one."""


class SpanExample(NamedTuple):
    """A question and a passage, and the answer with its place there, in characters.

    ``answer`` and ``place`` are None when it does not stand there.
    """

    question: str
    passage: str
    answer: str | None
    place: int | None


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
    side: Side, limits: Limits, rng: Random
) -> tuple[list[SpanExample], list[ClaimPair]]:
    """Return the examples A and B of all questions, in order."""
    same_kind: dict[Kind, list[str]] = defaultdict(list)
    for question in side.questions:
        same_kind[kind_of(question.answer)].append(question.answer)
    spans: list[SpanExample] = []
    claims: list[ClaimPair] = []
    for question in side.questions:
        lacking = _passage_without_answer(question, side.library, limits, rng)
        spans += _spans(question, lacking, limits, rng)
        claims += _wrong_answer(question, same_kind, limits, rng)
        claims += _missing_evidence(question, lacking, limits, rng)
    return spans, claims


def around_answer(question: Question, text: str, limits: Limits, rng: Random) -> Passage | None:
    """Return a passage with the sentence that answers, short enough to be read beside the text."""
    room = limits.room_beside(text) - _SPARE_TOKENS
    return limits.passage(question.document, question.evidence, room, rng)


def is_wrong(answer: str, question: Question) -> bool:
    """Return whether an answer has nothing of an accepted one, nor is in the question."""
    return (
        bool(answer)
        and not any(overlap(answer, accepted) for accepted in question.answers)
        and not overlap(answer, question.answer)
        and not holds(question.text, answer)
    )


def _spans(
    question: Question, lacking: str | None, limits: Limits, rng: Random
) -> list[SpanExample]:
    """Return the question with a passage that answers it, and with the one that does not."""
    found = []
    holding = around_answer(question, question.text, limits, rng)
    if holding:
        place = question.place.begin - holding.begin
        found.append(SpanExample(question.text, holding.text, question.answer, place))
    if lacking:
        found.append(SpanExample(question.text, lacking, None, None))
    return [each for each in found if limits.read_whole(each.question, each.passage)]


def _passage_without_answer(
    question: Question, library: Library, limits: Limits, rng: Random
) -> str | None:
    """Return a passage of the gold document less its answering sentences, or of a look-alike.

    No accepted answer stands there.
    """
    rest = " ".join(s for s in sentences(question.document) if not question.answered_by(s))
    look_alike = library.look_alike(question, rng)
    if len(rest.split()) <= _MIN_WORDS_LEFT or rng.random() >= _REMOVED_SHARE:
        rest = library.documents[look_alike] if look_alike else ""
    if not rest or question.answered_by(rest):
        limits.dropped["A: no passage without an accepted answer"] += 1
        return None
    found = limits.passage(rest, None, limits.room_beside(question.text), rng)
    return found.text if found else None


def _wrong_answer(
    question: Question, same_kind: Mapping[Kind, list[str]], limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair of claims that differ in the answer alone, about one passage."""
    word = _verbatim(question) if rng.random() < _VERBATIM_SHARE else None
    word = word or wording_of(question.text, rng)
    supported = word(question.answer)
    passage = around_answer(question, f"{question.text} {supported}", limits, rng)
    if passage is None:
        return []
    wrong = _other_answer(question, passage.text, same_kind, rng)
    if wrong is None:
        limits.dropped["B: no other answer of the kind"] += 1
        return []
    pair = ClaimPair(question.text, supported, word(wrong), passage.text, passage.text)
    return [pair] if is_read_whole(pair, limits) else []


def is_read_whole(pair: ClaimPair, limits: Limits) -> bool:
    """Return whether both claims and both passages are read whole, also behind the question."""
    behind = pair.question or ""
    return limits.read_whole(
        pair.supported, pair.supported_passage, behind=behind
    ) and limits.read_whole(pair.unsupported, pair.unsupported_passage, behind=behind)


def _verbatim(question: Question) -> Wording | None:
    """Return the answering sentence as the wording, if it is not long and has the answer once."""
    begin, end = question.evidence
    sentence = question.document[begin:end]
    once = len(places(sentence, question.answer)) == 1
    if not once or len(sentence.split()) > _MAX_VERBATIM_WORDS:
        return None
    before = question.document[begin : question.place.begin]
    behind = question.document[question.place.end : end]
    return lambda answer: before + answer + behind


def _other_answer(
    question: Question, passage: str, same_kind: Mapping[Kind, list[str]], rng: Random
) -> str | None:
    """Return a wrong answer of the right kind, mostly from the passage or else its document."""
    kind = kind_of(question.answer)
    if rng.random() < _FROM_PASSAGE_SHARE:
        for text in (passage, question.document):
            if others := _answers_in(text, question, kind, rng):
                return rng.choice(others)
    drawn = [rng.choice(same_kind[kind]) for _ in range(_TRIES)]
    return next((answer for answer in drawn if is_wrong(answer, question)), None)


def _answers_in(text: str, question: Question, kind: Kind, rng: Random) -> list[str]:
    """Return wrong answers from the text: its values of the kind, in the right answer's form."""
    found = candidates(text, kind, rng)
    if kind == "date":
        found = [DATE.sub(lambda _, date=date: date, question.answer, count=1) for date in found]
    if kind == "number":
        if YEAR.fullmatch(NUMBER.findall(question.answer)[0]):
            found = candidates(text, "year", rng)
        found = [NUMBER.sub(lambda _, n=n: n, question.answer, count=1) for n in found]
    return [answer for answer in dict.fromkeys(found) if is_wrong(answer, question)]


def _missing_evidence(
    question: Question, lacking: str | None, limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair whose wrong claim takes its answer from the passage that lacks it."""
    if not lacking or rng.random() >= _UNSUPPORTED_SHARE:
        return []
    others = _answers_in(lacking, question, kind_of(question.answer), rng)
    if not others:
        limits.dropped["B: no answer of the kind in the passage without evidence"] += 1
        return []
    word = wording_of(question.text, rng)
    supported, unsupported = word(question.answer), word(rng.choice(others))
    holding = around_answer(question, f"{question.text} {supported}", limits, rng)
    if holding is None:
        return []
    pair = ClaimPair(question.text, supported, unsupported, holding.text, lacking)
    return [pair] if is_read_whole(pair, limits) else []

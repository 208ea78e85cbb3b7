"""Examples A (where the answer stands, if it does) and B (a right claim and a wrong one)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from training.reader.corpora import Question, Side
from training.reader.limits import MAX_WORDS, Limits, Passage
from training.reader.texts import (
    DATE,
    NUMBER,
    YEAR,
    Kind,
    Span,
    candidates,
    holds,
    kind_of,
    overlap,
    places,
    sentences,
    shares_word,
)
from training.reader.wording import Wording, wording_of

_REMOVED_SHARE = 0.5
_MIXED_SHARE = 0.35
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


class _Others:
    """Answers of other questions."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._of_kind: dict[Kind, list[str]] = defaultdict(list)
        self._of_document: dict[str, list[str]] = defaultdict(list)
        for question in questions:
            self._of_kind[kind_of(question.answer)].append(question.answer)
            self._of_document[question.document].append(question.answer)

    def about_the_same(self, question: Question) -> list[str]:
        """Return wrong answers of the kind that answer other questions about the document."""
        kind = kind_of(question.answer)
        return [
            answer
            for answer in dict.fromkeys(self._of_document[question.document])
            if kind_of(answer) == kind and is_wrong(answer, question)
        ]

    def draw(self, question: Question, rng: Random) -> str | None:
        """Return a wrong answer of the kind, if a few draws find one."""
        drawn = [rng.choice(self._of_kind[kind_of(question.answer)]) for _ in range(_TRIES)]
        return next((answer for answer in drawn if is_wrong(answer, question)), None)


def answer_examples(
    side: Side, of_spans: Limits, of_claims: Limits, rng: Random
) -> tuple[list[SpanExample], list[ClaimPair]]:
    """Return the examples A and B of all questions, in order; each kind has its limits."""
    others = _Others(side.questions)
    spans: list[SpanExample] = []
    claims: list[ClaimPair] = []
    for question in side.questions:
        alike = side.library.look_alike(question, rng)
        beside = side.library.documents[alike] if alike else ""
        holding = _holding(question, question.text, beside, of_spans, rng)
        if holding is None:
            continue
        # About as long as the other one, so that the length tells nothing.
        count = len(holding.text.split())
        lacking = _passage_without_answer(question, beside, count, of_spans, rng)
        spans += _spans(question, holding, lacking, of_spans)
        claims += _wrong_answer(question, others, of_claims, rng)
        if lacking and rng.random() < _UNSUPPORTED_SHARE:
            claims += _missing_evidence(question, beside, lacking, of_claims, rng)
    return spans, claims


def _holding(
    question: Question, text: str, beside: str, limits: Limits, rng: Random
) -> Passage | None:
    """Return a passage with the evidence, in a third with sentences of a look-alike behind it.

    Passages without evidence have such sentences, too: a change of subject must not tell them.
    """
    found = around_answer(question, text, limits, rng)
    if found is None or rng.random() >= _MIXED_SHARE:
        return found
    kept = Span(0, len(found.text))
    count = rng.randint(len(found.text.split()), MAX_WORDS)
    room = limits.room_beside(text) - _SPARE_TOKENS
    more = limits.any_passage(f"{found.text} {beside}".rstrip(), kept, count, room, rng)
    return Passage(more, found.begin)


def around_answer(question: Question, text: str, limits: Limits, rng: Random) -> Passage | None:
    """Return a passage with the question's evidence, short enough to be read beside the text."""
    room = limits.room_beside(text) - _SPARE_TOKENS
    return limits.passage(question.document, question.evidence, room, rng)


def is_wrong(answer: str, question: Question) -> bool:
    """Return whether an answer has nothing of an accepted one, nor is in the question."""
    accepted = (question.answer, *question.answers)
    if not answer or holds(question.text, answer):
        return False
    if kind_of(answer) == "name" and any(shares_word(answer, each) for each in accepted):
        return False
    return not any(overlap(answer, each) for each in accepted)


def _spans(
    question: Question, holding: Passage, lacking: str | None, limits: Limits
) -> list[SpanExample]:
    """Return the question with a passage that answers it, and with the one that does not."""
    place = question.place.begin - holding.begin
    found = [SpanExample(question.text, holding.text, question.answer, place)]
    if lacking:
        found.append(SpanExample(question.text, lacking, None, None))
    return [each for each in found if limits.read_whole(each.question, each.passage)]


def _passage_without_answer(
    question: Question, beside: str, count: int, limits: Limits, rng: Random
) -> str | None:
    """Return a passage of the gold document less its answering sentences, or of a look-alike.

    No accepted answer stands there. It has about ``count`` words; what is short of them in the gold
    document comes from the look-alike.
    """
    rest = " ".join(s for s in sentences(question.document) if not question.answered_by(s))
    document, kept = beside, None
    if len(rest.split()) > _MIN_WORDS_LEFT and rng.random() < _REMOVED_SHARE:
        is_short = len(rest.split()) < count
        document = f"{rest} {beside}".rstrip() if is_short else rest
        kept = Span(0, len(rest)) if is_short else None
    if not document or question.answered_by(document):
        limits.dropped["no passage without an accepted answer"] += 1
        return None
    return limits.any_passage(document, kept, count, limits.room_beside(question.text), rng)


def _wrong_answer(
    question: Question, others: _Others, limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair of claims that differ in the answer alone, about one passage."""
    word = _verbatim(question) if rng.random() < _VERBATIM_SHARE else None
    word = word or wording_of(question.text, rng)
    supported = word(question.answer)
    passage = around_answer(question, f"{question.text} {supported}", limits, rng)
    if passage is None:
        return []
    wrong = _other_answer(question, passage.text, others, rng)
    if wrong is None:
        limits.dropped["no other answer of the kind"] += 1
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
    begin, end = question.sentence
    sentence = question.document[begin:end]
    once = len(places(sentence, question.answer)) == 1
    if not once or sentence[0] in ")]" or len(sentence.split()) > _MAX_VERBATIM_WORDS:
        return None
    before = question.document[begin : question.place.begin]
    behind = question.document[question.place.end : end]
    return lambda answer: before + answer + behind


def _other_answer(question: Question, passage: str, others: _Others, rng: Random) -> str | None:
    """Return a wrong answer of the right kind, mostly from the passage or else its document."""
    if rng.random() < _FROM_PASSAGE_SHARE:
        near = others.about_the_same(question)
        in_passage = [answer for answer in near if holds(passage, answer)]
        for found in (
            in_passage,
            _answers_in(passage, question),
            near,
            _answers_in(question.document, question),
        ):
            if found:
                return rng.choice(found)
    return others.draw(question, rng)


def _answers_in(text: str, question: Question) -> list[str]:
    """Return wrong answers from the text: its values of the kind, in the right answer's form."""
    kind = kind_of(question.answer)
    found = candidates(text, kind)
    if kind == "date":
        found = [DATE.sub(lambda _, date=date: date, question.answer, count=1) for date in found]
    if kind == "number":
        if YEAR.fullmatch(NUMBER.findall(question.answer)[0]):
            found = candidates(text, "year")
        found = [NUMBER.sub(lambda _, n=n: n, question.answer, count=1) for n in found]
    return [answer for answer in dict.fromkeys(found) if is_wrong(answer, question)]


def _missing_evidence(
    question: Question, beside: str, lacking: str, limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair whose wrong claim takes its answer from the passage that lacks it."""
    others = _answers_in(lacking, question)
    if not others:
        limits.dropped["no answer of the kind in the passage without evidence"] += 1
        return []
    word = wording_of(question.text, rng)
    supported, unsupported = word(question.answer), word(rng.choice(others))
    holding = _holding(question, f"{question.text} {supported}", beside, limits, rng)
    if holding is None:
        return []
    pair = ClaimPair(question.text, supported, unsupported, holding.text, lacking)
    return [pair] if is_read_whole(pair, limits) else []

"""Examples F: a right answer with a true fact of the passage, and with that fact changed."""

from __future__ import annotations

import re
from random import Random
from typing import Literal, NamedTuple

from training.reader.answers import ClaimPair, is_read_whole
from training.reader.corpora import Question, Side
from training.reader.limits import Limits
from training.reader.sentence_pairs import other_document
from training.reader.texts import (
    Span,
    knows,
    overlap,
    places,
    sentence_spans,
    sentences,
    share_known,
    uncapitalised,
    words,
)
from training.reader.values import values_in, with_another
from training.reader.wording import wording_of

_MIN_WORDS, _MAX_WORDS = 5, 22
_MAX_CLAUSE_WORDS = 16
_MAX_SENTENCE_WORDS = 40
_OTHER_PASSAGE_SHARE = 0.25
_KNOWN_SHARE = 0.5
_PRONOUNS = frozenset(
    "he she it they this these those his her its their there such both here that who we i you"
    " however but and also".split()
)
_SPARE_TOKENS = 8
_SAID = r"(?:is|was|has|had)\s(?!not\b)[^,;:()]{12,}"
_CLAUSE = re.compile(rf"\b{_SAID}\.$")
_PERSON = frozenset(("who", "whose"))


class Detail(NamedTuple):
    """A claim in two parts: the right answer, and a fact beside it in ``evidence``.

    The fact is a whole ``sentence``, a ``clause`` ("was introduced in 1975") or the ``rest`` of the
    answering sentence.
    """

    form: Literal["sentence", "clause", "rest"]
    answer_part: str
    fact: str
    ending: str
    evidence: Span

    def claim(self, fact: str) -> str:
        """Return the claim with a fact in the place of the true one."""
        return f"{self.answer_part}{fact}{self.ending}"


def detail_pairs(side: Side, limits: Limits, rng: Random) -> list[ClaimPair]:
    """Return at most one pair of each question."""
    keys = list(side.library.documents)
    pairs: list[ClaimPair] = []
    for question in side.questions:
        details = [
            *_in_the_sentence(question),
            *_behind_the_name(question),
            *_in_a_sentence_beside(question, rng),
        ]
        if details:
            detail = rng.choice(details)
            other = other_document(detail.fact, None, keys, side.library, rng)
            pairs += _pair(question, detail, other, limits, rng)
        else:
            limits.dropped["no fact beside the answer"] += 1
    return pairs


def _pair(
    question: Question, detail: Detail, other: str, limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair; ``other`` is a document that gives names and facts."""
    supported = detail.claim(detail.fact)
    room = limits.room_beside(f"{question.text} {supported}") - _SPARE_TOKENS
    passage = limits.passage(question.document, detail.evidence, room, rng)
    if passage is None:
        return []
    fact = _from_another(detail, other, passage.text, rng)
    if fact is None or rng.random() >= _OTHER_PASSAGE_SHARE:
        fact = _changed(detail.fact, question, passage.text, other, rng)
    if fact is None or fact == detail.fact or knows(passage.text, fact):
        limits.dropped["no other fact"] += 1
        return []
    pair = ClaimPair(question.text, supported, detail.claim(fact), passage.text, passage.text)
    return [pair] if is_read_whole(pair, limits) else []


def _changed(fact: str, question: Question, passage: str, other: str, rng: Random) -> str | None:
    """Return the fact with another value, but never one of the answer or the question."""
    values = [
        value
        for value in values_in(fact)
        if not overlap(value.text, question.answer) and not knows(question.text, value.text)
    ]
    if not values:
        return None
    return with_another(fact, rng.choice(values), passage, rng, elsewhere=other)


def _from_another(detail: Detail, other: str, passage: str, rng: Random) -> str | None:
    """Return a fact of the other document in the same form, of which the passage says little."""
    if detail.form == "rest":
        return None
    if detail.form == "clause":
        clauses = (_CLAUSE.search(sentence) for sentence in sentences(other))
        facts = [clause.group(0).rstrip(".") for clause in clauses if clause]
    else:
        facts = [s.rstrip(".") for s in sentences(other) if _stands_alone(s)]
    fitting = [
        fact
        for fact in facts
        if len(fact.split()) <= _MAX_CLAUSE_WORDS and share_known(fact, passage) < _KNOWN_SHARE
    ]
    if not fitting:
        return None
    fact = rng.choice(fitting)
    return uncapitalised(fact) if detail.answer_part.endswith(" and ") else fact


def _in_the_sentence(question: Question) -> list[Detail]:
    """Return the answering sentence itself, if another value stands there."""
    begin, end = question.sentence
    sentence = question.document[begin:end]
    if not _MIN_WORDS <= len(sentence.split()) <= _MAX_SENTENCE_WORDS:
        return []
    # The longer side of the answer is the fact: only there a value changes.
    before = question.document[begin : question.place.begin]
    behind = question.document[question.place.end : end]
    once = len(places(sentence, question.answer)) == 1
    if not once or sentence[0] in ")]" or not values_in(behind):
        return []
    return [Detail("rest", before + question.answer, behind, "", question.evidence)]


def _behind_the_name(question: Question) -> list[Detail]:
    """Return what a sentence says of the answer, as a clause: ", which was introduced in 1975"."""
    found = []
    asked = (words(question.text) or [""])[0]
    for span in sentence_spans(question.document):
        sentence = question.document[span.begin : span.end]
        said = re.match(rf"{re.escape(question.answer)} ({_SAID})\.$", sentence)
        if said and len(said.group(1).split()) <= _MAX_CLAUSE_WORDS and span != question.sentence:
            evidence = _both(span, question.evidence)
            lead = f"{question.answer}, {'who' if asked in _PERSON else 'which'} "
            found.append(Detail("clause", lead, said.group(1), ".", evidence))
            found.append(Detail("clause", f"The answer is {lead}", said.group(1), ".", evidence))
    return found


def _in_a_sentence_beside(question: Question, rng: Random) -> list[Detail]:
    """Return a claim with a short sentence of the document behind it, one of each form."""
    fitting = [
        span
        for span in sentence_spans(question.document)
        if span != question.sentence
        and _stands_alone(question.document[span.begin : span.end])
        and not question.answered_by(question.document[span.begin : span.end])
    ]
    if not fitting:
        return []
    span = rng.choice(fitting)
    fact = question.document[span.begin : span.end].rstrip(".")
    answer = wording_of(question.text, rng)(question.answer).rstrip(".")
    evidence = _both(span, question.evidence)
    return [
        Detail("sentence", f"{answer}. ", fact, ".", evidence),
        Detail("sentence", f"{answer}, and ", uncapitalised(fact), ".", evidence),
    ]


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence is whole, short, has a value and begins with no pronoun."""
    return (
        _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS
        and sentence.endswith(".")
        and sentence[0].isalnum()
        and words(sentence)[0] not in _PRONOUNS
        and bool(values_in(sentence))
    )


def _both(one: Span, other: Span) -> Span:
    return Span(min(one.begin, other.begin), max(one.end, other.end))

"""Measures whether the context supports the answer, and whether it says the likeliest one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.crossencoder.passages import (
    Read,
    answered_by,
    clearly,
    clearly_not,
)
from otel_raglog.checks.crossencoder.reader import CrossEncoder, Span
from otel_raglog.checks.reading import claims_of, context_of, question_forms
from otel_raglog.checks.text.claims import claimed
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.model import Measurement, Run, Stage

_MAX_SENTENCES = 6
_HELD_AGAINST = 2
"""Passages that hold most of a claim's words, against which it is read."""

_TOP_SPANS = 6
_STATED = 0.6
"""The share of a span's words from which on the answer states it."""

_NOWHERE = 12.0
"""Log-odds that stand for a span which is none of the likeliest; none counts as worse."""

_MAX_WORDS = 300


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A likely answer: ``score`` counts its passage's odds to answer as well as its own."""

    span: Span
    score: float
    stated: float
    """The share of its words that the answer has."""


def _low(name: str, unit: Unit, meaning: str) -> Declaration:
    return Declaration(f"generator.{name}", unit, Suspect.LOW, meaning)


_ANSWERED = (
    _low("answerable", Unit.LOG_ODDS, "that the best passage of the context answers the question"),
    _low("answer_span", Unit.LOG_ODDS, "the likeliest answer in the context against no answer"),
)
_SPANS = (
    _low(
        "likeliest_stated",
        Unit.SHARE,
        "share of the likeliest answer's words that the answer has",
    ),
    _low(
        "likely_stated",
        Unit.SHARE,
        "the same of all likely answers, each by its probability",
    ),
    _low(
        "stated_span",
        Unit.LOG_ODDS,
        "the likeliest answer in the context that the answer states, against no answer, its passage's "
        "answerable added; at least -12",
    ),
    Declaration(
        "generator.stated_span_gap",
        Unit.LOG_ODDS,
        Suspect.HIGH,
        "the likeliest answer in the context minus stated_span; at most 12",
    ),
    _low(
        "own_words_in_likeliest",
        Unit.SHARE,
        "share of the answer's words, without the question's, in the likeliest answer",
    ),
    _low(
        "own_words_in_likely",
        Unit.SHARE,
        "the same in the six likeliest answers",
    ),
)
_SUPPORT = (
    _low(
        "supported",
        Unit.LOG_ODDS,
        "that a passage supports the answer's sentence, of the one that is supported least",
    ),
    _low("supported_asked", Unit.LOG_ODDS, "the same, the sentence being read behind the question"),
    _low("supported_whole", Unit.LOG_ODDS, "the same of question and whole answer"),
)
_BESIDE = (
    Declaration(
        "generator.likeliest_supported_gap",
        Unit.LOG_ODDS,
        Suspect.LOW,
        "supported_whole minus the same of the likeliest answer in the answer's place",
    ),
)


class GeneratorReading:
    """The context read for what the question asks, and for what the answer says.

    The likeliest answers are spans of the context; an answer that states none of them may have
    taken its words from the wrong place. A claim is read beside the two passages that hold most of
    its words and the one that answers the question best. Refusals claim nothing and are not
    measured.
    """

    name = "crossencoder.generator"
    stage = Stage.GENERATOR
    declarations = (*_ANSWERED, *_SPANS, *_SUPPORT, *_BESIDE)
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        forms, claims, context = question_forms(run), claims_of(run), context_of(run)
        if not forms or not claims or not claims.strip() or context is None:
            yield from all_not_applicable(self.measures, "no question, answer or prompt")
            return
        if refuses(claims):
            yield from all_not_applicable(self.measures, "the answer declines")
            return
        pieces = [piece for piece in context.pieces if piece.strip()]
        answer = claimed(claims)
        if not pieces or not words(answer):
            yield from all_not_applicable(self.measures, "no context, or no words in the answer")
            return
        found = answered_by(forms, pieces, self._model)
        passages = [passage for each in found for passage in each.passages]
        yield from _answered(passages)
        candidates = _candidates(passages, forms, answer)
        yield from _spans(candidates, forms, answer)
        yield from self._supported(forms[0], answer, passages, candidates)

    def _supported(
        self,
        question: str,
        answer: str,
        passages: Sequence[Read],
        candidates: Sequence[_Candidate],
    ) -> Iterator[Measurement]:
        said = [each for each in sentences(answer) if words(each)][:_MAX_SENTENCES]
        near = [_near(each, passages) for each in said]
        plain = [self._support(each, held) for each, held in zip(said, near, strict=True)]
        if not plain or plain[0] is None:
            reason = "this model does not tell what is supported"
            yield from all_not_applicable(names_of((*_SUPPORT, *_BESIDE)), reason)
            return
        least = [value for value in plain if value is not None]
        weakest = min(least)
        yield measured(
            "generator.supported",
            weakest,
            "no passage of the context seems to support "
            + ("one of the answer's sentences" if len(least) > 1 else "the answer")
            if clearly_not(weakest)
            else "",
        )
        asked = [
            self._support(f"{question} {each}", held) or 0.0
            for each, held in zip(said, near, strict=True)
        ]
        yield measured("generator.supported_asked", min(asked))
        held = _near(answer, passages)
        whole = self._support(f"{question} {answer}", held) or 0.0
        yield measured(
            "generator.supported_whole",
            whole,
            "the context does not seem to support this answer to the question"
            if clearly_not(whole)
            else "",
        )
        if not candidates:
            yield from all_not_applicable(names_of(_BESIDE), "the model tells no likely answer")
            return
        likeliest = candidates[0].span.text
        beside = self._support(f"{question} {likeliest}", _near(likeliest, passages)) or 0.0
        yield measured("generator.likeliest_supported_gap", whole - beside)

    def _support(self, claim: str, passages: Sequence[Read]) -> float | None:
        readings = self._model.read([(claim, each.passage) for each in passages])
        found = [each.supports for each in readings if each.supports is not None]
        return max(found, default=None)


def _answered(passages: Sequence[Read]) -> Iterator[Measurement]:
    best = max(each.reading.answers for each in passages)
    yield measured(
        "generator.answerable",
        best,
        "no passage of the context seems to hold what is asked" if clearly_not(best) else "",
    )
    scores = [each.reading.spans[0].score for each in passages if each.reading.spans]
    if scores:
        yield measured("generator.answer_span", max(scores))
    else:
        yield from all_not_applicable(("generator.answer_span",), "this model tells no spans")


def _candidates(
    passages: Sequence[Read], forms: Sequence[str], answer: str
) -> tuple[_Candidate, ...]:
    """Return the likely answers of all passages, likeliest first."""
    asked, stated = WordIndex(forms), WordIndex((answer,))
    found = [
        _Candidate(span, span.score + each.reading.answers, _stated(span.text, asked, stated))
        for each in passages
        for span in each.reading.spans
    ]
    return tuple(sorted(found, key=lambda each: -each.score))


def _stated(span: str, asked: WordIndex, answer: WordIndex) -> float:
    """Return the share of a span's words in the answer, of those that the question lacks if any."""
    content = content_words(span)
    own = [word for word in content if not asked.holds_related(word)] or content or words(span)
    return sum(answer.holds_related(word) for word in own) / len(own) if own else 0.0


def _spans(
    candidates: Sequence[_Candidate], forms: Sequence[str], answer: str
) -> Iterator[Measurement]:
    if not candidates:
        yield from all_not_applicable(names_of(_SPANS), "this model tells no spans")
        return
    scores = np.array([each.score for each in candidates])
    shares = np.array([each.stated for each in candidates])
    odds = np.exp(scores - scores.max())
    best = candidates[0]
    stated = [each.score for each in candidates if each.stated >= _STATED]
    score = max((*stated, -_NOWHERE))
    missing = not best.stated and clearly(best.span.score)
    yield measured(
        "generator.likeliest_stated",
        best.stated,
        "the context seems to hold another answer than the one given" if missing else "",
        quotes=(best.span.text[:300],) if missing else (),
    )
    yield measured("generator.likely_stated", float((odds * shares).sum() / odds.sum()))
    yield measured("generator.stated_span", score)
    yield measured(
        "generator.stated_span_gap", min(_NOWHERE, best.score - score) if stated else _NOWHERE
    )
    asked = WordIndex(forms)
    own = [word for word in content_words(answer) if not asked.holds_related(word)][:_MAX_WORDS]
    in_spans = names_of(_SPANS)[-2:]
    if not own:
        yield from all_not_applicable(in_spans, "the answer has no words but the question's")
        return
    for name, count in zip(in_spans, (1, _TOP_SPANS), strict=True):
        held = WordIndex(tuple(each.span.text for each in candidates[:count]))
        yield measured(name, sum(held.holds_related(word) for word in own) / len(own))


def _near(claim: str, passages: Sequence[Read]) -> list[Read]:
    """Return the passages that hold most of a claim's words, and the one that answers best."""
    claimed_words = content_words(claim)[:_MAX_WORDS] or words(claim)[:_MAX_WORDS]

    def held(read: Read) -> int:
        index = WordIndex((read.passage,))
        return sum(index.holds_related(word) for word in claimed_words)

    by_words = sorted(passages, key=held, reverse=True)[:_HELD_AGAINST]
    best = max(passages, key=lambda read: read.reading.answers)
    return by_words if best in by_words else [*by_words, best]

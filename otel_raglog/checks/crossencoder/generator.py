"""Measures whether the context answers the question, and whether the answer is the likeliest one."""

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
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.model import Measurement, Run, Stage

_TOP_SPANS = 6
_STATED = 0.6
"""The share of a span's words from which on the answer states it."""

_NOWHERE = 12.0
"""Log-odds that stand for a span which is none of the likeliest; none counts as worse."""

MAX_WORDS = 300


@dataclass(frozen=True, slots=True)
class Case:
    """The question's forms, what the answer claims, and the passages of the context as read."""

    forms: tuple[str, ...]
    answer: str
    passages: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class LikelyAnswer:
    """A likely answer: ``score`` counts its passage's odds to answer as well as its own."""

    span: Span
    score: float
    stated: float
    """The share of its words that the answer has."""


def low(name: str, unit: Unit, meaning: str) -> Declaration:
    """Declare a measurement of the generator whose low values are suspect."""
    return Declaration(f"generator.{name}", unit, Suspect.LOW, meaning)


_ANSWERED = (
    low("answerable", Unit.LOG_ODDS, "that the best passage of the context answers the question"),
    low("answer_span", Unit.LOG_ODDS, "the likeliest answer in the context against no answer"),
)
_SPANS = (
    low(
        "likeliest_stated",
        Unit.SHARE,
        "share of the likeliest answer's words that the answer has",
    ),
    low(
        "likely_stated",
        Unit.SHARE,
        "the same of all likely answers, each by its probability",
    ),
    low(
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
    low(
        "own_words_in_likeliest",
        Unit.SHARE,
        "share of the answer's words, without the question's, in the likeliest answer",
    ),
    low(
        "own_words_in_likely",
        Unit.SHARE,
        "the same in the six likeliest answers",
    ),
)


class GeneratorReading:
    """The context read for what the question asks, and its likeliest answers held against the answer.

    They are spans of the context; an answer that states none of them may have taken its words from
    the wrong place. Refusals claim nothing and are not measured.
    """

    name = "crossencoder.generator"
    stage = Stage.GENERATOR
    declarations = (*_ANSWERED, *_SPANS)
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        case = read_case(run, self._model)
        if not isinstance(case, Case):
            yield from all_not_applicable(self.measures, case)
            return
        yield from _answered(case.passages)
        yield from _spans(likely_answers(case), case.forms, case.answer)


def read_case(run: Run, model: CrossEncoder) -> Case | str:
    """Return what an answer is held against, or why nothing can be."""
    forms, claims, context = question_forms(run), claims_of(run), context_of(run)
    if not forms or not claims or not claims.strip() or context is None:
        return "no question, answer or prompt"
    if refuses(claims):
        return "the answer declines"
    pieces = [piece for piece in context.pieces if piece.strip()]
    answer = claimed(claims)
    if not pieces or not words(answer):
        return "no context, or no words in the answer"
    found = answered_by(forms, pieces, model)
    return Case(forms, answer, tuple(passage for each in found for passage in each.passages))


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


def likely_answers(case: Case) -> tuple[LikelyAnswer, ...]:
    """Return the likely answers of all passages, likeliest first."""
    asked, stated = WordIndex(case.forms), WordIndex.of(case.answer)
    found = [
        LikelyAnswer(span, span.score + each.reading.answers, _stated(span.text, asked, stated))
        for each in case.passages
        for span in each.reading.spans
    ]
    return tuple(sorted(found, key=lambda each: -each.score))


def _stated(span: str, asked: WordIndex, answer: WordIndex) -> float:
    """Return the share of a span's words in the answer, of those that the question lacks if any."""
    content = content_words(span)
    own = [word for word in content if not asked.holds_related(word)] or content or words(span)
    return sum(answer.holds_related(word) for word in own) / len(own) if own else 0.0


def _spans(
    candidates: Sequence[LikelyAnswer], forms: Sequence[str], answer: str
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
    own = [word for word in content_words(answer) if not asked.holds_related(word)][:MAX_WORDS]
    in_spans = names_of(_SPANS)[-2:]
    if not own:
        yield from all_not_applicable(in_spans, "the answer has no words but the question's")
        return
    for name, count in zip(in_spans, (1, _TOP_SPANS), strict=True):
        held = WordIndex(tuple(each.span.text for each in candidates[:count]))
        yield measured(name, sum(held.holds_related(word) for word in own) / len(own))

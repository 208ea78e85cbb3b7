"""Measures whether a retrieved chunk holds what the question asks, as a cross-encoder reads it."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
    not_applicable,
)
from otel_raglog.checks.crossencoder.passages import answered_by, clearly_not, likeliest
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.phrases import chunk_name
from otel_raglog.checks.reading import chunk_text, question_forms, readable, retrieved_of
from otel_raglog.model import Measurement, Run, Stage


class RetrieverReading:
    """The retrieved chunk that most surely holds what is asked, of the first twelve."""

    name = "crossencoder.retriever"
    stage = Stage.RETRIEVER
    declarations = (
        Declaration(
            "retriever.answerable",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "that the best retrieved chunk holds what the question asks",
        ),
        Declaration(
            "retriever.answer_span",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "the likeliest answer in a retrieved chunk against no answer",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a retriever."""
        if not run.retrievers:
            return
        forms, chunks = question_forms(run), readable(retrieved_of(run) or ())
        if not forms or not chunks:
            yield from all_not_applicable(self.measures, "no question or no chunk text")
            return
        found = answered_by(forms, [chunk_text(chunk) for chunk in chunks], self._model)
        best = max(range(len(found)), key=lambda i: found[i].answers)
        name = chunk_name(best + 1, chunks[best])
        yield measured(
            "retriever.answerable",
            found[best].answers,
            f"no retrieved chunk seems to hold what is asked; {name} comes nearest"
            if clearly_not(found[best].answers)
            else "",
        )
        span = likeliest(found)
        if span is None:
            yield not_applicable("retriever.answer_span", "this model tells no spans")
        else:
            yield measured("retriever.answer_span", span.score, quotes=(span.text[:300],))

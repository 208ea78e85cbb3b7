"""Measures whether a reranker excluded the chunk that holds what the question asks."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.crossencoder.passages import answered_by, clearly, clearly_not
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.reading import chunk_text, chunks_of, question_forms, readable
from otel_raglog.checks.rules.reranker import candidates_of, excluded_of, rank_name, with_texts
from otel_raglog.model import Measurement, RerankStep, Run, Stage


class RerankerReading:
    """The excluded chunk that most surely holds what is asked against the best selected one."""

    name = "crossencoder.reranker"
    stage = Stage.RERANKER
    declarations = (
        Declaration(
            "reranker.answerable_selected",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "that the best selected chunk holds what the question asks",
        ),
        Declaration(
            "reranker.answerable_excluded",
            Unit.LOG_ODDS,
            Suspect.HIGH,
            "the same of the best excluded chunk",
        ),
        Declaration(
            "reranker.answerable_gap",
            Unit.LOG_ODDS,
            Suspect.HIGH,
            "answerable_excluded minus answerable_selected",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every reranking step."""
        for index, step in enumerate(run.rerankers):
            yield from self._measure_step(run, step, index)

    def _measure_step(self, run: Run, step: RerankStep, index: int) -> Iterable[Measurement]:
        forms = question_forms(run)
        candidates = candidates_of(run, step) or ()
        selected = chunks_of(step.selected) or ()
        passed = readable(with_texts(selected, candidates))
        excluded = readable(excluded_of(candidates, selected))
        if not forms or not passed or not excluded:
            reason = "no question, nothing excluded, or no text to compare"
            return all_not_applicable(self.measures, reason, step=index)
        kept = answered_by(forms, [chunk_text(chunk) for chunk in passed], self._model)
        left = answered_by(forms, [chunk_text(chunk) for chunk in excluded], self._model)
        inside = max(each.answers for each in kept)
        best = max(range(len(left)), key=lambda i: left[i].answers)
        outside = left[best].answers
        span = left[best].span
        lost = clearly(outside) and clearly_not(inside)
        return (
            measured("reranker.answerable_selected", inside, step=index),
            measured("reranker.answerable_excluded", outside, step=index),
            measured(
                "reranker.answerable_gap",
                outside - inside,
                f"the excluded {rank_name(excluded[best], candidates)} seems to hold what is "
                "asked, and no chunk that was passed on does"
                if lost
                else "",
                step=index,
                quotes=(span.text[:300],) if lost and span is not None else (),
            ),
        )

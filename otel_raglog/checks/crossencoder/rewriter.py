"""Measures whether a rewrite still asks what the question does, as a cross-encoder reads them."""

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
from otel_raglog.checks.crossencoder.passages import clearly_not
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.reading import history_of, question_of, rewrites_of
from otel_raglog.model import Measurement, RewriteKind, Run, Stage

_MAX_REWRITES = 8


class RewriterReading:
    """The question beside each rewrite of a step: the nearest in meaning and the farthest.

    Not where the question leans on its conversation: it does not say what it asks.
    """

    name = "crossencoder.rewriter"
    stage = Stage.REWRITER
    declarations = (
        Declaration(
            "rewriter.same_meaning",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "that the rewrite nearest to the question asks the same",
        ),
        Declaration(
            "rewriter.same_meaning_least",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "the same of the rewrite farthest from it",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every rewriting step."""
        question = question_of(run)
        for index, step in enumerate(run.rewriters):
            rewrites = rewrites_of(step)[:_MAX_REWRITES]
            if question is None or not rewrites or step.kind is RewriteKind.HYDE:
                reason = "no question, no rewrite, or a hypothetical passage"
                yield from all_not_applicable(self.measures, reason, step=index)
                continue
            if history_of(run) or step.kind is RewriteKind.CONDENSE:
                reason = "the question leans on its conversation"
                yield from all_not_applicable(self.measures, reason, step=index)
                continue
            readings = self._model.read([(question, rewrite) for rewrite in rewrites])
            found = [each.same_meaning for each in readings if each.same_meaning is not None]
            if not found:
                reason = "this model does not compare meanings"
                yield from all_not_applicable(self.measures, reason, step=index)
                continue
            farthest = found.index(min(found))
            yield measured(
                "rewriter.same_meaning",
                max(found),
                "no rewrite seems to ask what the question does" if clearly_not(max(found)) else "",
                step=index,
            )
            yield measured(
                "rewriter.same_meaning_least",
                min(found),
                "one of the rewrites seems to ask something else than the question"
                if clearly_not(min(found)) and len(found) > 1
                else "",
                step=index,
                quotes=(rewrites[farthest][:300],) if clearly_not(min(found)) else (),
            )

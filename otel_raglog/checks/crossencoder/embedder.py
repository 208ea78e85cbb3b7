"""Measures whether the embedded text still asks what its query does."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.check import Declaration, Suspect, Unit, measured, names_of, not_applicable
from otel_raglog.checks.crossencoder.passages import clearly_not
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.embedded import embedded_for
from otel_raglog.model import Measurement, Run, Stage

_MAX_TEXTS = 8


class EmbedderReading:
    """Each embedded text beside the question and rewrites, of which it should be one."""

    name = "crossencoder.embedder"
    stage = Stage.EMBEDDER
    declarations = (
        Declaration(
            "embedder.same_meaning",
            Unit.LOG_ODDS,
            Suspect.LOW,
            "that the worst embedded text asks the same as its nearest query",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield ``embedder.same_meaning`` for every embedding step."""
        known = embedded_for(run)
        references = known.texts[:_MAX_TEXTS]
        for index, step in enumerate(run.embedders):
            texts = [text for text in (step.texts.value or ()) if text.strip()][:_MAX_TEXTS]
            if step.passage or not step.texts.usable or not texts or not references:
                reason = "no embedded query text, or nothing to compare"
                yield not_applicable(self.measures[0], reason, step=index)
            elif known.hidden and not set(texts) <= set(references):
                reason = "what a rewriter wrote is not readable"
                yield not_applicable(self.measures[0], reason, step=index)
            else:
                yield self._measure(texts, references, index)

    def _measure(self, texts: list[str], references: tuple[str, ...], index: int) -> Measurement:
        pairs = [[(reference, text) for reference in references] for text in texts]
        nearest = [
            max(
                (r.same_meaning for r in self._model.read(each) if r.same_meaning is not None),
                default=None,
            )
            for each in pairs
        ]
        found = [value for value in nearest if value is not None]
        if not found:
            reason = "this model does not compare meanings"
            return not_applicable(self.measures[0], reason, step=index)
        return measured(
            self.measures[0],
            min(found),
            "the embedded text seems to ask something else than its query"
            if clearly_not(min(found))
            else "",
            step=index,
        )

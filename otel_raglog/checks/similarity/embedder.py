"""Measures how far the embedded text drifts from its query, by sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.check import Declaration, Suspect, Unit, measured, names_of, not_applicable
from otel_raglog.checks.embedded import embedded_for
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import text_similarities
from otel_raglog.model import Measurement, Run, Stage

_MAX_TEXTS = 16


class EmbedderSimilarity:
    """Cosine of each embedded text and the nearest of question and rewrites; the worst text."""

    name = "similarity.embedder"
    stage = Stage.EMBEDDER
    declarations = (
        Declaration(
            "embedder.similarity",
            Unit.COSINE,
            Suspect.LOW,
            "the worst embedded text to its nearest query",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield ``embedder.similarity`` for every embedding step."""
        known = embedded_for(run)
        references = known.texts[:_MAX_TEXTS]
        for index, step in enumerate(run.embedders):
            texts = [t for t in (step.texts.value or ()) if t.strip()][:_MAX_TEXTS]
            if step.passage or not step.texts.usable or not texts or not references:
                yield not_applicable(
                    self.measures[0], "no embedded query text, or nothing to compare", step=index
                )
                continue
            if known.hidden and not set(texts) <= set(references):
                yield not_applicable(
                    self.measures[0], "what a rewriter wrote is not readable", step=index
                )
                continue
            worst = min(max(text_similarities(t, references, self._encoder)) for t in texts)
            yield measured(
                self.measures[0],
                worst,
                f"the embedded text's meaning is {worst:.2f} similar to the query's",
                step=index,
            )

"""Measures how far each rewrite drifts from the question, by sentence embeddings."""

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
from otel_raglog.checks.reading import history_of, question_of, rewrites_of, searched_besides
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import text_similarities
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.model import Measurement, RewriteKind, Run, Stage

_MAX_REWRITES = 16
_LITTLE = 0.8


class RewriterSimilarity:
    """Cosine of question and rewrites: the best, the mean, and the worst of a step.

    Where there was talk before, a rewrite is compared with the question after the last turns as
    well, since a follow-up alone ("and in 2021?") says little. ``meaning_kept`` is the best similarity, or the
    share of the question's words that the rewrites keep when that is more: keywords are less
    similar to a question by their form alone. A question that was itself searched for beside the
    rewrites is kept. Hypothetical passages (HyDE) are exempt.
    """

    name = "similarity.rewriter"
    stage = Stage.REWRITER
    declarations = (
        Declaration(
            "rewriter.best_similarity",
            Unit.COSINE,
            Suspect.LOW,
            "question to the most similar rewrite",
        ),
        Declaration(
            "rewriter.mean_similarity", Unit.COSINE, Suspect.LOW, "question to rewrites, mean"
        ),
        Declaration(
            "rewriter.worst_similarity",
            Unit.COSINE,
            Suspect.LOW,
            "question to the least similar rewrite",
        ),
        Declaration(
            "rewriter.meaning_kept",
            Unit.COSINE,
            Suspect.LOW,
            "the best similarity, or the kept share of the question's words when that is more (keyword form is no fault)",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every rewriting step."""
        question = question_of(run)
        for index, step in enumerate(run.rewriters):
            rewrites = rewrites_of(step)[:_MAX_REWRITES]
            if question is None or not rewrites or step.kind is RewriteKind.HYDE:
                yield from all_not_applicable(
                    self.measures,
                    "no question, no rewrite, or a hypothetical passage",
                    step=index,
                )
                continue
            references = [question]
            if history_of(run):
                references.append("\n".join((*history_of(run)[-2:], question)))
            each = [
                max(pair)
                for pair in zip(
                    *(text_similarities(r, rewrites, self._encoder) for r in references),
                    strict=True,
                )
            ]
            mean = sum(each) / len(each)
            yield measured(
                "rewriter.best_similarity",
                max(each),
                f"the rewrite's meaning is {max(each):.2f} similar to the question's",
                step=index,
            )
            yield measured("rewriter.mean_similarity", mean, step=index)
            yield measured("rewriter.worst_similarity", min(each), step=index)
            besides = searched_besides(run, step)
            kept = coverage(question_weights(question), WordIndex((*rewrites, *besides)))
            yield measured(
                "rewriter.meaning_kept",
                max(*each, kept),
                f"the rewrite keeps little of the question (similarity {max(each):.2f}, "
                f"{kept:.0%} of its words)"
                if max(*each, kept) < _LITTLE
                else "",
                step=index,
            )

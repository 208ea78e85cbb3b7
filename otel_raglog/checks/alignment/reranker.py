"""Measures whether a reranker excluded a sentence that fits the question better, by tokens."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from otel_raglog.checks.alignment.fit import fit_of
from otel_raglog.checks.alignment.tokens import sentences_of
from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.reading import chunk_text, chunks_of, question_forms, readable
from otel_raglog.checks.rules.reranker import candidates_of, excluded_of, rank_name, with_texts
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.model import Measurement, RerankStep, Run, Stage

_CLEARLY = 0.05


class RerankerAlignment:
    """Token fit of the best sentence among the excluded chunks against the best selected one."""

    name = "alignment.reranker"
    stage = Stage.RERANKER
    declarations = (
        Declaration(
            "reranker.token_fit_selected",
            Unit.COSINE,
            Suspect.LOW,
            "token fit of the best place in the selected chunks to the question",
        ),
        Declaration(
            "reranker.token_fit_excluded",
            Unit.COSINE,
            Suspect.HIGH,
            "the same in the excluded chunks",
        ),
        Declaration(
            "reranker.token_fit_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "the excluded chunks' token fit minus the selected ones'",
        ),
        Declaration(
            "reranker.token_fit_least_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "the same for the question's worst matched token",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

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
        inside = sentences_of([chunk_text(chunk) for chunk in passed], self._encoder)
        outside = sentences_of([chunk_text(chunk) for chunk in excluded], self._encoder)
        if not forms or inside is None or outside is None:
            reason = "no question, nothing excluded, or no text to compare"
            return all_not_applicable(self.measures, reason, step=index)
        kept = fit_of(forms, inside, self._encoder)
        left = fit_of(forms, outside, self._encoder)
        gap = float(np.max(left.mean) - np.max(kept.mean))
        best = excluded[int(outside.pieces[left.best])]
        return (
            measured("reranker.token_fit_selected", float(np.max(kept.mean)), step=index),
            measured("reranker.token_fit_excluded", float(np.max(left.mean)), step=index),
            measured(
                "reranker.token_fit_gap",
                gap,
                f"a sentence of the excluded {rank_name(best, candidates)} fits the question's "
                f"words better ({np.max(left.mean):.2f}) than all that was passed on "
                f"({np.max(kept.mean):.2f})"
                if gap > _CLEARLY
                else "",
                step=index,
                quotes=(outside.texts[left.best][:300],) if gap > _CLEARLY else (),
            ),
            measured(
                "reranker.token_fit_least_gap",
                float(np.max(left.least) - np.max(kept.least)),
                step=index,
            ),
        )

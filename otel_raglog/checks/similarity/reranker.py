"""Measures whether a reranker excluded chunks more relevant than those it passed on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
    not_applicable,
)
from otel_raglog.checks.reading import chunk_text, chunks_of, question_forms, readable
from otel_raglog.checks.rules.reranker import (
    candidates_of,
    excluded_of,
    rank_name,
    with_texts,
)
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import relevances, spearman
from otel_raglog.checks.similarity.retriever import IRRELEVANT
from otel_raglog.model import Chunk, Measurement, RerankStep, Run, Stage

_EQUAL = 0.05
"""Relevances nearer than this are not told apart."""


class RerankerSimilarity:
    """Relevance of excluded against selected chunks, and of the order, per reranking step."""

    name = "similarity.reranker"
    stage = Stage.RERANKER
    declarations = (
        Declaration(
            "reranker.best_selected",
            Unit.RELEVANCE,
            Suspect.LOW,
            "highest relevance of a selected chunk",
        ),
        Declaration(
            "reranker.best_excluded",
            Unit.RELEVANCE,
            Suspect.HIGH,
            "highest relevance of an excluded chunk",
        ),
        Declaration(
            "reranker.relevance_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "best_excluded minus best_selected",
        ),
        Declaration(
            "reranker.weak_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the selected chunks with a relevance below 0.3",
        ),
        Declaration(
            "reranker.order_spearman",
            Unit.CORRELATION,
            Suspect.LOW,
            "rank correlation of the selected chunks' order and similarity",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every reranking step."""
        forms = question_forms(run)
        for index, step in enumerate(run.rerankers):
            candidates = candidates_of(run, step)
            selected = chunks_of(step.selected)
            passed = (
                readable(with_texts(selected, candidates))
                if selected and candidates is not None
                else ()
            )
            if not forms or not passed or candidates is None:
                yield from all_not_applicable(
                    self.measures, "no question, selection or candidates with text", step=index
                )
                continue
            yield from self._measure_step(forms, passed, candidates, step, index)

    def _measure_step(
        self,
        forms: tuple[str, ...],
        passed: tuple[Chunk, ...],
        candidates: tuple[Chunk, ...],
        step: RerankStep,
        index: int,
    ) -> Iterator[Measurement]:
        found = relevances(forms, [chunk_text(c) for c in passed], self._encoder)
        totals = [relevance.total for relevance in found]
        yield measured("reranker.best_selected", max(totals), step=index)
        weak = sum(total < IRRELEVANT for total in totals)
        yield measured(
            "reranker.weak_share",
            weak / len(totals),
            f"{weak} of {len(totals)} chunks passed on have little to do with the question"
            if weak
            else "",
            step=index,
        )
        order = spearman(
            [-rank for rank in range(len(found))], [relevance.similarity for relevance in found]
        )
        if order is None:
            yield not_applicable("reranker.order_spearman", "fewer than three chunks", step=index)
        else:
            yield measured("reranker.order_spearman", order, step=index)
        yield from self._excluded(forms, candidates, step, max(totals), index)

    def _excluded(
        self,
        forms: tuple[str, ...],
        candidates: tuple[Chunk, ...],
        step: RerankStep,
        best_selected: float,
        index: int,
    ) -> Iterator[Measurement]:
        excluded = readable(excluded_of(candidates, step.selected.value or ()))
        names = ("reranker.best_excluded", "reranker.relevance_gap")
        if not excluded:
            yield from all_not_applicable(names, "no chunk was excluded", step=index)
            return
        left = relevances(forms, [chunk_text(c) for c in excluded], self._encoder)
        best = max(range(len(left)), key=lambda i: left[i].total)
        total = left[best].total
        yield measured("reranker.best_excluded", total, step=index)
        gap = total - best_selected
        yield measured(
            "reranker.relevance_gap",
            gap,
            _gap_phrase(rank_name(excluded[best], candidates), total, best_selected),
            step=index,
            quotes=(excluded[best].text[:300],) if gap > _EQUAL else (),
        )


def _gap_phrase(name: str, excluded: float, selected: float) -> str:
    if excluded - selected > _EQUAL:
        return (
            f"the excluded {name} is more relevant to the question ({excluded:.2f}) than every "
            f"chunk that was passed on ({selected:.2f})"
        )
    if selected - excluded > _EQUAL:
        return "every excluded chunk is less relevant than the best one passed on"
    return "no excluded chunk is clearly more relevant than the best one passed on"

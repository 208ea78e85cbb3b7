"""Measures what each reranking step excluded, by the question's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import chunk_name, counted, listing
from otel_raglog.checks.reading import (
    chunk_text,
    chunks_of,
    question_of,
    readable,
    retrieved_of,
)
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.mapping.chunks import ids_of_several, known_by_id, places
from otel_raglog.model import Chunk, Measurement, RerankStep, Run, Stage


class RerankerRules:
    """How many chunks a reranker excluded, and whether they cover the question better.

    Chunks are the same when their texts are, or their ids and one text is a version of the
    other. Without recorded candidates, the union of what was retrieved stands in for them.
    """

    name = "rules.reranker"
    stage = Stage.RERANKER
    _of_text = ("reranker.coverage_gap", "reranker.words_only_in_excluded")
    declarations = (
        Declaration(
            "reranker.excluded", Unit.COUNT, Suspect.NEITHER, "how many candidates were excluded"
        ),
        Declaration("reranker.selected", Unit.COUNT, Suspect.NEITHER, "how many were passed on"),
        Declaration(
            "reranker.empty", Unit.FLAG, Suspect.HIGH, "1 when none of the candidates was passed on"
        ),
        Declaration(
            "reranker.coverage_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "coverage of the question by the best excluded chunk minus that by the best selected one",
        ),
        Declaration(
            "reranker.words_only_in_excluded",
            Unit.SHARE,
            Suspect.HIGH,
            "weighted share of the question's words that only excluded chunks have",
        ),
    )
    measures = names_of(declarations)

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every reranking step."""
        question = question_of(run)
        for index, step in enumerate(run.rerankers):
            candidates, selected = candidates_of(run, step), chunks_of(step.selected)
            if candidates is None or selected is None:
                yield from all_not_applicable(
                    self.measures, "candidates or selection not recorded", step=index
                )
                continue
            excluded = excluded_of(candidates, selected)
            yield from _counts(candidates, selected, excluded, index)
            with_text = readable(with_texts(selected, candidates))
            if question is None or not with_text or not readable(excluded):
                yield from all_not_applicable(
                    self._of_text, "nothing excluded, or no text to compare", step=index
                )
                continue
            yield from _words(question, with_text, candidates, readable(excluded), index)


def candidates_of(run: Run, step: RerankStep) -> tuple[Chunk, ...] | None:
    """Return what the reranker was given, or else what had been retrieved."""
    own = chunks_of(step.candidates)
    return own if own is not None else retrieved_of(run)


def excluded_of(candidates: Sequence[Chunk], selected: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return the candidates that were not selected, in order."""
    return tuple(
        chunk
        for chunk, place in zip(candidates, places(candidates, selected), strict=True)
        if place is None
    )


def with_texts(selected: Sequence[Chunk], candidates: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return the selected chunks; one recorded by id alone takes its text from the candidates."""
    known = known_by_id([candidates], ids_of_several([candidates]))
    return tuple(
        chunk if chunk.text.strip() or chunk.id is None else known.get(chunk.id, chunk)
        for chunk in selected
    )


def rank_name(chunk: Chunk, candidates: Sequence[Chunk]) -> str:
    """Return the chunk's name with its rank among the candidates."""
    rank = next((i for i, c in enumerate(candidates, 1) if c is chunk), 0)
    return chunk_name(rank, chunk)


def _counts(
    candidates: Sequence[Chunk], selected: Sequence[Chunk], excluded: Sequence[Chunk], index: int
) -> Iterator[Measurement]:
    yield measured(
        "reranker.excluded",
        len(excluded),
        f"{len(excluded)} of {counted(len(candidates), 'candidate')} were excluded",
        step=index,
    )
    yield measured("reranker.selected", len(selected), step=index)
    nothing = not selected and bool(candidates)
    yield measured(
        "reranker.empty",
        float(nothing),
        f"the reranker passed on none of {counted(len(candidates), 'chunk')}" if nothing else "",
        step=index,
    )


def _words(
    question: str,
    selected: Sequence[Chunk],
    candidates: Sequence[Chunk],
    excluded: Sequence[Chunk],
    index: int,
) -> Iterator[Measurement]:
    weights = question_weights(question)
    kept = [coverage(weights, WordIndex.of(chunk_text(c))) for c in selected]
    left = [coverage(weights, WordIndex.of(chunk_text(c))) for c in excluded]
    best = max(range(len(left)), key=left.__getitem__)
    gap = left[best] - max(kept)
    name = rank_name(excluded[best], candidates)
    yield measured(
        "reranker.coverage_gap",
        gap,
        f"the excluded {name} has {left[best]:.0%} of the question's words, "
        f"the best selected chunk {max(kept):.0%}"
        if gap > 0
        else "",
        step=index,
    )
    union = WordIndex(chunk_text(chunk) for chunk in selected)
    out = WordIndex(chunk_text(chunk) for chunk in excluded)
    only_out = [w for w in weights if out.holds_related(w) and not union.holds_related(w)]
    share = sum(weights[w] for w in only_out) / max(1.0, sum(weights.values()))
    yield measured(
        "reranker.words_only_in_excluded",
        share,
        f"only excluded chunks mention {listing(only_out)}" if only_out else "",
        step=index,
    )

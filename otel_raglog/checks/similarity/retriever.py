"""Measures how relevant the retrieved chunks are to the question, by sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
    not_applicable,
)
from otel_raglog.checks.phrases import chunk_name, counted
from otel_raglog.checks.reading import chunk_text, question_forms, readable, retrieved_of
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import Relevance, relevances, spearman
from otel_raglog.model import Chunk, Measurement, Run, Stage

RELEVANT = 0.5
"""Total relevance from which a chunk counts as relevant (see docs/detector.md)."""
IRRELEVANT = 0.3
"""Total relevance below which a chunk counts as irrelevant; between both lies doubt."""


class RetrieverSimilarity:
    """Similarity and relevance of the chunks of all hops to the original question."""

    name = "similarity.retriever"
    stage = Stage.RETRIEVER
    declarations = (
        Declaration(
            "retriever.best_similarity",
            Unit.COSINE,
            Suspect.LOW,
            "question to the most similar chunk",
        ),
        Declaration(
            "retriever.mean_similarity", Unit.COSINE, Suspect.LOW, "question to chunks, mean"
        ),
        Declaration(
            "retriever.best_rank", Unit.RANK, Suspect.HIGH, "rank of the most similar chunk"
        ),
        Declaration(
            "retriever.best_relevance",
            Unit.RELEVANCE,
            Suspect.LOW,
            "highest relevance of a chunk: 0.6 of the cosine and 0.4 of the coverage",
        ),
        Declaration(
            "retriever.relevant_share",
            Unit.SHARE,
            Suspect.LOW,
            "share of chunks with a relevance from 0.5 on",
        ),
        Declaration(
            "retriever.irrelevant_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of chunks with a relevance below 0.3",
        ),
        Declaration(
            "retriever.top_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "similarity of the most similar chunk minus that of the first",
        ),
        Declaration(
            "retriever.order_spearman",
            Unit.CORRELATION,
            Suspect.LOW,
            "rank correlation of order and similarity",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a retriever."""
        if not run.retrievers:
            return
        forms = question_forms(run)
        chunks = readable(retrieved_of(run) or ())
        if not forms or not chunks:
            yield from all_not_applicable(self.measures, "no question or no chunk text")
            return
        found = relevances(forms, [chunk_text(chunk) for chunk in chunks], self._encoder)
        yield from _of_chunks(chunks, found)


def _of_chunks(chunks: Sequence[Chunk], found: Sequence[Relevance]) -> Iterator[Measurement]:
    similarities = [relevance.similarity for relevance in found]
    totals = [relevance.total for relevance in found]
    nearest = max(range(len(found)), key=similarities.__getitem__)
    best = max(range(len(found)), key=totals.__getitem__)
    name = chunk_name(best + 1, chunks[best])
    read = counted(len(found), "chunk")
    if len(found) < len(chunks):
        read = f"the first {read}"
    yield measured(
        "retriever.best_similarity",
        similarities[nearest],
        f"the most similar chunk ({chunk_name(nearest + 1, chunks[nearest])}) reaches "
        f"{similarities[nearest]:.2f}",
    )
    yield measured("retriever.mean_similarity", sum(similarities) / len(similarities))
    yield measured("retriever.best_rank", nearest + 1)
    yield measured(
        "retriever.best_relevance",
        totals[best],
        f"the most relevant of {read}, {name}, has a relevance of "
        f"{totals[best]:.2f} to the question",
        quotes=(chunks[best].text[:300],),
    )
    relevant = sum(total >= RELEVANT for total in totals)
    yield measured(
        "retriever.relevant_share",
        relevant / len(totals),
        f"{relevant} of {read} {'is' if relevant == 1 else 'are'} relevant to the question",
    )
    irrelevant = sum(total < IRRELEVANT for total in totals)
    yield measured(
        "retriever.irrelevant_share",
        irrelevant / len(totals),
        f"{irrelevant} of {read} {'has' if irrelevant == 1 else 'have'} little to do with the question"
        if irrelevant
        else "",
    )
    yield measured(
        "retriever.top_gap",
        similarities[nearest] - similarities[0],
        f"the most similar chunk is only at rank {nearest + 1}" if nearest else "",
    )
    correlation = spearman([-rank for rank in range(len(found))], similarities)
    if correlation is None:
        yield not_applicable("retriever.order_spearman", "fewer than three different chunks")
    else:
        yield measured("retriever.order_spearman", correlation)

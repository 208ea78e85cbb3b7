"""Measures whether the text that assembly lost was more relevant than what is in the prompt."""

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
from otel_raglog.checks.phrases import chunk_name
from otel_raglog.checks.reading import chunk_text, question_forms
from otel_raglog.checks.rules.assembly import Fates, fates_of
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import relevances
from otel_raglog.checks.similarity.retriever import RELEVANT
from otel_raglog.checks.text.survival import Fate
from otel_raglog.model import Measurement, Run, Stage

_MIDDLE_FROM = 5
"""Chunks from which on there is a middle that models overlook (Liu et al. 2023)."""


class AssemblySimilarity:
    """Relevance of dropped chunks and cut-off tails against the chunks that are in the prompt.

    A gap above zero means that the most relevant selected text is not in the prompt.
    """

    name = "similarity.assembly"
    stage = Stage.ASSEMBLY
    declarations = (
        Declaration(
            "assembly.dropped_relevance",
            Unit.RELEVANCE,
            Suspect.HIGH,
            "highest relevance of a chunk that is not in the prompt",
        ),
        Declaration(
            "assembly.dropped_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "by how much that exceeds the best in the prompt",
        ),
        Declaration(
            "assembly.cut_relevance",
            Unit.RELEVANCE,
            Suspect.HIGH,
            "highest relevance of a cut-off end",
        ),
        Declaration(
            "assembly.cut_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "by how much that exceeds the best in the prompt",
        ),
        Declaration(
            "assembly.evidence_in_middle",
            Unit.FLAG,
            Suspect.NEITHER,
            "1 when the most relevant of five or more chunks stands between the first and the last quarter of the context",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has the stage."""
        if not run.assemblies:
            return
        forms, fates = question_forms(run), fates_of(run)
        if not forms or fates is None or not fates.chunks:
            yield from all_not_applicable(self.measures, "no question, selection or prompt")
            return
        yield from self._lost(forms, fates, Fate.DROPPED, "dropped")
        yield from self._lost(forms, fates, Fate.TRUNCATED, "cut")
        yield self._middle(forms, fates)

    def _lost(
        self, forms: tuple[str, ...], fates: Fates, fate: Fate, word: str
    ) -> Iterator[Measurement]:
        ranks = fates.ranks(fate)
        names = (f"assembly.{word}_relevance", f"assembly.{word}_gap")
        if not ranks:
            yield from all_not_applicable(names, f"no chunk was {word}")
            return
        lost = [
            chunk_text(fates.chunks[rank - 1]) if fate is Fate.DROPPED else lost_tail(fates, rank)
            for rank in ranks
        ]
        found = relevances(forms, lost, self._encoder)
        best = max(range(len(found)), key=lambda i: found[i].total)
        left = relevances(forms, remaining_texts(fates), self._encoder)
        highest = max((relevance.total for relevance in left), default=0.0)
        rank = ranks[best]
        name = chunk_name(rank, fates.chunks[rank - 1])
        what = name if fate is Fate.DROPPED else f"the missing end of {name}"
        gap = found[best].total - highest
        yield measured(
            names[0],
            found[best].total,
            f"{what} has a relevance of {found[best].total:.2f} to the question",
            quotes=(lost[best][:300],),
        )
        yield measured(
            names[1],
            gap,
            f"{what} is more relevant to the question than anything in the prompt"
            if gap > 0
            else "what is in the prompt is at least as relevant as what is missing",
        )

    def _middle(self, forms: tuple[str, ...], fates: Fates) -> Measurement:
        name = "assembly.evidence_in_middle"
        if len(fates.chunks) < _MIDDLE_FROM:
            return not_applicable(name, "too few chunks for a middle")
        found = relevances(forms, [chunk_text(c) for c in fates.chunks], self._encoder)
        best = max(range(len(found)), key=lambda i: found[i].total)
        place = fates.survivals[best].position
        order = sorted(
            (s.position, i) for i, s in enumerate(fates.survivals) if s.position is not None
        )
        if found[best].total < RELEVANT:
            return not_applicable(name, "no chunk is relevant")
        if place is None or not order:
            return not_applicable(name, "the most relevant chunk is not in the prompt")
        at = [i for _, i in order].index(best) / max(1, len(order) - 1)
        first, last = 0.25, 0.75
        middle = first < at < last
        return measured(
            name,
            float(middle),
            f"the most relevant chunk ({chunk_name(best + 1, fates.chunks[best])}) stands in the "
            f"middle of {len(order)}"
            if middle
            else "",
        )


def lost_tail(fates: Fates, rank: int) -> str:
    """Return what the prompt lacks of the selected chunk of that rank, its title in front."""
    chunk = fates.chunks[rank - 1]
    title = f"{chunk.title}: " if chunk.title else ""
    return title + fates.survivals[rank - 1].lost_text


def remaining_texts(fates: Fates) -> list[str]:
    """Return what is left of the selected chunks in the prompt."""
    left = []
    for chunk, survival in zip(fates.chunks, fates.survivals, strict=True):
        if survival.fate is Fate.DROPPED:
            continue
        text = chunk_text(chunk)
        if survival.fate is Fate.TRUNCATED:
            text = " ".join(text.split()[: max(1, int(survival.kept * len(text.split())))])
        left.append(text)
    return left

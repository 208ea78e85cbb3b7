"""Measures whether the text that assembly lost holds what the question asks."""

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
from otel_raglog.checks.phrases import chunk_name
from otel_raglog.checks.reading import chunk_text, question_forms
from otel_raglog.checks.rules.assembly import fates_of
from otel_raglog.checks.similarity.assembly import lost_tail, remaining_texts
from otel_raglog.checks.text.survival import Fate
from otel_raglog.model import Measurement, Run, Stage


class AssemblyReading:
    """The dropped chunk or cut-off end that most surely answers, against the best in the prompt."""

    name = "crossencoder.assembly"
    stage = Stage.ASSEMBLY
    declarations = (
        Declaration(
            "assembly.answerable_lost",
            Unit.LOG_ODDS,
            Suspect.HIGH,
            "that a dropped chunk or a cut-off end holds what the question asks",
        ),
        Declaration(
            "assembly.answerable_gap",
            Unit.LOG_ODDS,
            Suspect.HIGH,
            "by how much that exceeds the best in the prompt",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has the stage."""
        if not run.assemblies:
            return
        forms, fates = question_forms(run), fates_of(run)
        if not forms or fates is None:
            yield from all_not_applicable(self.measures, "no question, selection or prompt")
            return
        dropped, cut = fates.ranks(Fate.DROPPED), fates.ranks(Fate.TRUNCATED)
        lost = [
            *((rank, chunk_text(fates.chunks[rank - 1])) for rank in dropped),
            *((rank, lost_tail(fates, rank)) for rank in cut),
        ]
        if not lost:
            yield from all_not_applicable(self.measures, "no chunk was dropped or cut")
            return
        found = answered_by(forms, [text for _, text in lost], self._model)
        best = max(range(len(found)), key=lambda i: found[i].answers)
        left = answered_by(forms, remaining_texts(fates), self._model)
        highest = max((each.answers for each in left), default=None)
        rank = lost[best][0]
        says = (
            f"what the prompt lacks of {chunk_name(rank, fates.chunks[rank - 1])} seems to hold what "
            "is asked, and nothing in the prompt does"
            if clearly(found[best].answers) and (highest is None or clearly_not(highest))
            else ""
        )
        yield measured("assembly.answerable_lost", found[best].answers, says)
        if highest is None:
            yield from all_not_applicable(("assembly.answerable_gap",), "no chunk is in the prompt")
            return
        yield measured("assembly.answerable_gap", found[best].answers - highest, says)

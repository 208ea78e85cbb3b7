"""Judged runs and whether their answers are right to hidden faults and the causes of wrong answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.lab.evaluation.outcomes import JudgedRun
from otel_raglog.lab.references.correctness import By, Correctness, Judged
from otel_raglog.model import RunVerdict, Stage, StageVerdict
from otel_raglog.report.building import run_verdict

NO_STAGE = "none"
NOT_JUDGED = "unknown"

Counts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hidden:
    """Runs with a right answer in which a stage is faulty: by the labels, by the verdicts, by both."""

    by_labels: float = 0.0
    by_verdicts: float = 0.0
    by_both: float = 0.0


@dataclass(frozen=True, slots=True)
class CorrectnessFigures:
    """What right and wrong answers have to do with faults. Runs judged several times count as one.

    ``answers`` counts runs by :class:`Correctness`, ``by`` by who said so. ``verdicts`` and
    ``labels`` are runs by what is said of them (``faulty``, ``ok``, ``unknown``), then by
    correctness. ``first_by_labels`` and ``first_by_verdicts`` count the wrong answers by their first
    faulty stage; :data:`NO_STAGE` where none is faulty, :data:`NOT_JUDGED` where the run was not
    judged. ``same_first`` are those of which both name the same stage, or both none; ``both_name``
    those of which both name one, ``same_named`` those where it is the same.
    """

    answers: Counts
    by: Counts
    verdicts: Mapping[str, Counts]
    labels: Mapping[str, Counts]
    hidden: Hidden
    hidden_stages: Mapping[Stage, Hidden]
    first_by_labels: Counts
    first_by_verdicts: Counts
    same_first: float
    both_name: float
    same_named: float

    @property
    def right(self) -> float:
        """How many answers are right."""
        return self.answers[Correctness.CORRECT]

    @property
    def wrong(self) -> float:
        """How many answers are wrong."""
        return self.answers[Correctness.WRONG]

    @property
    def agreement(self) -> float | None:
        """The share of wrong answers of which labels and verdicts say the same first stage."""
        return self.same_first / self.wrong if self.wrong else None


def correctness_figures(
    judged: Sequence[JudgedRun], known: Mapping[str, Judged]
) -> CorrectnessFigures | None:
    """Return the figures of ``judged``; ``None`` where nothing is known of any of its answers.

    ``known`` says by run id whether an answer is right. A run counts as faulty by its labels when a
    labelled stage is.
    """
    rows = [(each, _of(each, known)) for each in judged]
    if all(found.correctness is Correctness.UNKNOWN for _, found in rows):
        return None
    times = Counter(id(each.measured) for each in judged)
    weighted = [(each, found, 1.0 / times[id(each.measured)]) for each, found in rows]
    right = [
        (each, weight)
        for each, found, weight in weighted
        if found.correctness is Correctness.CORRECT
    ]
    wrong = [
        (_first_labelled(each), _first_said(each), weight)
        for each, found, weight in weighted
        if found.correctness is Correctness.WRONG
    ]
    named = [(one, other, w) for one, other, w in wrong if {one, other}.isdisjoint(_NO_STAGES)]
    return CorrectnessFigures(
        answers=_counted(Correctness, ((found.correctness, w) for _, found, w in weighted)),
        by=_counted(By, ((found.by, w) for _, found, w in weighted)),
        verdicts=_crossed((run_verdict(e.verdicts), f.correctness, w) for e, f, w in weighted),
        labels=_crossed((_labelled(e), f.correctness, w) for e, f, w in weighted),
        hidden=_hidden(
            (e.labels.run_faulty, run_verdict(e.verdicts) is RunVerdict.FAULTY, w) for e, w in right
        ),
        hidden_stages={
            stage: _hidden(
                (e.labels.faulty.get(stage, False), _flagged(e, stage), w) for e, w in right
            )
            for stage in Stage
        },
        first_by_labels=_counted((*Stage, *_NO_STAGES), ((one, w) for one, _, w in wrong)),
        first_by_verdicts=_counted((*Stage, *_NO_STAGES), ((other, w) for _, other, w in wrong)),
        same_first=_summed(w for one, other, w in wrong if one == other),
        both_name=_summed(w for *_, w in named),
        same_named=_summed(w for one, other, w in named if one == other),
    )


_NO_STAGES = (NO_STAGE, NOT_JUDGED)
_DIGITS = 6


def _of(judged: JudgedRun, known: Mapping[str, Judged]) -> Judged:
    run_id = judged.labels.run_id
    return known.get(run_id) or Judged(run_id, Correctness.UNKNOWN, By.NOBODY)


def _labelled(judged: JudgedRun) -> RunVerdict:
    return RunVerdict.FAULTY if judged.labels.run_faulty else RunVerdict.OK


def _flagged(judged: JudgedRun, stage: Stage) -> bool:
    verdict = judged.verdicts.get(stage)
    return verdict is not None and verdict.verdict is StageVerdict.FAULTY


def _first_labelled(judged: JudgedRun) -> str:
    faulty = (stage for stage in Stage if judged.labels.faulty.get(stage, False))
    return next(faulty, NO_STAGE)


def _first_said(judged: JudgedRun) -> str:
    none = NOT_JUDGED if run_verdict(judged.verdicts) is RunVerdict.UNKNOWN else NO_STAGE
    return next((stage for stage in Stage if _flagged(judged, stage)), none)


def _hidden(rows: Iterable[tuple[bool, bool, float]]) -> Hidden:
    every = list(rows)
    return Hidden(
        by_labels=_summed(weight for labelled, _, weight in every if labelled),
        by_verdicts=_summed(weight for _, flagged, weight in every if flagged),
        by_both=_summed(weight for labelled, flagged, weight in every if labelled and flagged),
    )


def _crossed(rows: Iterable[tuple[RunVerdict, Correctness, float]]) -> Mapping[str, Counts]:
    every = list(rows)
    return {
        said.value: _counted(Correctness, ((right, w) for each, right, w in every if each is said))
        for said in RunVerdict
    }


def _counted(keys: Iterable[str], rows: Iterable[tuple[str, float]]) -> Counts:
    every = list(rows)
    return {str(key): _summed(weight for found, weight in every if found == key) for key in keys}


def _summed(weights: Iterable[float]) -> float:
    # Thirds do not add up exactly.
    return round(sum(weights), _DIGITS)

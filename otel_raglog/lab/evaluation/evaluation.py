"""All figures of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.detect.training.labels import Labels
from otel_raglog.lab.evaluation.ablation import Variant
from otel_raglog.lab.evaluation.calibration import Calibration, calibrations_of
from otel_raglog.lab.evaluation.confusion import DRAWS, Figures, Interval, Slice, slice_of
from otel_raglog.lab.evaluation.correctness import CorrectnessFigures, correctness_figures
from otel_raglog.lab.evaluation.outcomes import (
    Bools,
    JudgedRun,
    Outcomes,
    outcomes_of,
)
from otel_raglog.lab.evaluation.ranking import Ranking, rankings_of
from otel_raglog.lab.evaluation.retraining import LeaveOut, LeftOut, Part, parts_of
from otel_raglog.lab.references.correctness import Judged
from otel_raglog.model import Stage, StageVerdict


@dataclass(frozen=True, slots=True)
class PartFigures:
    """How the runs of one fault type, or of one kind of injection, are judged.

    ``n`` counts its runs, ``faulty`` those whose stage is labelled faulty: an injection that was
    absorbed is none. ``recall`` is the share of ``faulty`` that was flagged, ``None`` without any;
    ``false_alarms`` counts the other flagged ones. ``named`` is the share of hits whose verdict
    names one of the label's types. ``fpr`` is that of the stage's other, faultless runs, where a
    detector was trained for this part.
    """

    part: Part
    n: int
    faulty: int
    recall: float | None
    recall_ci95: Interval | None
    false_alarms: float
    named: float | None
    fpr: float | None = None


@dataclass(frozen=True, slots=True)
class Ablated:
    """The figures with the measurements of some groups of checks alone."""

    name: str
    groups: tuple[str, ...]
    retrained: bool
    figures: Slice


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures.

    ``natural`` and ``injected`` are ``None`` where there are no such runs, ``correctness`` where
    nothing is known of any answer.
    """

    overall: Slice
    natural: Slice | None
    injected: Slice | None
    pipelines: Mapping[str, Slice]
    rankings: Mapping[Stage, Ranking]
    calibrations: Mapping[Stage | None, Calibration]
    fault_types: tuple[PartFigures, ...]
    injections: tuple[PartFigures, ...]
    ablation: tuple[Ablated, ...]
    left_out_pipelines: Mapping[str, Slice]
    left_out_parts: tuple[PartFigures, ...]
    outcomes: Outcomes
    draws: int
    seed: int
    correctness: CorrectnessFigures | None = None


def figures_of(
    judged: Sequence[JudgedRun],
    *,
    variants: Iterable[Variant] = (),
    left_out: Iterable[LeftOut] = (),
    answers: Mapping[str, Judged] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Evaluation:
    """Return the figures of ``judged``, and of the same runs judged in other ways.

    ``answers`` says by run id which answers are right.

    Raises:
        ValueError: nothing was judged.
    """
    if not judged:
        raise ValueError("no judged runs to evaluate")
    outcomes = outcomes_of(judged)

    def figures(rows: Bools) -> Slice | None:
        return slice_of(outcomes.where(rows), draws=draws, seed=seed) if rows.any() else None

    def among(wanted: Callable[[Labels], bool]) -> Slice | None:
        return figures(np.array([wanted(each.labels) for each in judged], dtype=np.bool_))

    pipelines = {
        name: among(lambda labels, name=name: labels.pipeline == name)  # type: ignore[misc]
        for name in sorted({each.labels.pipeline for each in judged})
    }
    runs = [each.measured for each in judged]
    apart = list(left_out)
    return Evaluation(
        overall=slice_of(outcomes, draws=draws, seed=seed),
        natural=among(lambda labels: labels.injected is None),
        injected=among(lambda labels: labels.injected is not None),
        pipelines={name: each for name, each in pipelines.items() if each is not None},
        rankings=rankings_of(judged, outcomes),
        calibrations=calibrations_of(outcomes),
        fault_types=tuple(
            _part_figures(part, judged, draws=draws, seed=seed)
            for part in parts_of(runs, LeaveOut.FAULT_TYPE)
        ),
        injections=tuple(
            _part_figures(part, judged, draws=draws, seed=seed)
            for part in parts_of(runs, LeaveOut.INJECTION)
        ),
        ablation=tuple(
            Ablated(
                each.name,
                each.groups,
                each.retrained,
                slice_of(outcomes_of(each.judged), draws=draws, seed=seed),
            )
            for each in variants
        ),
        left_out_pipelines={
            each.part.name: slice_of(outcomes_of(each.judged), draws=draws, seed=seed)
            for each in apart
            if each.part.kind is LeaveOut.PIPELINE and each.judged
        },
        left_out_parts=tuple(
            _part_figures(each.part, each.judged, each.faultless, draws=draws, seed=seed)
            for each in apart
            if each.part.kind is not LeaveOut.PIPELINE
        ),
        outcomes=outcomes,
        draws=draws,
        seed=seed,
        correctness=correctness_figures(judged, answers or {}),
    )


def _part_figures(
    part: Part,
    judged: Sequence[JudgedRun],
    faultless: Sequence[JudgedRun] = (),
    *,
    draws: int,
    seed: int,
) -> PartFigures:
    stage = part.stage
    own = [each for each in judged if part.holds(each.labels)]
    if stage is None or not own:
        return PartFigures(part, 0, 0, None, None, 0.0, None)
    figures = _stage_figures(own, stage, draws=draws, seed=seed)
    hits = [
        each
        for each in own
        if each.labels.faulty.get(stage, False)
        and each.verdicts[stage].verdict is StageVerdict.FAULTY
    ]
    named = [
        each
        for each in hits
        if {fault.value for fault in each.verdicts[stage].fault_types}
        & set(each.labels.types.get(stage, ()))
    ]
    caught = 0.0 if figures.recall is None else figures.recall * figures.faulty
    return PartFigures(
        part=part,
        n=len({id(each.measured) for each in own}),
        faulty=figures.faulty,
        recall=figures.recall,
        recall_ci95=figures.recall_ci95,
        # Thirds do not add up exactly; less than none there cannot be.
        false_alarms=max(0.0, round(figures.flagged - caught, 3)),
        named=len(named) / len(hits) if hits else None,
        fpr=_stage_figures(faultless, stage, draws=0, seed=seed).fpr if faultless else None,
    )


def _stage_figures(judged: Sequence[JudgedRun], stage: Stage, *, draws: int, seed: int) -> Figures:
    return slice_of(outcomes_of(judged), draws=draws, seed=seed).stages[stage]

"""Labelled runs with their verdicts to arrays, one row a run, one column a stage and the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from otel_raglog.detect.detector import Detector
from otel_raglog.detect.training.labels import Labels
from otel_raglog.model import (
    Measurement,
    Run,
    RunVerdict,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
)
from otel_raglog.report.building import run_verdict

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

STAGES: tuple[Stage, ...] = tuple(Stage)
RUN = len(STAGES)
"""The column of the run as a whole, behind those of the stages."""

UNJUDGED: tuple[str, ...] = (*(reason.value for reason in UnknownReason), "absent")
"""Why a stage has no verdict of ``faulty`` or ``ok``."""

_JUDGED = -1
_ABSTAINED = UNJUDGED.index(UnknownReason.ABSTAINED)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A labelled run with its measurements, which are made without the labels."""

    run: Run
    measurements: tuple[Measurement, ...]
    labels: Labels


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A labelled run with the verdicts to be scored.

    ``repeat`` numbers the times that a run was judged, by detectors trained on other parts of the
    runs; the figures are the mean over them.
    """

    measured: MeasuredRun
    verdicts: Mapping[Stage, Verdict]
    repeat: int = 0

    @property
    def labels(self) -> Labels:
        """What is known of the run."""
        return self.measured.labels


def judge_all(
    runs: Iterable[MeasuredRun], detector: Detector, repeat: int = 0
) -> tuple[JudgedRun, ...]:
    """Return each run with what ``detector`` says of it; it sees no label."""
    return tuple(
        JudgedRun(each, detector.judge(each.run, each.measurements), repeat) for each in runs
    )


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Labels and verdicts as arrays of shape (rows, stages + 1), the last column the run.

    ``faulty`` is meaningful where ``labelled``. ``flagged`` is true for a verdict of ``faulty``
    alone: a stage that was not judged is not flagged. ``probability`` is NaN where not judged, and
    for the run. ``unjudged`` is an index into :data:`UNJUDGED`, -1 where judged. ``group`` numbers
    the questions from 0. ``weight`` (rows,) is one over the times that the run was judged.
    """

    faulty: Bools
    labelled: Bools
    flagged: Bools
    probability: Floats
    unjudged: npt.NDArray[np.int8]
    group: npt.NDArray[np.intp]
    repeat: npt.NDArray[np.intp]
    weight: Floats

    def where(self, rows: Bools) -> Outcomes:
        """Return the rows for which ``rows`` is true."""
        return Outcomes(
            self.faulty[rows],
            self.labelled[rows],
            self.flagged[rows],
            self.probability[rows],
            self.unjudged[rows],
            self.group[rows],
            self.repeat[rows],
            self.weight[rows],
        )


def outcomes_of(judged: Sequence[JudgedRun]) -> Outcomes:
    """Return the arrays of ``judged``, in its order.

    A run counts as faulty when one of its labelled stages is, and as flagged when any stage is:
    that is what its user sees. Weights make the rows of a run count as one run.
    """
    shape = (len(judged), RUN + 1)
    faulty, labelled, flagged = (np.zeros(shape, dtype=np.bool_) for _ in range(3))
    probability = np.full(shape, np.nan)
    unjudged = np.full(shape, _JUDGED, dtype=np.int8)
    for row, each in enumerate(judged):
        for column, stage in enumerate(STAGES):
            verdict = each.verdicts.get(stage)
            labelled[row, column] = stage in each.labels.faulty
            faulty[row, column] = each.labels.faulty.get(stage, False)
            flagged[row, column] = verdict is not None and verdict.verdict is StageVerdict.FAULTY
            unjudged[row, column] = _why_unjudged(verdict)
            if verdict is not None and verdict.probability is not None:
                probability[row, column] = verdict.probability
        said = run_verdict(each.verdicts)
        labelled[row, RUN] = True
        faulty[row, RUN] = each.labels.run_faulty
        flagged[row, RUN] = said is RunVerdict.FAULTY
        unjudged[row, RUN] = _ABSTAINED if said is RunVerdict.UNKNOWN else _JUDGED
    groups = {group: number for number, group in enumerate(_distinct(judged))}
    times = Counter(id(each.measured) for each in judged)
    return Outcomes(
        faulty,
        labelled,
        flagged,
        probability,
        unjudged,
        np.array([groups[each.labels.group] for each in judged], dtype=np.intp),
        np.array([each.repeat for each in judged], dtype=np.intp),
        np.array([1.0 / times[id(each.measured)] for each in judged]),
    )


def _distinct(judged: Iterable[JudgedRun]) -> Iterable[str]:
    return dict.fromkeys(each.labels.group for each in judged)


def _why_unjudged(verdict: Verdict | None) -> int:
    if verdict is None:
        return _ABSTAINED
    if verdict.verdict is StageVerdict.ABSENT:
        return UNJUDGED.index("absent")
    if verdict.verdict is StageVerdict.UNKNOWN:
        return UNJUDGED.index(verdict.reason or UnknownReason.ABSTAINED)
    return _JUDGED

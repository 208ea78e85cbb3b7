"""Whether probabilities are ones: Brier score and reliability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from otel_raglog.lab.evaluation.outcomes import RUN, STAGES, Bools, Floats, Outcomes
from otel_raglog.model import Stage

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Probabilities from ``low`` up to ``high``: their number, mean, and the share of faults."""

    low: float
    high: float
    n: float
    mean_probability: float
    faulty_share: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far probabilities are from what happened.

    ``brier`` is the mean squared difference (Brier 1950), ``brier_of_share`` that of always saying
    the share of faults, ``calibration_error`` the mean distance of a bin's mean probability from
    its share of faults, by size (Naeini et al. 2015). Bins are of equal width; empty ones are left
    out.
    """

    n: float
    brier: float
    brier_of_share: float
    calibration_error: float
    bins: tuple[Bin, ...]


def calibration(faulty: Bools, probability: Floats, weight: Floats) -> Calibration | None:
    """Return the calibration of ``probability``; ``None`` when there is none."""
    if not len(probability):
        return None
    total = float(weight.sum())
    share = float(weight @ faulty) / total
    number = np.minimum((probability * BINS).astype(np.intp), BINS - 1)
    size = np.bincount(number, weight, BINS)
    said = np.bincount(number, weight * probability, BINS)
    happened = np.bincount(number, weight * faulty, BINS)
    bins = tuple(
        Bin(
            low=index / BINS,
            high=(index + 1) / BINS,
            n=float(size[index]),
            mean_probability=float(said[index] / size[index]),
            faulty_share=float(happened[index] / size[index]),
        )
        for index in np.flatnonzero(size > 0).tolist()
    )
    return Calibration(
        n=total,
        brier=float(weight @ (probability - faulty) ** 2) / total,
        brier_of_share=share * (1 - share),
        calibration_error=float(np.abs(said - happened).sum()) / total,
        bins=bins,
    )


def calibrations_of(outcomes: Outcomes) -> Mapping[Stage | None, Calibration]:
    """Return the calibration of each stage that was judged, and of all together under ``None``."""
    rows = outcomes.labelled & ~np.isnan(outcomes.probability)
    rows[:, RUN] = False
    weight = np.broadcast_to(outcomes.weight[:, None], rows.shape)
    found: dict[Stage | None, Calibration | None] = {
        stage: calibration(
            outcomes.faulty[rows[:, column], column],
            outcomes.probability[rows[:, column], column],
            outcomes.weight[rows[:, column]],
        )
        for column, stage in enumerate(STAGES)
    }
    found[None] = calibration(outcomes.faulty[rows], outcomes.probability[rows], weight[rows])
    return {stage: each for stage, each in found.items() if each is not None}

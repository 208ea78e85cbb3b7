"""How well probabilities and single measurements rank faulty stages: AUC and curves.

Written with numpy alone, so that ``evaluate`` runs on the service's own installation; a test
holds the results against scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.lab.evaluation.outcomes import STAGES, Bools, Floats, JudgedRun, Outcomes
from otel_raglog.model import Measurement, Stage


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well one stage's faults are ranked, on its ``n`` judged and labelled runs.

    ``auc`` is the probability that a faulty one is ranked above a faultless one, ties a half; the
    mean over the times that runs were judged. ``best_measurement`` is the stage's own measurement
    with the highest AUC, ``best_auc``, on the same runs: chosen on them, hence a strict bar.
    Everything is ``None`` without both faulty and faultless ones.
    """

    n: int
    faulty: int
    auc: float | None
    average_precision: float | None
    best_measurement: str | None
    best_auc: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision and recall at every threshold, from the highest on; no two points alike."""

    threshold: Floats
    precision: Floats
    recall: Floats


def auc(faulty: Bools, score: Floats) -> float | None:
    """Return the area under the ROC curve of ``score``; ``None`` without both classes.

    Mann and Whitney's U (1947) over the number of pairs, by mid-ranks.
    """
    positives = int(faulty.sum())
    negatives = len(faulty) - positives
    if not positives or not negatives:
        return None
    _, number, times = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    ranks = (last - (times - 1) / 2)[number]
    u = ranks[faulty].sum() - positives * (positives + 1) / 2
    return float(u / (positives * negatives))


def curve(faulty: Bools, score: Floats) -> Curve:
    """Return precision and recall when everything from a threshold on is flagged."""
    order = np.argsort(-score, kind="stable")
    ranked, sorted_faulty = score[order], faulty[order]
    # The last place of each group of equal scores.
    last = np.flatnonzero(np.append(np.diff(ranked) != 0, np.ones(min(1, len(ranked)), dtype=bool)))
    hits = np.cumsum(sorted_faulty)[last].astype(np.float64)
    flagged = last.astype(np.float64) + 1
    faults = max(1, int(faulty.sum()))
    return Curve(ranked[last], hits / flagged, hits / faults)


def average_precision(faulty: Bools, score: Floats) -> float | None:
    """Return the precision at each fault's threshold, averaged; ``None`` without both classes."""
    if not faulty.any() or faulty.all():
        return None
    points = curve(faulty, score)
    return float(np.sum(np.diff(points.recall, prepend=0.0) * points.precision))


def rankings_of(judged: Sequence[JudgedRun], outcomes: Outcomes) -> Mapping[Stage, Ranking]:
    """Return each stage's ranking; ``outcomes`` are those of ``judged``, row by row."""
    return {stage: _ranking(judged, outcomes, column, stage) for column, stage in enumerate(STAGES)}


def _ranking(judged: Sequence[JudgedRun], outcomes: Outcomes, column: int, stage: Stage) -> Ranking:
    rows = outcomes.labelled[:, column] & ~np.isnan(outcomes.probability[:, column])
    faulty, score = outcomes.faulty[:, column], outcomes.probability[:, column]
    areas, precisions = [], []
    for repeat in np.unique(outcomes.repeat):
        chosen = rows & (outcomes.repeat == repeat)
        area = auc(faulty[chosen], score[chosen])
        precision = average_precision(faulty[chosen], score[chosen])
        if area is not None and precision is not None:
            areas.append(area)
            precisions.append(precision)
    first = outcomes.repeat == min(outcomes.repeat.tolist(), default=0)
    once = rows & first
    best = best_measurement(
        [judged[row].measured.measurements for row in np.flatnonzero(once).tolist()],
        faulty[once],
        stage,
    )
    weight = outcomes.weight
    return Ranking(
        n=round(float(weight[rows].sum())),
        faulty=round(float(weight[rows & faulty].sum())),
        auc=float(np.mean(areas)) if areas else None,
        average_precision=float(np.mean(precisions)) if precisions else None,
        best_measurement=best[0] if best else None,
        best_auc=best[1] if best else None,
    )


def best_measurement(
    runs: Sequence[Sequence[Measurement]], faulty: Bools, stage: Stage
) -> tuple[str, float] | None:
    """Return the measurement of ``stage`` with the highest AUC, in either direction, and that.

    Of several steps the highest or the lowest value counts, whichever is better. A run without
    the measurement gets the median of the others, so that all are compared on the same runs.
    """
    found: dict[str, tuple[Floats, Floats]] = {}
    for row, measurements in enumerate(runs):
        for each in measurements:
            if each.stage is not stage or each.value is None:
                continue
            low, high = found.setdefault(
                each.name, (np.full(len(runs), np.nan), np.full(len(runs), np.nan))
            )
            low[row] = np.fmin(low[row], each.value)
            high[row] = np.fmax(high[row], each.value)
    best: tuple[str, float] | None = None
    for name in sorted(found):
        for values in found[name]:
            filled = np.where(np.isnan(values), np.nanmedian(values), values)
            area = auc(faulty, filled)
            if area is None:
                return None
            area = max(area, 1.0 - area)
            if best is None or area > best[1]:
                best = name, area
    return best

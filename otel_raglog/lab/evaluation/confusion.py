"""Outcomes to counts, rates and their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from otel_raglog.lab.evaluation.outcomes import RUN, STAGES, UNJUDGED, Floats, Outcomes
from otel_raglog.model import Stage

DRAWS = 2000
LEVELS = (2.5, 97.5)
POOLED = RUN + 1
"""The column of all stages together, behind that of the run."""

_CELLS = 4
_DRAWS_AT_ONCE = 200

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of confusion matrices; each of the shape of the counts' leading dimensions.

    ``floor`` is the F1 of always saying faulty. A rate whose denominator is 0 is NaN.
    """

    precision: Floats
    recall: Floats
    f1: Floats
    fpr: Floats
    floor: Floats


@dataclass(frozen=True, slots=True)
class Figures:
    """How well one stage, all stages together or the run as a whole is judged.

    ``n`` counts labelled ones, ``faulty`` those with a fault, ``flagged`` those said to be faulty
    (a mean, where runs were judged several times). Rates are ``None`` where nothing defines them:
    precision when nothing was flagged, recall without a fault, FPR without a faultless one, F1
    without a fault or a flag. ``floor_f1`` is the F1 of always saying faulty. ``unjudged`` counts
    labelled ones without a verdict, by reason: they count as not flagged. ``unlabelled`` counts
    judged ones without a label, which count nowhere else.
    """

    n: int
    faulty: int
    flagged: float
    precision: float | None
    recall: float | None
    f1: float | None
    fpr: float | None
    floor_f1: float | None
    f1_ci95: Interval | None
    recall_ci95: Interval | None
    fpr_ci95: Interval | None
    unjudged: Mapping[str, float]
    unlabelled: float = 0.0


@dataclass(frozen=True, slots=True)
class Slice:
    """The figures of some of the runs. Macro F1 is the mean over stages that have a fault."""

    runs: int
    questions: int
    pooled: Figures
    macro_f1: float | None
    macro_f1_ci95: Interval | None
    run_level: Figures
    stages: Mapping[Stage, Figures]


def rates_of(counts: Floats) -> Rates:
    """Return the rates of ``counts`` of shape (…, 4): true and false positives, then negatives."""
    tp, fp, fn, tn = (counts[..., cell] for cell in range(_CELLS))
    return Rates(
        precision=_share(tp, tp + fp),
        recall=_share(tp, tp + fn),
        f1=_share(2 * tp, 2 * tp + fp + fn),
        fpr=_share(fp, fp + tn),
        floor=_share(2 * (tp + fn), 2 * (tp + fn) + fp + tn),
    )


def cells_of(outcomes: Outcomes) -> Floats:
    """Return what each row adds to each column's counts: shape (rows, stages + run + pooled, 4)."""
    faulty, flagged = outcomes.faulty, outcomes.flagged
    cells = np.stack(
        [faulty & flagged, ~faulty & flagged, faulty & ~flagged, ~faulty & ~flagged], axis=-1
    )
    own = (cells & outcomes.labelled[..., None]) * outcomes.weight[:, None, None]
    pooled = own[:, :RUN].sum(axis=1, keepdims=True)
    return np.concatenate([own, pooled], axis=1)


def resampled(cells: Floats, group: npt.NDArray[np.intp], draws: int, seed: int) -> Floats:
    """Return the counts of ``draws`` samples of the questions, drawn with replacement.

    All rows of a question are drawn together, as often as the question is. ``cells`` has the shape
    (rows, columns, 4), the result (draws, columns, 4). The percentile bootstrap of Efron (1979),
    over clusters.
    """
    names, number = np.unique(group, return_inverse=True)
    per_group = np.zeros((len(names), *cells.shape[1:]))
    np.add.at(per_group, number, cells)
    flat = per_group.reshape(len(names), -1)
    generator = np.random.default_rng(seed)
    parts = []
    for start in range(0, draws, _DRAWS_AT_ONCE):
        size = min(_DRAWS_AT_ONCE, draws - start)
        drawn = generator.integers(len(names), size=(size, len(names)))
        offset = drawn + np.arange(size)[:, None] * len(names)
        times = np.bincount(offset.ravel(), minlength=size * len(names)).astype(np.float64)
        parts.append(times.reshape(size, len(names)) @ flat)
    counts: Floats = np.concatenate(parts)
    return counts.reshape(draws, *cells.shape[1:])


def slice_of(outcomes: Outcomes, *, draws: int = DRAWS, seed: int = 0) -> Slice:
    """Return the figures of ``outcomes`` with 95 % intervals by question.

    Without two questions, or with no ``draws``, there are no intervals.
    """
    cells = cells_of(outcomes)
    counts = cells.sum(axis=0)
    questions = len(np.unique(outcomes.group))
    samples = None
    if questions > 1 and draws > 0:
        samples = resampled(cells, outcomes.group, draws, seed)
    known = rates_of(counts)
    sampled = None if samples is None else rates_of(samples)
    faults = counts[:RUN, 0] + counts[:RUN, 2] > 0
    macro = float(np.mean(known.f1[:RUN][faults])) if faults.any() else None
    macro_interval = None
    if sampled is not None and faults.any():
        macro_interval = _interval(_mean_of_known(sampled.f1[:, :RUN][:, faults]))
    column_figures = [
        _figures(outcomes, column, counts, known, sampled) for column in range(POOLED + 1)
    ]
    return Slice(
        runs=round(float(outcomes.weight.sum())),
        questions=questions,
        pooled=column_figures[POOLED],
        macro_f1=macro,
        macro_f1_ci95=macro_interval,
        run_level=column_figures[RUN],
        stages={stage: column_figures[column] for column, stage in enumerate(STAGES)},
    )


def _figures(
    outcomes: Outcomes, column: int, counts: Floats, known: Rates, sampled: Rates | None
) -> Figures:
    tp, fp, fn, tn = counts[column]
    columns = slice(0, RUN) if column == POOLED else slice(column, column + 1)
    labelled = outcomes.labelled[:, columns]
    why = outcomes.unjudged[:, columns]
    weight = np.broadcast_to(outcomes.weight[:, None], labelled.shape)
    reasons = {
        reason: _rounded(weight[labelled & (why == number)].sum())
        for number, reason in enumerate(UNJUDGED)
    }

    def interval(rate: str) -> Interval | None:
        return None if sampled is None else _interval(getattr(sampled, rate)[:, column])

    return Figures(
        n=round(float(tp + fp + fn + tn)),
        faulty=round(float(tp + fn)),
        flagged=_rounded(tp + fp),
        precision=_known(known.precision[column]),
        recall=_known(known.recall[column]),
        f1=_known(known.f1[column]),
        fpr=_known(known.fpr[column]),
        floor_f1=_known(known.floor[column]),
        f1_ci95=interval("f1"),
        recall_ci95=interval("recall"),
        fpr_ci95=interval("fpr"),
        unjudged={reason: count for reason, count in reasons.items() if count},
        unlabelled=_rounded(weight[~labelled & (why < 0)].sum()),
    )


def _share(part: Floats, whole: Floats) -> Floats:
    out = np.full(np.broadcast(part, whole).shape, np.nan)
    shares: Floats = np.divide(part, whole, out=out, where=whole > 0)
    return shares


def _mean_of_known(values: Floats) -> Floats:
    """Return the mean of each row's values that are not NaN; NaN where there is none."""
    known = ~np.isnan(values)
    return _share(np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1).astype(np.float64))


def _interval(samples: Floats) -> Interval | None:
    known = samples[~np.isnan(samples)]
    if not len(known):
        return None
    low, high = np.percentile(known, LEVELS)
    return float(low), float(high)


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _rounded(value: np.float64) -> float:
    return round(float(value), 3)

"""Out-of-fold probabilities to calibrated ones: isotonic, or Platt's logistic curve."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from otel_raglog.detect.compiled import CompiledStage, Floats, log_odds

Marks = npt.NDArray[np.bool_]
_CERTAIN = 1e-9


class Kind(StrEnum):
    """How raw probabilities are turned into calibrated ones."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted curve; ``slope`` and ``offset`` of log-odds, or points of ``x`` and ``y``."""

    kind: Kind
    slope: float = 1.0
    offset: float = 0.0
    x: Floats = field(default_factory=lambda: np.empty(0))
    y: Floats = field(default_factory=lambda: np.empty(0))

    def apply(self, raw: Floats) -> Floats:
        """Return calibrated probabilities."""
        if self.kind is Kind.ISOTONIC:
            return np.interp(raw, self.x, self.y)
        odds = np.array([log_odds(float(each)) for each in raw])
        return np.asarray(1.0 / (1.0 + np.exp(-(self.slope * odds + self.offset))))

    def put_into(self, stage: CompiledStage) -> CompiledStage:
        """Return the compiled models with this calibration."""
        return replace(stage, slope=self.slope, offset=self.offset, curve_x=self.x, curve_y=self.y)


def fit_calibration(kind: Kind, raw: Floats, faulty: Marks) -> Calibration:
    """Return the curve of ``kind`` through ``raw`` probabilities and what turned out.

    Both never become certain: Platt's targets (Platt 1999) are short of 0 and 1 by what so many
    runs can show, and the isotonic curve is kept as far from both.
    """
    positives, negatives = int(faulty.sum()), int((~faulty).sum())
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    if kind is Kind.ISOTONIC:
        curve = IsotonicRegression(y_min=low, y_max=high, out_of_bounds="clip").fit(raw, faulty)
        return Calibration(kind, x=curve.X_thresholds_, y=curve.y_thresholds_)
    odds = np.array([[log_odds(float(each))] for each in raw])
    target = np.where(faulty, high, low)
    model = LogisticRegression(C=1e3, max_iter=1_000).fit(
        np.concatenate([odds, odds]),
        np.repeat([1, 0], len(raw)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope = float(model.coef_[0, 0])
    if slope <= 0:
        # Worse than chance out of fold: no order to keep, only the share of faulty runs.
        return Calibration(kind, 0.0, log_odds(positives / max(1, positives + negatives)))
    return Calibration(kind, slope, float(model.intercept_[0]))


def choose_calibration(raw: Floats, faulty: Marks, folds: npt.NDArray[np.intp]) -> Calibration:
    """Return the curve with the lower log-loss on folds that it was not fitted to.

    ``raw`` and ``folds`` are (partitions, runs); the curve is then fitted to all of it.
    """
    losses = {kind: _loss(kind, raw, faulty, folds) for kind in Kind}
    best = min(Kind, key=lambda kind: losses[kind])
    return fit_calibration(best, raw.ravel(), np.tile(faulty, len(raw)))


def _loss(kind: Kind, raw: Floats, faulty: Marks, folds: npt.NDArray[np.intp]) -> float:
    total = 0.0
    for each, fold in zip(raw, folds, strict=True):
        for tested in np.unique(fold):
            inside = fold != tested
            if len(np.unique(faulty[inside])) > 1:
                found = fit_calibration(kind, each[inside], faulty[inside]).apply(each[~inside])
                total += log_loss(found, faulty[~inside])
    return total


def log_loss(probabilities: Floats, faulty: Marks) -> float:
    """Return the sum of minus the logarithm of the probability of what turned out."""
    right = np.where(faulty, probabilities, 1 - probabilities)
    return float(-np.log(np.maximum(right, _CERTAIN)).sum())

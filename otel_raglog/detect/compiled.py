"""Trained models as flat arrays, and their evaluation by numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from otel_raglog.model import Stage

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_CERTAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Trees:
    """Binary trees, node after node: ``roots`` holds the place of each tree's first node.

    From node ``i`` one goes to ``right[i]`` when the value of ``feature[i]`` is greater than
    ``threshold[i]``, else (also when it is NaN) to ``left[i]``; both are ``i`` at a leaf, whose
    ``value`` counts. Thresholds are float32, against values of float32.
    """

    roots: Ints
    feature: Ints
    threshold: npt.NDArray[np.float32]
    left: Ints
    right: Ints
    value: Floats
    depth: int


@dataclass(frozen=True, slots=True)
class CompiledStage:
    """The models of one stage.

    ``columns`` are the places of its features in the artifact's list. ``medians`` stand in for
    what is missing: for the logistic regression and ``forest`` always, for ``boosted`` only where
    ``always`` says that no training run lacked the feature; ``usual``, that nine in ten had it.
    ``coefficients`` and ``intercept`` are those of unscaled values; ``bias`` is the boosted trees' log-odds without any tree.
    ``weights`` are those of logistic regression, boosted trees and forest, with the sum 1.
    ``curve_x``, ``curve_y``: the calibration as a curve through points, of log-odds when it is of
    Platt's kind (``slope``, ``offset`` are used and the curve is empty).
    """

    columns: Ints
    medians: Floats
    always: npt.NDArray[np.bool_]
    usual: npt.NDArray[np.bool_]
    coefficients: Floats
    intercept: float
    boosted: Trees
    bias: float
    forest: Trees
    weights: tuple[float, float, float]
    slope: float = 1.0
    offset: float = 0.0
    curve_x: Floats = field(default_factory=lambda: np.empty(0))
    curve_y: Floats = field(default_factory=lambda: np.empty(0))


class Evaluator:
    """Evaluates the models of all stages at once, for any number of rows."""

    def __init__(self, stages: Mapping[Stage, CompiledStage]) -> None:
        self._stages = dict(stages)
        widest = max((len(stage.columns) for stage in stages.values()), default=0)
        self._width = widest
        parts: list[Trees] = []
        self._roots: dict[Stage, npt.NDArray[np.intp]] = {}
        start = 0
        for name, stage in stages.items():
            # The forest reads the filled values, which lie behind the others in a row.
            forest = _moved(stage.forest, widest)
            roots = []
            for trees in (stage.boosted, forest):
                roots.append(trees.roots.astype(np.intp) + start)
                parts.append(_shifted(trees, start))
                start += len(trees.feature)
            self._roots[name] = np.concatenate(roots)
        self._feature = _joined([part.feature for part in parts], np.intp)
        self._threshold = _joined([part.threshold for part in parts], np.float32)
        children = [np.stack([part.left, part.right], axis=1).ravel() for part in parts]
        self._children = _joined(children, np.intp)
        self._value = _joined([part.value for part in parts], np.float64)
        self._depth = max((part.depth for part in parts), default=0)

    def raw(self, rows: Sequence[tuple[Stage, Floats]]) -> list[float]:
        """Return the weighted, uncalibrated probability of each row.

        A row is a stage and the values of its ``columns``, NaN where missing.
        """
        if not rows:
            return []
        inputs = np.zeros((len(rows), 2 * self._width), dtype=np.float32)
        linear = np.zeros(len(rows))
        for place, (name, values) in enumerate(rows):
            stage = self._stages[name]
            lacking = np.isnan(values)
            filled = np.where(lacking, stage.medians, values)
            inputs[place, : len(values)] = np.where(lacking & ~stage.always, np.nan, filled)
            inputs[place, self._width : self._width + len(values)] = filled
            linear[place] = filled @ stage.coefficients + stage.intercept
        leaves = self._leaves(inputs, [self._roots[name] for name, _ in rows])
        found = []
        for place, (name, _) in enumerate(rows):
            stage = self._stages[name]
            boosted, forest = np.split(leaves[place], [len(stage.boosted.roots)])
            parts = (
                logistic(float(linear[place])),
                logistic(float(boosted.sum()) + stage.bias),
                float(forest.mean()) if len(forest) else 0.0,
            )
            found.append(sum(w * p for w, p in zip(stage.weights, parts, strict=True)))
        return found

    def probabilities(self, rows: Sequence[tuple[Stage, Floats]]) -> list[float]:
        """Return the calibrated probability of each row."""
        return [
            calibrated(self._stages[name], raw)
            for (name, _), raw in zip(rows, self.raw(rows), strict=True)
        ]

    def _leaves(
        self, inputs: npt.NDArray[np.float32], roots: Sequence[npt.NDArray[np.intp]]
    ) -> list[Floats]:
        """Return the leaf values of each row's trees, all walked down together."""
        flat = inputs.ravel()
        node = np.concatenate(roots)
        start = np.repeat(np.arange(len(roots)) * inputs.shape[1], [len(each) for each in roots])
        for _ in range(self._depth):
            goes_right = flat[start + self._feature[node]] > self._threshold[node]
            node = self._children[2 * node + goes_right]
        ends = np.cumsum([len(each) for each in roots])[:-1]
        return np.split(self._value[node], ends)


def calibrated(stage: CompiledStage, raw: float) -> float:
    """Return the calibrated probability of a weighted one."""
    if len(stage.curve_x):
        return float(np.interp(raw, stage.curve_x, stage.curve_y))
    return logistic(stage.slope * log_odds(raw) + stage.offset)


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability, finite also for 0 and 1."""
    kept = min(1.0 - _CERTAIN, max(_CERTAIN, probability))
    return float(np.log(kept) - np.log1p(-kept))


def logistic(value: float) -> float:
    """Return the probability of log-odds."""
    return (
        float(1.0 / (1.0 + np.exp(-value)))
        if value >= 0
        else float(1.0 - 1.0 / (1.0 + np.exp(value)))
    )


def to_arrays(stage: CompiledStage) -> dict[str, npt.NDArray[np.generic]]:
    """Return the stage's parts as arrays by name."""
    found: dict[str, npt.NDArray[np.generic]] = {}
    for each in fields(stage):
        part = getattr(stage, each.name)
        if isinstance(part, Trees):
            for inner in fields(part):
                found[f"{each.name}.{inner.name}"] = np.asarray(getattr(part, inner.name))
        else:
            found[each.name] = np.asarray(part)
    return found


def from_arrays(arrays: Mapping[str, npt.NDArray[np.generic]]) -> CompiledStage:
    """Return the stage that :func:`to_arrays` took apart.

    Raises:
        KeyError: a part is missing.
        IndexError: a part is too short.
        TypeError: a part is no number where one belongs.
        ValueError: parts do not fit one another.
    """
    weights = np.asarray(arrays["weights"], dtype=np.float64)
    stage = CompiledStage(
        columns=np.asarray(arrays["columns"], dtype=np.int32),
        medians=np.asarray(arrays["medians"], dtype=np.float64),
        always=np.asarray(arrays["always"], dtype=np.bool_),
        usual=np.asarray(arrays["usual"], dtype=np.bool_),
        coefficients=np.asarray(arrays["coefficients"], dtype=np.float64),
        intercept=_number(arrays, "intercept"),
        boosted=_trees(arrays, "boosted"),
        bias=_number(arrays, "bias"),
        forest=_trees(arrays, "forest"),
        weights=(float(weights[0]), float(weights[1]), float(weights[2])),
        slope=_number(arrays, "slope"),
        offset=_number(arrays, "offset"),
        curve_x=np.asarray(arrays["curve_x"], dtype=np.float64),
        curve_y=np.asarray(arrays["curve_y"], dtype=np.float64),
    )
    parts = (stage.columns, stage.medians, stage.always, stage.usual, stage.coefficients)
    if len({len(part) for part in parts}) != 1 or len(stage.curve_x) != len(stage.curve_y):
        raise ValueError("arrays of different lengths")
    for trees in (stage.boosted, stage.forest):
        if ((trees.feature < 0) | (trees.feature >= max(1, len(stage.columns)))).any():
            raise ValueError("trees that read features which there are not")
    return stage


def _number(arrays: Mapping[str, npt.NDArray[np.generic]], name: str) -> float:
    return float(np.asarray(arrays[name], dtype=np.float64))


def _trees(arrays: Mapping[str, npt.NDArray[np.generic]], name: str) -> Trees:
    depth = np.asarray(arrays[f"{name}.depth"], dtype=np.int64)
    trees = Trees(
        roots=np.asarray(arrays[f"{name}.roots"], dtype=np.int32),
        feature=np.asarray(arrays[f"{name}.feature"], dtype=np.int32),
        threshold=np.asarray(arrays[f"{name}.threshold"], dtype=np.float32),
        left=np.asarray(arrays[f"{name}.left"], dtype=np.int32),
        right=np.asarray(arrays[f"{name}.right"], dtype=np.int32),
        value=np.asarray(arrays[f"{name}.value"], dtype=np.float64),
        depth=int(depth),
    )
    nodes = len(trees.feature)
    lengths = {nodes, len(trees.threshold), len(trees.left), len(trees.right), len(trees.value)}
    places = [trees.roots, trees.left, trees.right]
    if len(lengths) != 1 or any(((each < 0) | (each >= nodes)).any() for each in places):
        raise ValueError("trees whose nodes lead nowhere")
    return trees


def _shifted(trees: Trees, start: int) -> Trees:
    return Trees(
        trees.roots,
        trees.feature,
        trees.threshold,
        trees.left + np.int32(start),
        trees.right + np.int32(start),
        trees.value,
        trees.depth,
    )


def _moved(trees: Trees, columns: int) -> Trees:
    feature = trees.feature + np.int32(columns)
    return Trees(
        trees.roots, feature, trees.threshold, trees.left, trees.right, trees.value, trees.depth
    )


def _joined(parts: Sequence[npt.NDArray[np.generic]], dtype: type) -> npt.NDArray[np.generic]:
    return np.concatenate([np.empty(0), *parts]).astype(dtype)

"""A stage's table to its three fitted models, and from these to flat arrays."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from catboost import CatBoostClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from otel_raglog.checks.registry import sizes
from otel_raglog.detect.compiled import CompiledStage, Floats, Trees
from otel_raglog.detect.features import stage_of
from otel_raglog.detect.training.directions import directions
from otel_raglog.detect.training.examples import StageTable
from otel_raglog.detect.training.settings import Settings

_MOST_STEPS = 5_000
_FEWEST_VALUES = 2
_SELDOM_MISSING = 0.1


@dataclass(frozen=True, slots=True)
class FittedStage:
    """The models of one stage as their libraries have them.

    ``kept`` are the places of the used features among the table's ``names``; ``linear`` are
    those of them, as places in ``kept``, that the logistic regression reads. A model of weight 0
    is ``None``.
    """

    kept: npt.NDArray[np.intp]
    medians: Floats
    always: npt.NDArray[np.bool_]
    usual: npt.NDArray[np.bool_]
    linear: npt.NDArray[np.intp]
    logistic: Pipeline | None
    boosted: CatBoostClassifier | None
    forest: ExtraTreesClassifier | None
    weights: tuple[float, float, float]

    def raw(self, values: Floats) -> Floats:
        """Return the weighted probability of each row of ``values`` (rows, names)."""
        given, filled = _inputs(values[:, self.kept], self.medians, self.always)
        total = np.zeros(len(values))
        if self.logistic is not None:
            found = self.logistic.predict_proba(filled[:, self.linear])[:, 1]
            total += self.weights[0] * found
        if self.boosted is not None:
            found = self.boosted.predict_proba(given, thread_count=1)[:, 1]
            total += self.weights[1] * found
        if self.forest is not None:
            total += self.weights[2] * self.forest.predict_proba(filled)[:, 1]
        return total


def usable(table: StageTable, settings: Settings) -> npt.NDArray[np.intp]:
    """Return the columns that a stage's models see: those of its inputs that vary.

    Mere sizes are left out: a linear model would carry what it made of six chunks on to two
    hundred.
    """
    chosen = set(settings.inputs.choose(table.stage, table.names)) - sizes()
    places = [
        place for place, name in enumerate(table.names) if name in chosen and _varies(table, place)
    ]
    return np.array(places, dtype=np.intp)


def fit(table: StageTable, settings: Settings) -> FittedStage:
    """Return the models of a stage, fitted to its table. Deterministic: one thread, one seed.

    Class weights are inverse to frequency. At least one column must be usable.
    """
    names, faulty = table.names, table.faulty.astype(int)
    kept = usable(table, settings)
    own = table.values[:, kept]
    medians = np.nanmedian(own, axis=0)
    lacking = np.isnan(own).mean(axis=0)
    always, usual = lacking == 0, lacking <= _SELDOM_MISSING
    given, filled = _inputs(own, medians, always)
    known = directions() if settings.directed else {}
    signs = [
        known.get(names[place], 0) if stage_of(names[place]) is table.stage else 0 for place in kept
    ]
    linear, logistic = np.arange(0), None
    boosted = forest = None
    if settings.weights[0]:
        linear, logistic = _fit_logistic(filled, faulty, signs, settings)
    if settings.weights[1]:
        boosted = _boosted(settings).fit(given, faulty)
    if settings.weights[2]:
        forest = _forest(settings, signs).fit(filled, faulty)
    return FittedStage(
        kept, medians, always, usual, linear, logistic, boosted, forest, settings.weights
    )


def _boosted(settings: Settings) -> CatBoostClassifier:
    return CatBoostClassifier(
        iterations=settings.boosted_trees,
        depth=settings.boosted_depth,
        learning_rate=settings.learning_rate,
        grow_policy="Depthwise",  # the one that keeps to the fewest rows of a leaf
        min_data_in_leaf=settings.boosted_leaf,
        auto_class_weights="Balanced",
        random_seed=settings.seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


def _forest(settings: Settings, signs: Sequence[int]) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(
        n_estimators=settings.forest_trees,
        min_samples_leaf=settings.forest_leaf,
        max_depth=settings.forest_depth,
        class_weight="balanced",
        monotonic_cst=list(signs) if any(signs) else None,
        random_state=settings.seed,
        n_jobs=1,
    )


def _fit_logistic(
    filled: Floats, faulty: npt.NDArray[np.int_], signs: Sequence[int], settings: Settings
) -> tuple[npt.NDArray[np.intp], Pipeline]:
    """Fit; leave out the feature whose coefficient is most wrong; fit again until none is."""
    wanted = np.array(signs)
    linear = np.arange(filled.shape[1])
    while True:
        model = make_pipeline(
            StandardScaler(),
            LogisticRegression(
                C=settings.regularisation, class_weight="balanced", max_iter=_MOST_STEPS
            ),
        ).fit(filled[:, linear], faulty)
        right = model[-1].coef_[0] * wanted[linear]
        if right.min() >= 0 or len(linear) == 1:
            return linear, model
        linear = np.delete(linear, int(np.argmin(right)))


def compile_stage(
    fitted: FittedStage, names: Sequence[str], columns: Mapping[str, int]
) -> CompiledStage:
    """Return the models as flat arrays; ``columns`` are the places of the artifact's features."""
    coefficients = np.zeros(len(fitted.kept))
    intercept = 0.0
    if fitted.logistic is not None:
        scaler, logistic = fitted.logistic[0], fitted.logistic[-1]
        slopes = logistic.coef_[0] / scaler.scale_
        coefficients[fitted.linear] = slopes
        intercept = float(logistic.intercept_[0] - slopes @ scaler.mean_)
    boosted, bias = compile_boosted(fitted.boosted)
    return CompiledStage(
        columns=np.array([columns[names[place]] for place in fitted.kept], dtype=np.int32),
        medians=fitted.medians,
        always=fitted.always,
        usual=fitted.usual,
        coefficients=coefficients,
        intercept=intercept,
        boosted=boosted,
        bias=bias,
        forest=compile_forest(fitted.forest),
        weights=fitted.weights,
    )


def compile_forest(forest: ExtraTreesClassifier | None) -> Trees:
    """Return a forest whose leaf values are the share of the class 1.

    scikit-learn compares values of float32 with thresholds of float64; the greatest float32 that
    is not above a threshold parts the same values.
    """
    nodes = _Nodes()
    for estimator in forest.estimators_ if forest is not None else ():
        tree = estimator.tree_
        start = nodes.begin(tree.max_depth)
        shares = tree.value[:, 0, 1] / tree.value[:, 0, :].sum(axis=1)
        for node in range(tree.node_count):
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            if left < 0:
                nodes.leaf(float(shares[node]))
            else:
                threshold = _float32_below(float(tree.threshold[node]))
                nodes.split(int(tree.feature[node]), threshold, start + left, start + right)
    return nodes.trees()


def compile_boosted(model: CatBoostClassifier | None) -> tuple[Trees, float]:
    """Return boosted trees and their log-odds without any tree, from CatBoost's JSON.

    Raises:
        ValueError: CatBoost treats missing values in a way that the flat form cannot.
    """
    if model is None:
        return _Nodes().trees(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    treatments = {
        feature["nan_value_treatment"] for feature in data["features_info"]["float_features"]
    }
    if not treatments <= {"AsIs", "AsFalse"}:
        raise ValueError(f"missing values treated {treatments}")
    scale, (bias,) = data["scale_and_bias"]
    nodes = _Nodes()
    for tree in data.get("trees", ()):
        nodes.begin(_depth_of(tree))
        _add_nested(tree, float(scale), nodes)
    return nodes.trees(), float(bias)


def _depth_of(tree: Mapping[str, Any]) -> int:
    if "split" not in tree:
        return 0
    return 1 + max(_depth_of(tree["left"]), _depth_of(tree["right"]))


def _add_nested(tree: Mapping[str, Any], scale: float, nodes: _Nodes) -> int:
    if "split" not in tree:
        value = tree["value"]
        return nodes.leaf(scale * float(value[0] if isinstance(value, list) else value))
    split = tree["split"]
    place = nodes.split(split["float_feature_index"], np.float32(split["border"]), 0, 0)
    left = _add_nested(tree["left"], scale, nodes)
    right = _add_nested(tree["right"], scale, nodes)
    nodes.link(place, left, right)
    return place


class _Nodes:
    """Collects the nodes of trees, one after the other."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.rows: list[tuple[int, np.float32, int, int, float]] = []
        self.depth = 0

    def begin(self, depth: int) -> int:
        """Begin a tree of that depth; return the place of its first node."""
        self.roots.append(len(self.rows))
        self.depth = max(self.depth, depth)
        return len(self.rows)

    def leaf(self, value: float) -> int:
        """Add a leaf, which leads to itself; return its place."""
        place = len(self.rows)
        self.rows.append((0, np.float32(np.inf), place, place, value))
        return place

    def split(self, feature: int, threshold: np.float32, left: int, right: int) -> int:
        """Add a node that parts; return its place."""
        self.rows.append((feature, threshold, left, right, 0.0))
        return len(self.rows) - 1

    def link(self, place: int, left: int, right: int) -> None:
        """Say where a node leads."""
        feature, threshold, _, _, value = self.rows[place]
        self.rows[place] = (feature, threshold, left, right, value)

    def trees(self) -> Trees:
        """Return the nodes as arrays."""

        def column(index: int, dtype: type) -> npt.NDArray[Any]:
            return np.array([row[index] for row in self.rows], dtype=dtype)

        return Trees(
            roots=np.array(self.roots, dtype=np.int32),
            feature=column(0, np.int32),
            threshold=column(1, np.float32),
            left=column(2, np.int32),
            right=column(3, np.int32),
            value=column(4, np.float64),
            depth=self.depth,
        )


def _float32_below(threshold: float) -> np.float32:
    rounded = np.float32(threshold)
    return rounded if float(rounded) <= threshold else np.nextafter(rounded, np.float32(-np.inf))


def _varies(table: StageTable, place: int) -> bool:
    column = table.values[:, place]
    return len(np.unique(column[~np.isnan(column)])) >= _FEWEST_VALUES


def _inputs(
    own: Floats, medians: Floats, always: Iterable[bool]
) -> tuple[npt.NDArray[np.float32], Floats]:
    """Return what the boosted trees see, and what the other two see."""
    filled = np.where(np.isnan(own), medians, own)
    given = np.where(np.asarray(always), filled, own)
    return given.astype(np.float32), filled

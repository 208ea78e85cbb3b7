"""Flat models, evaluated by numpy alone."""

from dataclasses import replace

import numpy as np
import pytest

from otel_raglog.detect.compiled import (
    CompiledStage,
    Evaluator,
    Trees,
    calibrated,
    from_arrays,
    log_odds,
    to_arrays,
)
from otel_raglog.model import Stage

STUMP = Trees(
    roots=np.array([0], dtype=np.int32),
    feature=np.array([0, 0, 0], dtype=np.int32),
    threshold=np.array([0.5, np.inf, np.inf], dtype=np.float32),
    left=np.array([1, 1, 2], dtype=np.int32),
    right=np.array([2, 1, 2], dtype=np.int32),
    value=np.array([0.0, 0.1, 0.9]),
    depth=1,
)
STAGE = CompiledStage(
    columns=np.array([0, 1], dtype=np.int32),
    medians=np.array([0.8, 0.0]),
    usual=np.array([True, True]),
    always=np.array([False, True]),
    coefficients=np.array([2.0, 0.0]),
    intercept=-1.0,
    boosted=STUMP,
    bias=0.0,
    forest=STUMP,
    weights=(0.0, 0.0, 1.0),
)


def raw(stage: CompiledStage, *values: float) -> float:
    return Evaluator({Stage.RETRIEVER: stage}).raw([(Stage.RETRIEVER, np.array(values))])[0]


def test_a_tree_is_walked_to_its_leaf() -> None:
    """To the right when the value is greater than the threshold; at it, to the left."""
    assert [raw(STAGE, value, 0) for value in (0.4, 0.5, 0.6)] == [0.1, 0.1, 0.9]


def test_missing_values_are_medians_but_missing_for_boosted_trees() -> None:
    """These go left on a missing value, unless no training run lacked it."""
    assert raw(STAGE, np.nan, 0) == 0.9
    boosted = replace(STAGE, weights=(0.0, 1.0, 0.0))
    usual = replace(boosted, always=np.array([True, True]))
    assert raw(boosted, np.nan, 0) == pytest.approx(1 / (1 + np.exp(-0.1)))
    assert raw(usual, np.nan, 0) == pytest.approx(1 / (1 + np.exp(-0.9)))


def test_the_weights_join_the_three_models() -> None:
    """Probabilities are averaged."""
    joined = replace(STAGE, weights=(0.5, 0.25, 0.25))
    logistic = 1 / (1 + np.exp(-(2 * 0.6 - 1)))
    expected = 0.5 * logistic + 0.25 / (1 + np.exp(-0.9)) + 0.25 * 0.9
    assert raw(joined, 0.6, 0) == pytest.approx(expected)


def test_rows_of_several_stages_are_evaluated_together() -> None:
    """Each as if alone."""
    other = replace(STAGE, weights=(1.0, 0.0, 0.0))
    both = Evaluator({Stage.RETRIEVER: STAGE, Stage.GENERATOR: other})
    rows = [(stage, np.array([0.6, 0.0])) for stage in (Stage.GENERATOR, Stage.RETRIEVER)]
    assert both.raw(rows) == [pytest.approx(raw(other, 0.6, 0)), 0.9]
    assert both.raw([]) == []


def test_calibration_is_a_curve_of_log_odds_or_through_points() -> None:
    """Platt's, or isotonic."""
    assert calibrated(STAGE, 0.3) == pytest.approx(0.3)
    assert calibrated(replace(STAGE, slope=2.0), 0.3) < 0.3
    points = replace(STAGE, curve_x=np.array([0.2, 0.4]), curve_y=np.array([0.1, 0.5]))
    assert [calibrated(points, x) for x in (0.0, 0.3, 1.0)] == pytest.approx([0.1, 0.3, 0.5])
    assert np.isfinite([log_odds(0.0), log_odds(1.0)]).all()


def test_a_stage_survives_being_taken_apart() -> None:
    """Arrays by name, and back."""
    again = from_arrays(to_arrays(STAGE))
    assert raw(again, 0.6, 0) == raw(STAGE, 0.6, 0)
    assert to_arrays(again).keys() == to_arrays(STAGE).keys()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("forest.left", np.array([1, 9, 2])),
        ("forest.feature", np.array([0, 7, 0])),
        ("forest.value", np.array([0.0])),
        ("medians", np.array([0.0])),
        ("curve_x", np.array([0.0])),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, array: np.ndarray) -> None:
    """A tree must not lead outside itself."""
    with pytest.raises(ValueError, match=r"lengths|nowhere|features"):
        from_arrays({**to_arrays(STAGE), name: array})

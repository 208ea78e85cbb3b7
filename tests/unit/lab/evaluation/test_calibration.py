"""Whether what was said happened as often."""

import numpy as np
import pytest
from evaluation_runs import GENERATOR, RETRIEVER, judged, labelled, retrievals

from otel_raglog.lab.evaluation.calibration import calibration, calibrations_of
from otel_raglog.lab.evaluation.outcomes import outcomes_of


def test_brier_score_and_reliability_by_hand():
    """Said 0.9 (right), 0.8 (wrong), 0.1 (right): (0.01 + 0.64 + 0.01) / 3."""
    found = calibration(np.array([True, False, False]), np.array([0.9, 0.8, 0.1]), np.ones(3))
    assert found.brier == pytest.approx(0.22)
    assert found.brier_of_share == pytest.approx(1 / 3 * 2 / 3)
    assert [(b.low, b.n, b.mean_probability, b.faulty_share) for b in found.bins] == [
        (0.1, 1, pytest.approx(0.1), 0.0),
        (0.8, 1, pytest.approx(0.8), 0.0),
        (0.9, 1, pytest.approx(0.9), 1.0),
    ]
    assert found.calibration_error == pytest.approx((0.1 + 0.8 + 0.1) / 3)


def test_certainty_is_in_the_last_bin():
    """1.0 belongs to 0.9 and above."""
    found = calibration(np.array([True]), np.array([1.0]), np.ones(1))
    assert [(b.low, b.high) for b in found.bins] == [(0.9, 1.0)]
    assert found.brier == 0


def test_a_run_judged_twice_weighs_once():
    """Halves of a run in each bin."""
    run = labelled({RETRIEVER: True})
    rows = [judged(run, {RETRIEVER: p}, n) for n, p in enumerate((0.9, 0.1))]
    found = calibrations_of(outcomes_of(rows))[RETRIEVER]
    assert found.n == 1
    assert [b.n for b in found.bins] == [0.5, 0.5]
    assert found.brier == pytest.approx((0.01 + 0.81) / 2)


def test_stages_by_themselves_and_all_together():
    """Unjudged ones say no probability."""
    rows = [
        judged(labelled({RETRIEVER: True, GENERATOR: False}), {RETRIEVER: 0.9, GENERATOR: 0.2}),
        *retrievals([(True, None)]),
    ]
    found = calibrations_of(outcomes_of(rows))
    assert set(found) == {RETRIEVER, GENERATOR, None}
    assert (found[RETRIEVER].n, found[None].n) == (1, 2)

"""Raw probabilities to calibrated ones."""

import numpy as np
import pytest

from otel_raglog.detect.training.calibrating import (
    Kind,
    choose_calibration,
    fit_calibration,
    log_loss,
)

RANDOM = np.random.default_rng(1)
TRUE = RANDOM.random(600)
FAULTY = RANDOM.random(600) < TRUE
FOLDS = np.tile(np.arange(600) % 3, (1, 1))


@pytest.mark.parametrize("kind", list(Kind))
def test_overconfident_probabilities_are_moved_to_the_share_that_turned_out(kind: Kind) -> None:
    """Both curves rise, and never become certain."""
    odds = np.log(TRUE / (1 - TRUE))
    raw = 1 / (1 + np.exp(-3 * odds))
    found = fit_calibration(kind, raw, FAULTY).apply(raw)
    assert log_loss(found, FAULTY) < log_loss(raw, FAULTY)
    assert np.abs(found - TRUE).mean() < 0.08
    assert (np.diff(found[np.argsort(raw)]) >= 0).all()
    assert found.min() > 0
    assert found.max() < 1


def test_separable_runs_do_not_make_it_certain() -> None:
    """Four faults cannot show a probability of one."""
    raw = np.array([0.9] * 4 + [0.1] * 20)
    faulty = raw > 0.5
    for kind in Kind:
        found = fit_calibration(kind, raw, faulty).apply(np.array([0.9, 0.1]))
        assert found[0] < 0.95
        assert found[1] > 0.01


def test_the_curve_with_the_lower_loss_out_of_fold_is_taken() -> None:
    """A step is no logistic curve; a logistic curve through few runs is smoother than steps."""
    raw = TRUE
    stepped = RANDOM.random(600) < np.where(raw > 0.3, np.where(raw > 0.7, 0.2, 0.15), 0.0)
    middle = RANDOM.random(600) < np.where(raw > 0.5, 0.9, 0.4)
    kinds = {choose_calibration(raw[None], f, FOLDS).kind for f in (stepped, middle)}
    assert Kind.ISOTONIC in kinds
    few = choose_calibration(raw[None, :40], FAULTY[:40], FOLDS[:, :40])
    assert few.kind is Kind.PLATT


def test_worse_than_chance_is_calibrated_to_the_share_of_faulty_runs() -> None:
    """Never to a falling curve."""
    found = fit_calibration(Kind.PLATT, 1 - TRUE, FAULTY).apply(np.array([0.1, 0.9]))
    assert found == pytest.approx([FAULTY.mean()] * 2)

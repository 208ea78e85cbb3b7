"""Ranking by probabilities and by single measurements."""

import numpy as np
import pytest
from evaluation_runs import GENERATOR, RETRIEVER, bad, judged, labelled, retrievals
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_raglog.lab.evaluation.outcomes import outcomes_of
from otel_raglog.lab.evaluation.ranking import (
    auc,
    average_precision,
    best_measurement,
    curve,
    rankings_of,
)
from otel_raglog.model import Measurement, MeasurementStatus

SCORED = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.9])), max_size=30)


def array(values):
    return np.array(values)


def test_auc_counts_pairs_in_the_right_order():
    """Of four pairs three are right and one is a tie: 3.5 / 4."""
    assert auc(array([True, True, False, False]), array([0.9, 0.5, 0.5, 0.1])) == 3.5 / 4
    assert auc(array([True, False]), array([0.1, 0.9])) == 0.0
    assert auc(array([True, True]), array([0.1, 0.9])) is None


@given(SCORED)
def test_auc_is_the_share_of_pairs(scored):
    """Ties are a half."""
    faulty = [score for bad, score in scored if bad]
    sound = [score for bad, score in scored if not bad]
    found = auc(array([b for b, _ in scored]).astype(bool), array([s for _, s in scored]))
    if not faulty or not sound:
        assert found is None
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in faulty for b in sound]
    assert found == pytest.approx(sum(pairs) / len(pairs))


@pytest.fixture(scope="module")
def metrics():
    """Those of scikit-learn, where it is installed."""
    return pytest.importorskip("sklearn.metrics")


@settings(deadline=None)
@given(scored=SCORED.filter(lambda scored: len({bad for bad, _ in scored}) == 2))
def test_ranking_agrees_with_scikit_learn(metrics, scored):
    """On any scores, ties included."""
    faulty, score = array([b for b, _ in scored]), array([s for _, s in scored])
    assert auc(faulty, score) == pytest.approx(metrics.roc_auc_score(faulty, score))
    found = average_precision(faulty, score)
    assert found == pytest.approx(metrics.average_precision_score(faulty, score))


def test_precision_and_recall_at_every_threshold():
    """Equal scores are one point."""
    found = curve(array([True, False, True, False]), array([0.9, 0.5, 0.5, 0.1]))
    assert found.threshold.tolist() == [0.9, 0.5, 0.1]
    assert found.precision.tolist() == pytest.approx([1.0, 2 / 3, 0.5])
    assert found.recall.tolist() == [0.5, 1.0, 1.0]
    assert (
        len(
            curve(
                array(
                    [],
                ).astype(bool),
                array([]),
            ).recall
        )
        == 0
    )


def measurement(name, value, step=None):
    return Measurement(f"retriever.{name}", RETRIEVER, value, step=step)


def test_the_best_single_measurement_counts_in_either_direction():
    """A low relevance speaks for a fault as much as a high distance would."""
    runs = [[measurement("relevance", v), measurement("noise", 1.0)] for v in (0.1, 0.2, 0.8, 0.9)]
    faulty = array([True, True, False, False])
    assert best_measurement(runs, faulty, RETRIEVER) == ("retriever.relevance", 1.0)
    assert best_measurement(runs, faulty, GENERATOR) is None


def test_a_run_without_the_measurement_gets_the_median():
    """So that all measurements are compared on the same runs: 0.5 between 0.1 and 0.9."""
    missing = Measurement(
        "retriever.relevance", RETRIEVER, None, MeasurementStatus.NOT_APPLICABLE, reason="none"
    )
    runs = [[measurement("relevance", 0.1)], [missing], [measurement("relevance", 0.9)]]
    assert best_measurement(runs, array([True, False, False]), RETRIEVER)[1] == 1.0
    assert best_measurement(runs, array([True, True, False]), RETRIEVER)[1] == 1.0
    assert best_measurement(runs, array([False, True, False]), RETRIEVER)[1] == 0.5


def test_of_several_steps_the_better_end_counts():
    """Here the highest value: the lowest is the same in both runs."""
    runs = [
        [measurement("bad", 0.1, 0), measurement("bad", 0.9, 1)],
        [measurement("bad", 0.1, 0), measurement("bad", 0.1, 1)],
    ]
    assert best_measurement(runs, array([True, False]), RETRIEVER) == ("retriever.bad", 1.0)


def test_auc_is_taken_of_each_time_and_averaged():
    """Scores of different detectors are never ranked against one another."""
    runs = [labelled({RETRIEVER: f}, measurements=bad(0.4)) for f in (True, False)]
    rows = [judged(run, {RETRIEVER: p}, 0) for run, p in zip(runs, (0.2, 0.1), strict=True)]
    rows += [judged(run, {RETRIEVER: p}, 1) for run, p in zip(runs, (0.9, 0.8), strict=True)]
    found = rankings_of(rows, outcomes_of(rows))[RETRIEVER]
    assert (found.n, found.faulty, found.auc, found.average_precision) == (2, 1, 1.0, 1.0)
    assert (found.best_measurement, found.best_auc) == ("retriever.bad", 0.5)


def test_stages_without_both_kinds_have_no_auc():
    """Abstentions have no probability to rank."""
    rows = retrievals([(True, 0.9), (False, None)])
    found = rankings_of(rows, outcomes_of(rows))
    assert (found[RETRIEVER].n, found[RETRIEVER].auc) == (1, None)
    assert found[GENERATOR].n == 0

"""Thresholds, and what to expect of them."""

import numpy as np
import pytest

from otel_raglog.detect.policies import (
    NEVER,
    Policy,
    Scored,
    best_f1,
    candidates,
    expect,
    most_recall,
    run_level,
    thresholds,
)
from otel_raglog.model import Stage


def scored(*pairs: tuple[float, bool]) -> Scored:
    return Scored(
        np.arange(len(pairs)),
        np.array([probability for probability, _ in pairs]),
        np.array([faulty for _, faulty in pairs]),
    )


CLEAR = scored((0.9, True), (0.8, True), (0.3, False), (0.2, False))
MIXED = scored((0.9, False), (0.8, True), (0.7, True), (0.2, False), (0.1, False))


def test_expected_figures_are_counts() -> None:
    """Precision, recall, F1, false-positive rate of flagging from the threshold on."""
    found = expect(MIXED, 0.75)
    assert (found.runs, found.faulty) == (5, 2)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert found.false_positive_rate == pytest.approx(1 / 3)


def test_the_best_f1_lies_between_two_probabilities() -> None:
    """Half way, so that neither is at the edge."""
    assert best_f1(CLEAR) == pytest.approx(0.55)
    assert candidates(CLEAR.probability)[-1] == NEVER


def test_no_threshold_passes_the_allowed_rate() -> None:
    """Rather nothing is flagged."""
    assert best_f1(MIXED, most_false=0.1) == NEVER
    assert best_f1(MIXED, most_false=0.34) == pytest.approx(0.45)
    assert most_recall(MIXED, 0.34) == pytest.approx(0.45)


def test_the_run_level_rate_counts_runs_and_not_stages() -> None:
    """Of two stages that flag different sound runs, one has to give way."""
    first = scored(*[(0.9, True)] * 5, *[(0.8, False)], *[(0.7, True)] * 4, *[(0.1, False)] * 10)
    second = scored(*[(0.1, False)] * 19, (0.9, False))
    both = {Stage.RETRIEVER: first, Stage.GENERATOR: second}
    chosen = run_level(both, 0.1, np.flatnonzero(~first.faulty).tolist())
    flagged = [each.probability >= chosen[stage] for stage, each in both.items()]
    sound = ~first.faulty
    assert (flagged[0] | flagged[1])[sound].mean() <= 0.1
    assert expect(first, chosen[Stage.RETRIEVER]).recall == 1
    assert not flagged[1].any()


def test_policies_choose_for_each_stage() -> None:
    """By the design's rates."""
    for policy in Policy:
        chosen = thresholds(policy, {Stage.RETRIEVER: CLEAR}, [2, 3])
        assert chosen[Stage.RETRIEVER] == pytest.approx(0.55)


def test_many_probabilities_are_thinned_out() -> None:
    """The search stays short on thousands of runs."""
    assert len(candidates(np.linspace(0, 1, 5_000))) <= 201


def test_the_run_level_policy_also_limits_each_stage() -> None:
    """A stage that is flagged in vain beside another's fault raises the rate that alerts watch."""
    beside = Scored(
        np.arange(4), np.array([0.9, 0.8, 0.7, 0.1]), np.array([True, False, True, False])
    )
    other = Scored(np.arange(2), np.array([0.1, 0.9]), np.array([False, True]))
    chosen = run_level({Stage.REWRITER: beside, Stage.RETRIEVER: other}, 0.05, [3])
    assert expect(beside, chosen[Stage.REWRITER]).false_positive_rate == 0
    assert expect(other, chosen[Stage.RETRIEVER]).recall == 1


def test_what_is_not_labelled_or_not_scored_is_no_sound_run() -> None:
    """Rows between the labelled ones flag nothing, and would hide how many sound runs are flagged."""
    sparse = Scored(
        np.array([0, 10, 20, 30]),
        np.array([0.9, 0.8, 0.7, 0.1]),
        np.array([True, False, True, False]),
    )
    beside = Scored(
        np.array([0, 10, 20, 30, 40, 50, 60]), np.full(7, 0.1), np.zeros(7, dtype=np.bool_)
    )
    both = {Stage.RETRIEVER: sparse, Stage.GENERATOR: beside}
    assert run_level(both, 0.5, [10, 30])[Stage.RETRIEVER] == pytest.approx(0.4)
    for sound in ([10], [10, 1, 2, 3, 4, 5, 6]):
        assert run_level(both, 0.5, sound)[Stage.RETRIEVER] == pytest.approx(0.85)

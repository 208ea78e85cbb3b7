"""Which runs are tested by models that saw which others."""

import numpy as np

from otel_raglog.detect.training.folds import partitions_of

GROUPS = [f"q{number // 3}" for number in range(90)]
FAULTY = [["reranker"] if number % 18 == 0 else [] for number in range(90)]


def test_all_runs_of_a_question_are_in_one_fold() -> None:
    """In each of three partitions, which differ; the folds are of like size."""
    found = partitions_of(GROUPS, FAULTY, seed=1)
    assert found.shape == (3, 90)
    for partition in found:
        assert all(len({*partition[3 * q : 3 * q + 3].tolist()}) == 1 for q in range(30))
        assert np.bincount(partition).tolist() == [30, 30, 30]
    assert not (found[0] == found[1]).all()


def test_rare_faults_are_spread_over_the_folds() -> None:
    """A fold without one could test nothing of it."""
    for partition in partitions_of(GROUPS, FAULTY, seed=1):
        held = [
            sum(bool(f) and fold == k for f, fold in zip(FAULTY, partition, strict=True))
            for k in range(3)
        ]
        assert held in ([2, 2, 1], [2, 1, 2], [1, 2, 2])


def test_the_order_of_runs_does_not_matter_and_the_seed_does() -> None:
    """A group's fold is its own."""
    back = partitions_of(GROUPS[::-1], FAULTY[::-1], seed=1)[:, ::-1]
    assert (back == partitions_of(GROUPS, FAULTY, seed=1)).all()
    assert not (partitions_of(GROUPS, FAULTY, seed=2) == back).all()

"""Copies of rows that lack answers to some of an LLM's checks."""

import numpy as np

from otel_raglog.detect.training.dropping import with_dropped
from otel_raglog.detect.training.examples import StageTable
from otel_raglog.model import Stage

NAMES = (
    "clues.generator.judged",
    "clues.generator.judged.incomplete",
    "generator.graded_incomplete",
    "generator.joint_support",
    "generator.statements_omits_item",
    "generator.verified_incomplete",
)
NAN = np.nan


def table(rows: int = 40) -> StageTable:
    """Every second row has answers of three checks that are of one opinion."""
    answered = [0.8, 0.8, 0.8, 0.3, 0.8, 0.8]
    values = [answered if row % 2 else [NAN, NAN, NAN, 0.3, NAN, NAN] for row in range(rows)]
    return StageTable(
        Stage.GENERATOR,
        NAMES,
        np.arange(rows),
        np.array(values),
        np.arange(rows) % 4 == 1,
    )


def test_only_rows_with_answers_are_copied() -> None:
    """With their labels and places, behind the rows as they are."""
    found = with_dropped(table(), 2, seed=1)
    assert len(found.rows) == 40 + 2 * 20
    assert set(found.rows[40:]) == set(range(1, 40, 2))
    assert np.array_equal(found.values[:40], table().values, equal_nan=True)
    assert np.array_equal(found.faulty[40:], found.rows[40:] % 4 == 1)


def test_whole_checks_are_dropped_and_never_all() -> None:
    """What was measured locally stays."""
    copies = with_dropped(table(), 5, seed=1).values[40:]
    answers = copies[:, [2, 4, 5]]
    assert set(np.isnan(answers).sum(axis=1)) == {0, 1, 2}
    assert (copies[:, 3] == 0.3).all()


def test_what_sums_up_answers_is_made_of_those_that_are_left() -> None:
    """It is there whichever check is left."""
    rows = table()
    rows.values[1, 2] = 0.1
    copies = with_dropped(rows, 20, seed=1)
    own = copies.values[40:][copies.rows[40:] == 1]
    alone = own[~np.isnan(own[:, 2]) & np.isnan(own[:, 4]) & np.isnan(own[:, 5])]
    assert len(alone)
    assert np.allclose(alone[:, 0], np.clip(alone[:, 2], 0.02, 0.98))
    assert np.allclose(alone[:, 1], alone[:, 0])


def test_confidences_are_shifted_and_stay_in_their_range() -> None:
    """So that no small difference counts; the rows themselves are as they were measured."""
    copies = with_dropped(table(), 20, seed=1).values[40:, 5]
    kept = copies[~np.isnan(copies)]
    assert 0.4 <= kept.min() < 0.5
    assert kept.max() == 1.0
    assert len(np.unique(kept)) > 20


def test_the_same_seed_drops_the_same() -> None:
    """Training is repeatable."""
    first, again, other = (with_dropped(table(), 1, seed).values for seed in (1, 1, 2))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)


def test_a_table_without_answers_is_left_as_it_is() -> None:
    """The local detector is trained as ever."""
    local = table().only(np.arange(40) % 2 == 0)
    assert with_dropped(local, 3, seed=1) is local

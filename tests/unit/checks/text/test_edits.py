"""Edit distance."""

import pytest

from otel_raglog.checks.text.edits import edit_distance


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("same", "same", 0), ("monkeys", "monkyes", 1), ("color", "colour", 1), ("abc", "xyz", 3)],
)
def test_distance_counts_a_swap_as_one_edit(one: str, other: str, distance: int) -> None:
    """Beyond the limit of two, the answer is three."""
    assert edit_distance(one, other) == distance

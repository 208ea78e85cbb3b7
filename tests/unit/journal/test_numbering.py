"""Which segment holds which number, gaps and empty segments included."""

import pytest

from otel_raglog.journal.numbering import end_after, holding, ranges

SEGMENTS = (range(1, 4), range(6, 6), range(9, 11))
"""Numbers 1 to 3, a segment begun at 6 without a record, and 9 and 10."""


class Part:
    """A segment."""

    def __init__(self, numbers):
        self.first, self.end = numbers.start, numbers.stop


PARTS = [Part(numbers) for numbers in SEGMENTS]


@pytest.mark.parametrize(
    ("number", "index"),
    [(0, None), (1, 0), (3, 0), (4, None), (6, None), (8, None), (9, 2), (10, 2), (11, None)],
)
def test_a_number_is_in_one_segment_or_in_none(number, index):
    """Numbers in gaps, before the first and behind the last are in none."""
    assert holding(PARTS, number) is (None if index is None else PARTS[index])


@pytest.mark.parametrize(
    ("number", "end"), [(0, 1), (1, 4), (3, 4), (4, 6), (6, 9), (9, 11), (11, 20)]
)
def test_the_end_is_of_its_segment_or_leads_to_the_next(number, end):
    """So a reader jumps over gaps, and arrives at what comes after the last."""
    assert end_after(PARTS, number, 20) == end
    assert end_after([], number, 20) == 20


def test_all_numbers_are_listed_in_order():
    """A segment without records has none."""
    assert ranges(PARTS) == list(SEGMENTS)

"""Books: what is undecided, and who refers to whom, by number."""

from __future__ import annotations

from otel_raglog.journal.books import Books, Column
from otel_raglog.model import Decision, Piece, Signal


def decision(*pieces: Piece) -> Decision:
    return Decision(Signal.TRACES, 1, pieces)


def test_a_column_is_zero_where_nothing_was_put() -> None:
    """Gaps are filled, and what lies before its base is not kept."""
    column = Column(10)
    column.put(13, 7)
    column.put(9, 5)
    assert [column.get(number) for number in (9, 10, 12, 13, 14)] == [0, 0, 0, 7, 0]
    assert (column.greatest(0, 13), column.greatest(0, 14), column.greatest(14, 20)) == (0, 7, 0)
    column.forget_before(12)
    assert (column.base, column.get(13)) == (12, 7)
    column.forget_before(20)
    column.put(20, 1)
    assert (column.get(20), column.get(13)) == (1, 0)


def test_decisions_take_from_what_is_undecided() -> None:
    """A whole piece takes all, a piece of spans as many as it names."""
    books = Books(1, 1)
    for number, items in ((1, 3), (2, 5)):
        books.finish(books.begin(number), number, items)
    assert books.undecided_items == 8
    books.decide(1, decision(Piece(1, (0, 2)), Piece(2)))
    assert books.undecided_items == 1
    assert books.has_undecided(1, 2)
    assert not books.has_undecided(2, 3)


def test_a_request_that_is_being_written_holds_its_place() -> None:
    """Until it is booked, or was not written after all."""
    books = Books(1, 1)
    ticket = books.begin(5)
    assert not books.has_undecided(1, 5)
    assert books.has_undecided(1, 6)
    books.finish(ticket, 0, 0)
    assert not books.has_undecided(1, 6)


def test_references_are_kept_in_both_directions() -> None:
    """The last decision of a range of requests, and the last request of a range of decisions."""
    books = Books(1, 1)
    books.decide(4, decision(Piece(2, (0,)), Piece(9, (0,))))
    books.decide(7, decision(Piece(2, (1,))))
    assert (books.last_decision(1, 3), books.last_decision(3, 10)) == (7, 4)
    assert (books.last_request(1, 5), books.last_request(5, 8)) == (9, 2)
    books.forget_before(3, 5)
    assert (books.last_decision(1, 3), books.last_request(1, 5)) == (0, 0)


def test_what_is_undecided_can_be_corrected() -> None:
    """The total follows."""
    books = Books(1, 1)
    books.set_undecided(3, 4)
    books.set_undecided(3, 1)
    assert books.undecided_items == 1

"""Rebuilding: what the logs say is what the journal knows again."""

from __future__ import annotations

from journalled import NOW, Desk, log_request, trace_request
from structlog.testing import capture_logs

from otel_raglog.journal.cursors import MemoryCursors
from otel_raglog.journal.journal import JournalLimits
from otel_raglog.model import Piece, Signal


def test_an_empty_journal_has_nothing_to_do() -> None:
    """Nothing owed, nothing undecided."""
    desk = Desk()
    assert list(desk.recovered.requests) == list(desk.recovered.traces) == []
    assert set(desk.recovered.owed.values()) == {0}


def test_requests_that_were_decided_whole_are_not_read() -> None:
    """Starting takes no time for what only passes."""
    desk = Desk()
    for _ in range(5):
        desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    desk.requests.reads = 0
    desk.start()
    assert desk.requests.reads == 0
    assert desk.recovered.owed["one", Signal.LOGS] == 5


def test_undecided_requests_are_read_one_by_one() -> None:
    """Their bodies are not all in memory at once."""
    desk = Desk()
    for name in "abc":
        desk.hold(trace_request([name]), 1)
    desk.start()
    desk.requests.reads = 0
    next(desk.recovered.requests)
    assert desk.requests.reads == 1


def test_a_request_that_was_damaged_since_it_was_counted_is_no_longer_undecided() -> None:
    """It can never be decided."""
    desk = Desk()
    number = desk.hold(trace_request(["a"]), 1)
    desk.start()
    desk.requests.damaged.add(number)
    assert list(desk.recovered.requests) == []
    assert desk.journal.undecided_items == 0
    assert desk.tally.damaged_records == 1


def test_spans_decided_twice_count_once() -> None:
    """As when a decision whose write failed was on the disk after all."""
    desk = Desk()
    number = desk.hold(trace_request(["a", "b"]), 2)
    for _ in range(2):
        desk.release(Piece(number, (1,)))
    desk.start()
    assert desk.journal.undecided_items == 1
    [(_, _, decided)] = desk.recovered.requests
    assert decided == {1}


def test_traces_come_oldest_first_and_damaged_ones_not() -> None:
    """A later release of the same trace comes later, and so wins."""
    desk = Desk()
    for at, late in enumerate((b"x", b"y", b"z")):
        number = desk.hold(trace_request(["a"]), 1)
        desk.release(Piece(number, (0,)), trace_id=bytes([at % 2]) * 16, late=late)
    desk.start()
    desk.decisions.damaged.add(2)
    assert list(desk.recovered.traces) == [(bytes(16), b"x"), (bytes(16), b"z")]


def test_a_cursor_that_is_lost_begins_with_what_is_still_there() -> None:
    """Everything comes again that can be made, and nothing is called damaged."""
    desk = Desk(segment_bytes=1)
    for name in "ab":
        desk.pass_whole(trace_request([name]), 1)
    desk.deliver()
    desk.pass_whole(trace_request(["c"]), 1)
    desk.journal.tick()
    desk.cursors = MemoryCursors()
    desk.start()
    assert desk.requests.first == 3
    assert len(desk.deliver()) == 1
    assert not desk.tally.dropped_items


def test_what_is_owed_to_a_destination_that_is_configured_no_more_is_told() -> None:
    """By name, when its cursor is forgotten: nobody will get it."""
    desk = Desk(["one", "two"], signals=frozenset({Signal.TRACES}))
    desk.pass_whole(trace_request(["a"]), 1)
    desk.deliver("two")
    desk.pass_whole(trace_request(["b", "c"]), 2)
    desk.pass_whole(trace_request(["d"]), 1)
    desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    del desk.destinations["two"]
    with capture_logs() as lines:
        desk.start()
        desk.start()
    [line] = [line for line in lines if line["log_level"] == "warning"]
    assert (line["destination"], line["items"]) == ("two.traces", 3)


def test_a_damaged_record_is_counted_once_whoever_meets_it() -> None:
    """At the start, or a feed of some destination; also by another name of the same record."""
    desk = Desk(["one", "two"], limits=JournalLimits(10**6, 3600.0, 0, 0, 0))
    number = desk.hold(trace_request(["a", "b", "c"]), 3)
    desk.release(Piece(number, (0,)), Piece(number, (1,)))
    desk.requests.damaged.add(number)
    desk.start()
    assert desk.tally.damaged_records == 1
    for destination in ("one", "two"):
        desk.feed(destination).close()
        assert desk.feed(destination).take(NOW) is None
    assert desk.tally.damaged_records == 1
    assert sum(desk.tally.dropped_items.values()) == 4


def test_what_a_sender_had_when_it_was_given_up_is_lost_with_the_process() -> None:
    """It is owed, and dropped, by the next one."""
    limits = JournalLimits(1_500, 3600.0, 0, 1_000, 0)
    desk = Desk(["one", "two"], limits=limits, segment_bytes=1)
    body = trace_request(["a" * 100])
    desk.pass_whole(body, 1)
    assert desk.take("two") is not None
    while not desk.feed("two")._backlog.passed(desk.feed("two")._place).lent:
        desk.deliver("one")
        desk.pass_whole(body, 1)
    lost = desk.tally.lost("two", Signal.TRACES)
    pending = desk.feed("two").pending_items
    desk.journal.tick()
    desk.start()
    assert desk.tally.lost("two", Signal.TRACES) == lost + 1
    assert desk.recovered.owed["two", Signal.TRACES] == pending
    assert desk.feed("two").pending_items == pending - 1

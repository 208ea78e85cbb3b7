"""Retention: space comes back, a dead destination harms no other, and nothing goes unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from journalled import Desk, log_request, span_names, trace_request

from otel_raglog.errors import Unavailable
from otel_raglog.journal.cursors import Mark
from otel_raglog.journal.journal import JournalLimits
from otel_raglog.model import Piece, Signal

LIMITS = JournalLimits(4_000, 100.0, 0, 1_000, 1_000)
BODY = trace_request(["a" * 200])


def full(desk: Desk, body: bytes = BODY) -> int:
    """Accept requests until one is refused; return how many were accepted."""
    for accepted in range(1_000):
        try:
            desk.pass_whole(body, 1)
        except Unavailable:
            return accepted
    raise AssertionError


def test_requests_that_are_refused_again_and_again_cost_little() -> None:
    """Where nothing changed since room was last sought in vain, it is not sought again."""
    desk = Desk(limits=LIMITS, segment_bytes=1_000)
    full(desk)
    sought = desk.requests.segments_asked
    full(desk)
    full(desk)
    assert desk.requests.segments_asked == sought
    desk.deliver()
    assert full(desk)


def test_what_everybody_has_makes_room() -> None:
    """A journal whose destinations keep up is never full."""
    desk = Desk(["one", "two"], limits=LIMITS, segment_bytes=1_000)
    for _ in range(100):
        desk.pass_whole(BODY, 1)
        desk.deliver("one")
        desk.deliver("two")
    assert desk.journal.size_bytes <= LIMITS.max_bytes
    assert not desk.tally.dropped_items


def test_ticks_free_segments_that_are_finished() -> None:
    """The one being written stays, until the journal has been idle for a minute."""
    desk = Desk(segment_bytes=1_000)
    for _ in range(10):
        desk.pass_whole(BODY, 1)
    desk.deliver()
    desk.journal.tick()
    assert 0 < desk.requests.size_bytes <= 1_000
    desk.clock.advance(61.0)
    desk.journal.tick()
    assert desk.requests.size_bytes == 0


def test_undecided_requests_and_owed_decisions_stay() -> None:
    """Each holds what comes after it."""
    desk = Desk(segment_bytes=1)
    desk.pass_whole(BODY, 1)
    held = desk.hold(trace_request(["b"]), 1)
    desk.pass_whole(BODY, 1)
    desk.journal.tick()
    assert desk.requests.first == 1
    desk.deliver()
    desk.journal.tick()
    assert desk.requests.first == held
    desk.release(Piece(held, (0,)))
    desk.deliver()
    desk.journal.tick()
    assert desk.requests.first > held


def test_a_full_journal_refuses_when_its_only_destination_is_down() -> None:
    """And takes requests again when it is back; nothing is dropped."""
    desk = Desk(limits=LIMITS, segment_bytes=1_000)
    accepted = full(desk)
    assert desk.journal.why_refusing() == "the journal is full"
    assert len(desk.deliver()) == accepted > 3
    desk.journal.tick()
    assert desk.journal.why_refusing() is None
    desk.pass_whole(BODY, 1)
    assert not desk.tally.dropped_items


def test_a_dead_destination_loses_its_oldest_so_that_another_can_go_on() -> None:
    """What it loses is counted, and what is left of it comes in order when it is back."""
    desk = Desk(["live", "dead"], limits=LIMITS, segment_bytes=1_000)
    for at in range(50):
        desk.pass_whole(trace_request([str(at) + "a" * 200]), 1)
        desk.deliver("live")
    lost = desk.tally.dropped_items["dead", Signal.TRACES, "journal_full"]
    left = [span_names(payload.body)[0].rstrip("a") for payload in desk.deliver("dead")]
    assert left == [str(at) for at in range(lost, 50)]
    assert 0 < lost < 50
    assert desk.tally.lost("live", Signal.TRACES) == 0


def test_a_destination_that_catches_up_is_not_caught_up() -> None:
    """Whoever still owes much would be full again at once: the newest are refused, none is lost."""
    limits = JournalLimits(100_000, 3600.0, 0, 1_000, 1_000)
    desk = Desk(["slow", "dead"], limits=limits, segment_bytes=10_000)
    body = trace_request(["a" * 2_000])
    for _ in range(26):
        desk.pass_whole(body, 1)
    desk.deliver("slow")
    assert full(desk, body) > 10
    assert not desk.tally.dropped_items
    desk.deliver("slow")
    desk.pass_whole(body, 1)
    assert desk.tally.lost("dead", Signal.TRACES) > 0


def test_nothing_is_freed_that_a_cursor_still_points_at() -> None:
    """Where the disk refuses a cursor, a kill would begin with requests that are gone."""
    desk = Desk(segment_bytes=1)
    cursor = desk.feed()._cursor

    def refuse(mark: Mark) -> None:
        raise Unavailable("input/output error")

    write, cursor.write = cursor.write, refuse  # type: ignore[method-assign]
    desk.pass_whole(BODY, 1)
    desk.deliver()
    desk.pass_whole(BODY, 1)
    desk.journal.tick()
    assert desk.requests.first == 1
    cursor.write = write  # type: ignore[method-assign]
    desk.journal.tick()
    assert desk.requests.first == 2


def test_two_dead_destinations_lose_nothing() -> None:
    """Where nobody keeps up, the newest are refused."""
    desk = Desk(["one", "two"], limits=LIMITS, segment_bytes=1_000)
    accepted = full(desk)
    assert len(desk.deliver("one")) == len(desk.deliver("two")) == accepted
    assert not desk.tally.dropped_items


def test_a_feed_of_a_signal_that_does_not_come_is_no_reason_to_drop() -> None:
    """Nor is another signal of the destination that is down."""
    desk = Desk(["one", "idle"], limits=LIMITS, segment_bytes=1_000)
    desk.destinations["idle"] = frozenset({Signal.METRICS})
    desk.start()
    desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    desk.deliver("one", Signal.LOGS)
    full(desk)
    assert not desk.tally.dropped_items


def test_what_is_undecided_is_never_dropped() -> None:
    """A journal full of it refuses."""
    desk = Desk(limits=LIMITS, segment_bytes=1_000)
    number = desk.hold(trace_request(["b"]), 1)
    while True:
        try:
            desk.pass_whole(BODY, 1)
        except Unavailable:
            break
        desk.deliver()
    desk.clock.advance(1_000.0)
    desk.journal.tick()
    assert desk.journal.undecided_items == 1
    desk.release(Piece(number, (0,)))
    desk.deliver()
    desk.pass_whole(BODY, 1)


def test_what_nobody_took_in_time_expires() -> None:
    """It is counted, and leaves the disk; younger items stay."""
    desk = Desk(["one", "two"], limits=LIMITS)
    desk.pass_whole(BODY, 1)
    desk.deliver("two")
    desk.clock.advance(60.0)
    desk.pass_whole(trace_request(["b"]), 1)
    desk.clock.advance(60.0)
    desk.journal.tick()
    assert desk.tally.dropped_items == {("one", Signal.TRACES, "expired"): 1}
    assert [span_names(payload.body) for payload in desk.deliver("one")] == [["b"]]
    desk.clock.advance(60.0)
    desk.journal.tick()
    assert desk.tally.lost("two", Signal.TRACES) == 1
    assert desk.requests.size_bytes == 0


def test_nothing_is_accepted_while_the_disk_is_nearly_full() -> None:
    """What is left is for decisions."""
    desk = Desk(limits=replace(LIMITS, reserve_bytes=10_000))
    held = desk.hold(trace_request(["a"]), 1)
    desk.free_bytes = 10_100
    with pytest.raises(Unavailable, match="disk"):
        desk.pass_whole(BODY, 1)
    desk.release(Piece(held, (0,)))
    desk.free_bytes = 50_000
    desk.pass_whole(BODY, 1)


def test_decisions_stay_a_while_so_that_late_spans_inherit() -> None:
    """Up to ``remember_bytes``, unless the journal is full."""
    limits = JournalLimits(80_000, 3600.0, 0, 1_000, 2_000)
    desk = Desk(limits=limits, segment_bytes=500)
    for at in range(100):
        number = desk.hold(trace_request(["a"]), 1)
        desk.release(Piece(number, (0,)), trace_id=bytes([at]) * 16, late=b"x")
        desk.deliver()
    desk.journal.tick()
    assert 1_500 <= desk.decisions.size_bytes <= 2_500
    assert desk.requests.size_bytes <= 500
    desk.start()
    assert list(desk.recovered.traces)[-1] == (bytes([99]) * 16, b"x")


def test_decisions_stay_as_long_as_a_request_that_they_are_about() -> None:
    """Else a restart would decide the same spans again."""
    desk = Desk(limits=replace(LIMITS, remember_bytes=0), segment_bytes=1)
    held = desk.hold(trace_request(["a", "b"]), 2)
    desk.release(Piece(held, (0,)))
    desk.pass_whole(BODY, 1)
    desk.deliver()
    desk.journal.tick()
    desk.start()
    [(_, _, decided)] = desk.recovered.requests
    assert decided == {0}


def test_a_cursor_is_written_before_what_it_passed_is_freed() -> None:
    """A kill right after that must not find requests missing that are owed."""
    desk = Desk(["live", "dead"], limits=LIMITS, segment_bytes=1_000)
    while not desk.tally.dropped_items:
        desk.deliver("live")
        desk.pass_whole(BODY, 1)
    desk.start()
    desk.deliver("dead")
    assert not desk.tally.dropped_items["dead", Signal.TRACES, "journal_damaged"]


def test_another_signal_of_the_destination_that_lags_is_no_reason_to_drop() -> None:
    """Where one destination is all there is, its data are refused before they are lost."""
    desk = Desk(limits=LIMITS, segment_bytes=1_000)
    for _ in range(20):
        try:
            desk.pass_whole(BODY, 1)
            desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
        except Unavailable:
            break
        desk.deliver("one", Signal.LOGS)
    else:
        raise AssertionError
    assert not desk.tally.dropped_items

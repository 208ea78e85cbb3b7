"""What a journal promises: nothing accepted is lost, nothing is decided twice differently."""

from __future__ import annotations

import contextlib
import threading

import pytest
from journalled import MEGABYTE, NOW, Desk, log_request, span_names, trace_request

from otel_raglog.errors import TooLarge, Unavailable
from otel_raglog.journal.journal import JournalLimits
from otel_raglog.model import Decision, Payload, Piece, Signal
from otel_raglog_exporters.sending import Pull

HEADERS = (("x-scope-orgid", "7"),)


def test_a_whole_request_reaches_every_feed_of_its_signal_as_the_same_object() -> None:
    """What passes is not copied, and other signals do not see it."""
    desk = Desk(["one", "two"])
    body = trace_request(["a", "b"])
    number = desk.pass_whole(body, 2, headers=HEADERS)
    assert number == 1
    for destination in ("one", "two"):
        taken = desk.feed(destination).take(NOW)
        assert taken is not None
        assert taken.payloads == (Payload(Signal.TRACES, body, 2, HEADERS),)
        assert taken.payloads[0].body is body
    assert desk.feed("one", Signal.LOGS).pending_items == 0
    assert desk.requests.reads == desk.decisions.reads == 0


def test_of_a_mixed_request_the_passing_spans_leave_and_the_others_wait() -> None:
    """The rest leaves with the decisions about it, additions and all."""
    desk = Desk()
    number = desk.pass_some(trace_request(["a", "b", "c"]), 3, 1)
    assert [span_names(payload.body) for payload in desk.deliver()] == [["b"]]
    assert desk.journal.undecided_items == 2
    desk.release(Piece(number, (2, 0)))
    assert [span_names(payload.body) for payload in desk.deliver()] == [["c", "a"]]
    assert desk.journal.undecided_items == 0


def test_a_request_that_cannot_be_written_is_refused() -> None:
    """The journal says that it refuses until it takes one again."""
    desk = Desk()
    desk.requests.refusing = True
    with pytest.raises(Unavailable):
        desk.pass_whole(trace_request(["a"]), 1)
    assert desk.journal.why_refusing() is not None
    desk.requests.refusing = False
    desk.pass_whole(trace_request(["a"]), 1)
    assert desk.journal.why_refusing() is None


class CountedReserve:
    """A reserve that is asked for often."""

    def __init__(self) -> None:
        self.holds = 0

    def hold(self) -> None:
        self.holds += 1

    def release(self) -> bool:
        return False


def test_a_disk_that_refuses_is_refusing_until_it_takes_something() -> None:
    """Whoever asks is not told at the next tick that all is well; nor need a request try it."""
    desk = Desk()
    desk.requests.refusing = True
    with pytest.raises(Unavailable):
        desk.pass_whole(trace_request(["a"]), 1)
    desk.journal.tick()
    assert desk.journal.why_refusing() == "no space left on device"
    desk.requests.refusing = False
    desk.journal.tick()
    assert desk.journal.why_refusing() is None


def test_decisions_are_tried_again_although_nothing_is_owed() -> None:
    """Requests are refused meanwhile, so that nobody else might try."""
    desk = Desk()
    number = desk.hold(trace_request(["a"]), 1)
    desk.decisions.refusing = True
    with pytest.raises(Unavailable):
        desk.release(Piece(number, (0,)))
    desk.journal.tick()
    assert desk.journal.why_refusing() is not None
    desk.decisions.refusing = False
    desk.journal.tick()
    assert desk.journal.why_refusing() is None


@pytest.mark.parametrize("log", ["requests", "decisions"])
def test_the_reserve_is_not_taken_back_from_a_disk_that_refuses(log: str) -> None:
    """It was given up so that decisions find room."""
    desk = Desk()
    desk.journal._reserve = reserve = CountedReserve()
    desk.journal.tick()
    assert reserve.holds == 1
    getattr(desk, log).refusing = True
    with contextlib.suppress(Unavailable):
        desk.pass_whole(trace_request(["a"]), 1)
    desk.journal.tick()
    assert reserve.holds == 1
    getattr(desk, log).refusing = False
    desk.journal.tick()
    assert reserve.holds == 2


def test_a_passing_decision_that_cannot_be_written_is_owed() -> None:
    """The request is accepted all the same, and leaves after a tick when the disk is well again."""
    desk = Desk()
    desk.decisions.refusing = True
    desk.pass_whole(trace_request(["a"]), 1)
    desk.journal.tick()
    assert desk.take() is None
    assert desk.journal.undecided_items == 1
    desk.decisions.refusing = False
    desk.journal.tick()
    assert len(desk.deliver()) == 1
    assert desk.journal.undecided_items == 0


def test_while_decisions_cannot_be_written_requests_are_refused() -> None:
    """Nothing of them could leave, and what is owed is in memory."""
    desk = Desk()
    desk.decisions.refusing = True
    desk.pass_whole(trace_request(["a"]), 1)
    assert desk.journal.why_refusing() == "no space left on device"
    with pytest.raises(Unavailable):
        desk.pass_whole(trace_request(["b"]), 1)
    desk.journal.tick()
    assert desk.journal.why_refusing() is not None
    desk.decisions.refusing = False
    desk.journal.tick()
    assert desk.journal.why_refusing() is None
    desk.pass_whole(trace_request(["c"]), 1)
    assert [span_names(payload.body) for payload in desk.deliver()] == [["a"], ["c"]]


def test_an_owed_decision_is_undecided_after_a_kill() -> None:
    """The request comes back whole, to be sifted again."""
    desk = Desk()
    desk.decisions.refusing = True
    body = trace_request(["a"])
    desk.pass_whole(body, 1)
    desk.start()
    [(number, request, decided)] = desk.recovered.requests
    assert (number, request.body, decided) == (1, body, frozenset())


def test_decisions_that_cannot_be_written_decide_nothing() -> None:
    """Everything stays undecided, and no feed sees anything."""
    desk = Desk()
    number = desk.hold(trace_request(["a"]), 1)
    desk.decisions.refusing = True
    with pytest.raises(Unavailable):
        desk.release(Piece(number, (0,)))
    assert desk.journal.undecided_items == 1
    assert desk.take() is None


def test_no_decisions_are_no_record() -> None:
    """Deciding nothing writes nothing."""
    desk = Desk()
    desk.journal.decide([], [])
    assert desk.decisions.next == 1


def test_after_a_kill_undecided_spans_come_back_with_what_is_decided() -> None:
    """Requests that are decided whole do not; traces tell what their late spans get."""
    desk = Desk()
    first = desk.hold(trace_request(["a", "b", "c"]), 3)
    second = desk.hold(trace_request(["d"]), 1)
    desk.pass_whole(trace_request(["e"]), 1)
    desk.release(Piece(first, (1,)), Piece(second, (0,)), trace_id=b"T" * 16, late=b"\x12\x00")
    desk.start()
    assert desk.journal.undecided_items == 2
    [(number, request, decided)] = desk.recovered.requests
    assert (number, request.items, decided) == (first, 3, frozenset({1}))
    assert list(desk.recovered.traces) == [(b"T" * 16, b"\x12\x00")]
    assert desk.recovered.owed["one", Signal.TRACES] == 3
    assert desk.recovered.owed["one", Signal.LOGS] == 0


def test_payloads_after_a_kill_are_byte_for_byte_those_before_it() -> None:
    """In the same order, with the same headers."""
    desk = Desk()
    held = desk.hold(trace_request(["a", "b", "c"], ["x", "y"]), 3)
    desk.pass_whole(trace_request(["d"]), 1, headers=HEADERS)
    payload = desk.release(Piece(held, (2, 0), (b"\x12\x01z", b"")))
    desk.start()
    before = [Payload(Signal.TRACES, trace_request(["d"]), 1, HEADERS), payload]
    assert desk.deliver() == before


def test_settled_payloads_do_not_come_again_after_a_kill() -> None:
    """The cursor is written with each batch."""
    desk = Desk(["one", "two"])
    desk.pass_whole(trace_request(["a"]), 1)
    desk.deliver("one")
    desk.pass_whole(trace_request(["b"]), 1)
    desk.start()
    assert [span_names(payload.body) for payload in desk.deliver("one")] == [["b"]]
    assert [span_names(payload.body) for payload in desk.deliver("two")] == [["a"], ["b"]]


def test_taken_payloads_that_were_not_settled_come_again() -> None:
    """At least once: a kill between sending and settling repeats a batch."""
    desk = Desk()
    desk.pass_whole(trace_request(["a"]), 1)
    desk.take()
    desk.start()
    assert len(desk.deliver()) == 1


def test_correcting_a_recovered_request() -> None:
    """Where sifting again finds fewer spans to decide, what is undecided can be set right."""
    desk = Desk()
    number = desk.hold(trace_request(["a", "b"]), 2)
    desk.start()
    desk.journal.correct_undecided(number, 1)
    assert desk.journal.undecided_items == 1


def test_a_damaged_decision_is_counted_and_its_spans_are_undecided_again() -> None:
    """Nothing else is concerned."""
    desk = Desk()
    number = desk.hold(trace_request(["a", "b"]), 2)
    desk.release(Piece(number, (0,)))
    desk.release(Piece(number, (1,)))
    desk.decisions.damaged.add(1)
    desk.start()
    assert desk.tally.damaged_records == 1
    [(_, _, decided)] = desk.recovered.requests
    assert decided == {1}
    assert [span_names(payload.body) for payload in desk.deliver()] == [["b"]]


def test_a_damaged_request_costs_its_own_items() -> None:
    """They are counted for each feed that does not have them yet."""
    desk = Desk(["one", "two"])
    lost = desk.hold(trace_request(["a"]), 1)
    kept = desk.hold(trace_request(["b"]), 1)
    desk.release(Piece(lost, (0,)), Piece(kept, (0,)))
    desk.deliver("two")
    desk.requests.damaged.add(lost)
    desk.start()
    [payload] = desk.deliver("one")
    assert (span_names(payload.body), payload.items) == (["b"], 1)
    assert desk.tally.dropped_items == {("one", Signal.TRACES, "journal_damaged"): 1}


def test_a_damaged_request_that_is_undecided_is_counted() -> None:
    """What it held is unknown, so that only the record can be counted."""
    desk = Desk()
    desk.requests.damaged.add(desk.hold(trace_request(["a"]), 1))
    desk.start()
    assert list(desk.recovered.requests) == []
    assert desk.tally.damaged_records == 1
    assert desk.journal.undecided_items == 0


def test_numbers_are_never_given_twice_after_the_tail_of_a_log_was_lost() -> None:
    """Cursors and decisions that refer to lost records go before the log's own end."""
    desk = Desk()
    desk.pass_whole(trace_request(["a"]), 1)
    desk.pass_whole(trace_request(["b"]), 1)
    desk.deliver()
    fresh = Desk(cursors=desk.cursors, stores=(Desk().requests.inner, desk.decisions.inner))
    assert fresh.pass_whole(trace_request(["c"]), 1) == 3
    assert [span_names(payload.body) for payload in fresh.deliver()] == [["c"]]
    again = Desk(cursors=fresh.cursors)
    again.pass_whole(trace_request(["d"]), 1)
    assert [span_names(payload.body) for payload in again.deliver()] == [["d"]]


def test_a_new_destination_gets_what_is_still_there() -> None:
    """It begins behind the last decision about a request that is gone."""
    desk = Desk()
    desk.pass_whole(trace_request(["a"]), 1)
    desk.deliver()
    desk.destinations["two"] = frozenset({Signal.TRACES})
    desk.start()
    assert [span_names(payload.body) for payload in desk.deliver("two")] == [["a"]]
    with pytest.raises(KeyError):
        desk.feed("two", Signal.LOGS)


def test_a_new_destination_misses_what_is_there_in_part_without_an_alarm() -> None:
    """Spans wait: what was decided later may be of requests that went earlier."""
    desk = Desk(segment_bytes=1)
    first = desk.hold(trace_request(["held"]), 1)
    second = desk.pass_some(trace_request(["a", "b"]), 2, 0)
    desk.release(Piece(first, (0,)))
    desk.deliver()
    desk.journal.tick()
    desk.release(Piece(second, (1,)))
    desk.destinations["two"] = frozenset({Signal.TRACES})
    desk.start()
    assert [span_names(payload.body) for payload in desk.deliver("two")] == [["b"]]
    assert not desk.tally.dropped_items
    assert not desk.tally.damaged_records


def test_a_destination_that_comes_back_does_not_begin_where_it_once_was() -> None:
    """Its old cursor would point at what is long gone."""
    desk = Desk(["one", "two"], segment_bytes=1)
    desk.pass_whole(trace_request(["a"]), 1)
    two = desk.destinations.pop("two")
    desk.start()
    desk.deliver("one")
    desk.pass_whole(trace_request(["b"]), 1)
    desk.journal.tick()
    desk.destinations["two"] = two
    desk.start()
    assert [span_names(payload.body) for payload in desk.deliver("two")] == [["b"]]
    assert not desk.tally.dropped_items


def test_a_request_bigger_than_the_journal_is_too_large() -> None:
    """Trying again would never help."""
    desk = Desk(limits=JournalLimits(1000, 3600.0, 0, 0, 0))
    with pytest.raises(TooLarge, match=r"journal\.max_mib"):
        desk.pass_whole(trace_request(["a" * 2000]), 1)


def test_a_closed_journal_takes_nothing_and_ends_its_feeds() -> None:
    """A sender is told with ``None``."""
    desk = Desk()
    desk.journal.close()
    with pytest.raises(Unavailable):
        desk.pass_whole(trace_request(["a"]), 1)
    assert desk.feed().take(NOW) is None
    assert desk.journal.why_refusing() is not None


def test_a_sender_that_waits_is_woken_by_a_decision() -> None:
    """It sleeps until then."""
    desk = Desk()
    taken = []
    thread = threading.Thread(target=lambda: taken.append(desk.feed().take(NOW)))
    thread.start()
    desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    desk.pass_whole(trace_request(["a"]), 1)
    thread.join(10)
    assert not thread.is_alive()
    assert [span_names(payload.body) for payload in taken[0].payloads] == [["a"]]


def test_many_doors_and_senders_at_once_lose_nothing() -> None:
    """Every feed gets every span once, in the order of the decisions."""
    desk = Desk(["one", "two"], limits=JournalLimits(100 * MEGABYTE, 3600.0, 0, 20_000, 0))
    doors, requests = 4, 100
    total = doors * requests
    received: dict[str, list[str]] = {"one": [], "two": []}

    def accept(door: int) -> None:
        for at in range(requests):
            body = trace_request([f"{door}-{at}", f"held-{door}-{at}"])
            number = desk.pass_some(body, 2, 0)
            desk.release(Piece(number, (1,)))

    def send(destination: str) -> None:
        feed = desk.feed(destination)
        while taken := feed.take(Pull(items=50, bytes=MEGABYTE, seconds=0.001)):
            received[destination] += [n for p in taken.payloads for n in span_names(p.body)]
            feed.settle(taken)

    senders = [threading.Thread(target=send, args=(name,)) for name in received]
    threads = [threading.Thread(target=accept, args=(door,)) for door in range(doors)]
    for thread in senders + threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk.journal.tick()
    for name in received:
        desk.feed(name).close()
    for thread in senders:
        thread.join(30)
    assert received["one"] == received["two"]
    assert len(set(received["one"])) == len(received["one"]) == 2 * total
    assert desk.journal.undecided_items == 0


def test_a_decision_of_a_signal_that_nobody_wants_is_written_all_the_same() -> None:
    """It is decided, and costs no memory."""
    desk = Desk(signals=frozenset({Signal.TRACES}))
    payload = Payload(Signal.LOGS, log_request(["x"]), 1)
    number = desk.journal.accept(payload, None)
    desk.journal.decide([Decision(Signal.LOGS, 1, (Piece(number),))], [payload])
    assert desk.journal._backlog.ring_bytes == 0
    assert desk.journal.undecided_items == 0
    assert desk.journal.size_bytes > 0


def test_the_age_of_the_oldest_request_is_told() -> None:
    """In seconds on the wall's clock."""
    desk = Desk()
    desk.pass_whole(trace_request(["a"]), 1)
    desk.clock.advance(7.0)
    assert desk.journal.oldest_seconds == pytest.approx(7.0)

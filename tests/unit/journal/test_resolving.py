"""Payloads made again from the logs: the same bytes, or what is left of them."""

from __future__ import annotations

from journalled import Desk, log_request, span_names, trace_request

from otel_raglog.journal.damage import Log, Record
from otel_raglog.journal.resolving import Resolver, join_pieces
from otel_raglog.model import Origin, Piece, RawSpan, Signal
from otel_raglog.receive.picking import Picker


def test_a_whole_request_is_the_body_as_it_came() -> None:
    """Of any signal; nothing is parsed."""
    desk = Desk()
    desk.pass_whole(b"\xff no protobuf", 3, Signal.METRICS)
    made = Resolver(desk.requests, desk.decisions).make(1, 3)
    assert made.payload is not None
    assert made.payload.body == b"\xff no protobuf"
    assert made.payload.signal is Signal.METRICS


def test_spans_keep_the_order_of_the_decision_and_get_their_additions() -> None:
    """Over several requests; equal resources share one group."""
    desk = Desk()
    first = desk.hold(trace_request(["a", "b"]), 2)
    second = desk.hold(trace_request(["c"]), 1)
    pieces = (Piece(first, (1,), (b"\x2a\x01z",)), Piece(second, (0,)), Piece(first, (0,)))
    payload = desk.release(*pieces)
    made = Resolver(desk.requests, desk.decisions).make(1, 3)
    assert made.payload == payload
    assert span_names(payload.body) == ["z", "c", "a"]


def test_what_is_missing_is_counted_and_the_rest_is_made() -> None:
    """Damaged requests, and requests that do not hold what they should."""
    desk = Desk()
    numbers = [desk.hold(trace_request([name, name]), 2) for name in "abc"]
    desk.release(*(Piece(number, (0, 1)) for number in numbers))
    desk.requests.damaged.add(numbers[0])
    desk.requests.missing.add(numbers[1])
    made = Resolver(desk.requests, desk.decisions).make(1, 6)
    assert made.payload is not None
    assert span_names(made.payload.body) == ["c", "c"]
    assert (made.payload.items, made.lost) == (2, 4)
    assert made.unreadable == tuple(Record(Log.REQUESTS, number) for number in numbers[:2])


def test_of_a_decision_that_cannot_be_read_all_is_lost() -> None:
    """How much that is, the caller knows."""
    desk = Desk()
    desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    desk.decisions.damaged.add(1)
    made = Resolver(desk.requests, desk.decisions).make(1, 1)
    assert (made.payload, made.lost) == (None, 1)
    assert made.unreadable == (Record(Log.DECISIONS, 1),)


def test_a_request_is_read_once_for_decisions_that_follow_one_another() -> None:
    """And opened once."""
    desk = Desk()
    number = desk.hold(trace_request(["a", "b", "c"]), 3)
    for at in range(3):
        desk.release(Piece(number, (at,)))
    resolver = Resolver(desk.requests, desk.decisions)
    for at in range(3):
        resolver.make(at + 1, 1)
    assert desk.requests.reads == 1


def test_what_is_kept_open_is_bounded() -> None:
    """By the bodies and what is known about them; the request used last stays in any case."""
    desk = Desk()
    held = [desk.hold(trace_request([name] * 100), 100) for name in "abc"]
    for number in held * 2:
        desk.release(Piece(number, (0,)))
    body = len(desk.read(held[0]))
    index = Picker(desk.read(held[0])).index_bytes
    two = 2 * (body + index + 2_000)
    for limit, reads in ((10 * two, 3), (two, 6), (2 * body, 6), (0, 6)):
        resolver = Resolver(desk.requests, desk.decisions, limit)
        desk.requests.reads = 0
        for decision in range(1, 7):
            resolver.make(decision, 1)
        assert desk.requests.reads == reads
        resolver.make(6, 1)
        assert desk.requests.reads == reads


def test_what_is_used_again_and_again_stays_open() -> None:
    """What was used least lately goes first."""
    desk = Desk()
    often, *others = [desk.hold(trace_request([name] * 100), 100) for name in "abcd"]
    for number in others:
        desk.release(Piece(often, (0,)))
        desk.release(Piece(number, (0,)))
    opened = len(desk.read(often)) + Picker(desk.read(often)).index_bytes + 2_000
    resolver = Resolver(desk.requests, desk.decisions, 2 * opened)
    for decision in range(1, 7):
        resolver.make(decision, 1)
    assert desk.requests.reads == 4


def test_whole_requests_among_spans_stay_whole() -> None:
    """The spans around them are not grouped across."""
    span = RawSpan(Origin(b"", b""), b"\x2a\x01a")
    joined = join_pieces([(span,), trace_request(["b"]), (span, span)])
    assert span_names(joined) == ["a", "b", "a", "a"]

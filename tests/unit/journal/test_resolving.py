"""Payloads made again from the logs: the same bytes, or what is left of them."""

from __future__ import annotations

from journalled import Desk, log_request, span_names, trace_request

from otel_raglog.journal.resolving import Resolver, join_pieces
from otel_raglog.model import Origin, Piece, RawSpan, Signal


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
    assert (made.payload.items, made.lost, made.unreadable) == (2, 4, 2)


def test_of_a_decision_that_cannot_be_read_all_is_lost() -> None:
    """How much that is, the caller knows."""
    desk = Desk()
    desk.pass_whole(log_request(["x"]), 1, Signal.LOGS)
    desk.decisions.damaged.add(1)
    made = Resolver(desk.requests, desk.decisions).make(1, 1)
    assert (made.payload, made.lost, made.unreadable) == (None, 1, 1)


def test_a_request_is_read_once_for_decisions_that_follow_one_another() -> None:
    """Until it is forgotten."""
    desk = Desk()
    number = desk.hold(trace_request(["a", "b", "c"]), 3)
    for at in range(3):
        desk.release(Piece(number, (at,)))
    resolver = Resolver(desk.requests, desk.decisions)
    for at in range(3):
        resolver.make(at + 1, 1)
    assert desk.requests.reads == 1
    resolver.forget()
    resolver.make(1, 1)
    assert desk.requests.reads == 2


def test_whole_requests_among_spans_stay_whole() -> None:
    """The spans around them are not grouped across."""
    span = RawSpan(Origin(b"", b""), b"\x2a\x01a")
    joined = join_pieces([(span,), trace_request(["b"]), (span, span)])
    assert span_names(joined) == ["a", "b", "a", "a"]

"""What the outlet promises: decisions that say all that is needed to make a payload again."""

import threading
from dataclasses import replace

from samples import RETRIEVER, TOP, span_message, wire_span

from otel_raglog.errors import Unavailable
from otel_raglog.model import Origin, Piece, Signal
from otel_raglog.outlet import Outlet
from otel_raglog_exporters.grouping import MAX_REQUEST_BYTES, encode_request

ADDED = b"\x4a\x00"
"""An empty attribute."""


class Book:
    """Keeps what was decided."""

    def __init__(self):
        self.decisions = []
        self.payloads = []

    def decide(self, decisions, payloads):
        self.decisions += decisions
        self.payloads += payloads


def journalled(span_id, request, ordinal, **changes):
    """Return a span that lies at a place in the journal."""
    return replace(wire_span(span_message(span_id)), request=request, ordinal=ordinal, **changes)


def test_a_decision_names_each_span_by_its_place_and_what_is_appended():
    """In the spans' order; consecutive spans of one request make one piece."""
    book = Book()
    spans = [
        journalled(TOP, 7, 2),
        journalled(RETRIEVER, 7, 0),
        journalled(b"\x09" * 8, 9, 4),
        journalled(b"\x0a" * 8, 7, 1),
    ]
    Outlet(book.decide).put(spans, {RETRIEVER: ADDED}, trace_id=b"t" * 16, late_addition=b"late")
    (decision,) = book.decisions
    assert decision.pieces == (
        Piece(7, (2, 0), (b"", ADDED)),
        Piece(9, (4,)),
        Piece(7, (1,)),
    )
    assert (decision.signal, decision.items) == (Signal.TRACES, 4)
    assert (decision.trace_id, decision.late_addition) == (b"t" * 16, b"late")
    (payload,) = book.payloads
    changed = replace(spans[1], raw=spans[1].raw + ADDED)
    assert payload.body == encode_request([spans[0], changed, *spans[2:]])
    assert payload.items == 4


def test_spans_that_came_with_other_headers_go_out_in_another_payload():
    """A tenant's spans never travel under another tenant's name; one decision frees the trace."""
    book = Book()
    mine, theirs = (("x-scope-orgid", "a"),), (("x-scope-orgid", "b"),)
    spans = [
        journalled(TOP, 1, 0, headers=mine),
        journalled(RETRIEVER, 2, 0, headers=theirs),
        journalled(b"\x09" * 8, 1, 1, headers=mine),
    ]
    Outlet(book.decide).put(spans, trace_id=b"t" * 16, late_addition=b"late")
    assert [payload.headers for payload in book.payloads] == [mine, theirs]
    assert [payload.items for payload in book.payloads] == [2, 1]
    assert [decision.trace_id for decision in book.decisions] == [b"t" * 16, b""]
    assert [decision.late_addition for decision in book.decisions] == [b"late", b""]


def test_a_large_trace_is_cut_where_receivers_would_refuse_it():
    """All parts are decided at once."""
    book = Book()
    half = Origin(b"", b"\x0a\x03x" + b"\x00" * 10)
    spans = [
        replace(journalled(bytes([n]) * 8, 1, n), raw=bytes(MAX_REQUEST_BYTES // 2), origin=half)
        for n in range(1, 4)
    ]
    Outlet(book.decide).put(spans)
    assert [decision.items for decision in book.decisions] == [1, 1, 1]
    assert [piece.ordinals for d in book.decisions for piece in d.pieces] == [(1,), (2,), (3,)]


def test_spoofed_verdicts_are_taken_out_before_ours_are_appended():
    """The namespace is ours."""
    book = Book()
    span = wire_span(span_message(TOP, attributes={"a": "x", "raglog.verdict": "ok"}))
    Outlet(book.decide).put([span], {TOP: ADDED})
    clean = span_message(TOP, attributes={"a": "x"}).SerializeToString() + ADDED
    assert book.payloads[0].body == encode_request([replace(span, raw=clean)])


def test_no_spans_need_no_decision():
    """An empty trace leaves no record."""
    book = Book()
    Outlet(book.decide).put([], trace_id=b"t" * 16)
    assert book.decisions == []


def test_it_waits_for_the_journal():
    """A full disk costs time, not spans."""
    book, refused = Book(), threading.Event()
    full = [True, True]

    def decide(decisions, payloads):
        if full:
            full.pop()
            refused.set()
            raise Unavailable("disk full")
        book.decide(decisions, payloads)

    outlet = Outlet(decide)
    thread = threading.Thread(target=outlet.put, args=([journalled(TOP, 1, 0)],))
    thread.start()
    assert refused.wait(5)
    thread.join(5)
    assert len(book.decisions) == 1


def test_traces_that_are_one_run_are_decided_in_one_go():
    """Each under its own id, with the same bytes for spans that come late; all or none."""
    calls = []
    outlet = Outlet(lambda decisions, payloads: calls.append((decisions, payloads)))
    first = [journalled(TOP, 7, 0, trace_id=b"a" * 16)]
    second = [
        journalled(RETRIEVER, 8, 1, trace_id=b"b" * 16),
        journalled(b"\x09" * 8, 9, 0, trace_id=b"b" * 16, headers=(("x-tenant", "t"),)),
    ]
    traces = [(b"a" * 16, first), (b"b" * 16, second), (b"c" * 16, [])]
    outlet.put_together(traces, {RETRIEVER: ADDED}, late_addition=b"late")
    ((decisions, payloads),) = calls
    assert [decision.trace_id for decision in decisions] == [b"a" * 16, b"b" * 16, b""]
    assert [decision.late_addition for decision in decisions] == [b"late", b"late", b""]
    assert [payload.items for payload in payloads] == [1, 1, 1]
    assert decisions[1].pieces == (Piece(8, (1,), (ADDED,)),)

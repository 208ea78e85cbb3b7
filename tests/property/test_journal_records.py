"""What the journal writes can be read again, and payloads made again, byte for byte."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from journalled import Desk, trace_request

from otel_raglog.journal.decisions import (
    decode_decision,
    decode_request,
    encode_decision,
    encode_request_head,
)
from otel_raglog.journal.resolving import Resolver
from otel_raglog.model import Decision, Piece, Signal

decisions = st.builds(
    Decision,
    st.sampled_from(Signal),
    st.integers(0, 1 << 40),
    st.lists(
        st.builds(
            Piece,
            st.integers(0, 1 << 60),
            st.lists(st.integers(0, 1 << 30), max_size=5).map(tuple),
            st.lists(st.binary(max_size=9), max_size=5).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
    st.binary(max_size=16),
    st.binary(max_size=20),
)


@given(decisions)
def test_a_decision_survives_its_record(decision: Decision) -> None:
    """What was decided can be read again, whatever it is."""
    assert decode_decision(encode_decision(decision, 7, 8)) == decision


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.sampled_from(Signal),
    st.lists(st.tuples(texts, texts), max_size=4).map(tuple),
    st.integers(0, 1 << 40),
    st.binary(),
)
def test_a_request_survives_its_record(
    signal: Signal, pairs: tuple[tuple[str, str], ...], items: int, body: bytes
) -> None:
    """The body, the headers, and how much of it was accepted."""
    stored = decode_request(encode_request_head(signal, pairs, items) + body)
    assert (stored.signal, stored.headers, stored.items, stored.body) == (
        signal,
        pairs,
        items,
        body,
    )


span_kinds = st.sampled_from(["a", "raglog.run.verdict", "gen_ai.evaluation.result"])


@settings(deadline=None)
@given(st.data())
def test_a_payload_is_made_again_byte_for_byte(data: st.DataObject) -> None:
    """Of any spans of several requests, in any order, with additions, and of whole requests."""
    desk = Desk()
    counts: dict[int, int] = {}
    for _ in range(data.draw(st.integers(1, 3))):
        names = data.draw(st.lists(span_kinds, min_size=1, max_size=4))
        services = data.draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3))
        counts[desk.hold(trace_request(names, services), len(names))] = len(names)
    pieces: list[Piece] = []
    for _ in range(data.draw(st.integers(1, 4))):
        request = data.draw(st.sampled_from(sorted(counts)))
        ordinals = data.draw(
            st.lists(st.integers(0, counts[request] - 1), unique=True, min_size=1).map(tuple)
        )
        added = st.lists(
            st.sampled_from([b"", b"\x12\x01z"]), min_size=len(ordinals), max_size=len(ordinals)
        )
        pieces.append(Piece(request, ordinals, data.draw(st.just(()) | added.map(tuple))))
    payload = desk.release(*pieces)
    again = Resolver(desk.requests, desk.decisions).make(1, payload.items)
    assert again.payload == payload
    assert again.lost == 0

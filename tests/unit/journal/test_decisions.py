"""Records of the journal: what is written can be read, and what is none is refused."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.journal.decisions import (
    decode_decision,
    decode_request,
    decode_stored_decision,
    encode_decision,
    encode_request_head,
)
from otel_raglog.model import Decision, Piece, Signal

DECISION = Decision(Signal.TRACES, 3, (Piece(7, (2, 0), (b"a", b"")), Piece(9)), b"t" * 16, b"late")


def test_a_decision_is_read_as_it_was_written() -> None:
    """Order of spans, empty additions and whole requests included."""
    assert decode_decision(encode_decision(DECISION, 0, 0)) == DECISION


def test_a_record_tells_the_size_of_the_payload_and_the_time() -> None:
    """So that what is owed can be counted and expires without reading requests."""
    stored = decode_stored_decision(encode_decision(DECISION, 700_000, 1_700_000_000))
    assert (stored.payload_bytes, stored.unix_seconds) == (700_000, 1_700_000_000)


def test_a_request_is_its_head_and_its_body_as_it_came() -> None:
    """Headers keep their order; the same name may come twice."""
    headers = (("b", "1"), ("a", "é"), ("b", "2"))
    record = encode_request_head(Signal.LOGS, headers, 5) + b"body"
    stored = decode_request(record)
    assert (stored.signal, stored.headers, stored.items, stored.body) == (
        Signal.LOGS,
        headers,
        5,
        b"body",
    )


@pytest.mark.parametrize("record", [b"", b"\xff\xff\xff\xff\xff", b"\x7f", b"\x01\xff", b"\x00"])
def test_what_is_no_request_record_is_refused(record: bytes) -> None:
    """Cut off, malformed, or of a signal that this version does not know."""
    with pytest.raises(BadInput):
        decode_request(record)


@pytest.mark.parametrize("record", [b"\xff", b""])
def test_what_is_no_decision_record_is_refused(record: bytes) -> None:
    """Malformed, or of a signal that this version does not know."""
    with pytest.raises(BadInput):
        decode_decision(record)

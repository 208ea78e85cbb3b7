"""What both doors do with a request: count, split, put."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.intake import describe_rejections


def test_spans_are_put_and_counted(make_intake, inbox, observer, one_span: bytes) -> None:
    """Received counts what was accepted."""
    make_intake().take(one_span, split_protobuf)
    assert inbox.spans == 1
    assert observer.spans_received == 1
    assert not observer.reasons


def test_rejected_spans_are_received_spans(make_intake, inbox, observer, make_span, pack) -> None:
    """Received = accepted + rejected, by reason."""
    body = pack(
        make_span(), make_span(span_id=b""), make_span(trace_id=b""), make_span(trace_id=b"")
    )
    batch = make_intake().take(body, split_protobuf)
    assert (inbox.spans, observer.spans_received) == (1, 4)
    assert observer.reasons == {"invalid_span_id": 1, "invalid_trace_id": 2}
    assert describe_rejections(batch) == "invalid_span_id: 1, invalid_trace_id: 2"


def test_an_empty_request_puts_nothing(make_intake, inbox, observer) -> None:
    """There is nothing for the assembler to do."""
    make_intake().take(b"", split_protobuf)
    assert inbox.get(0) is None
    assert observer.spans_received == 0


def test_an_unreadable_request_counts_as_one_span(make_intake, observer) -> None:
    """Nobody can tell how many it held."""
    with pytest.raises(BadInput):
        make_intake().take(b"\xff", split_protobuf)
    assert (observer.spans_received, observer.reasons) == (1, {"malformed": 1})


def test_a_too_large_request_has_a_reason_of_its_own(make_intake, observer, one_span) -> None:
    """An operator may want to raise the limit."""
    with pytest.raises(TooLarge):
        make_intake(max_request_bytes=5).take(one_span, split_protobuf)
    assert observer.reasons == {"too_large": 1}


def test_a_refusing_inbox_is_passed_on_and_counted(make_intake, inbox, observer, one_span) -> None:
    """The client must hear of it, and the sums must hold."""
    inbox.close()
    with pytest.raises(Unavailable):
        make_intake().take(one_span, split_protobuf)
    assert (observer.spans_received, observer.reasons) == (1, {"unavailable": 1})

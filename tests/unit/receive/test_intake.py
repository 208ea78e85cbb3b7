"""What both doors do with a request: check, read, count, pass on."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.model import Signal


def test_an_accepted_request_arrives_as_it_was_sent(make_intake, inbox, observer, one_span) -> None:
    """With its headers and what becomes of its spans; received counts what was accepted."""
    headers = (("x-scope-orgid", "a"),)
    receipt = make_intake().take(Signal.TRACES, one_span, headers)
    (arrival,) = inbox.arrivals
    assert (arrival.signal, arrival.body, arrival.headers) == (Signal.TRACES, one_span, headers)
    assert (arrival.items, len(arrival.sifted.held(1, headers))) == (1, 1)
    assert (receipt.accepted, receipt.rejected) == (1, {})
    assert observer.items_received == {Signal.TRACES: 1}
    assert not observer.reasons


@pytest.mark.parametrize("signal", [Signal.LOGS, Signal.METRICS])
def test_other_signals_pass_whole(signal: Signal, make_intake, inbox, observer, bodies) -> None:
    """Their items are counted and not looked at."""
    make_intake().take(signal, bodies[signal])
    (arrival,) = inbox.arrivals
    assert (arrival.items, arrival.sifted) == (1, None)
    assert observer.items_received == {signal: 1}


def test_rejected_spans_are_received_spans(make_intake, inbox, observer, make_span, pack) -> None:
    """Received = accepted + rejected, by reason."""
    body = pack(
        make_span(), make_span(span_id=b""), make_span(trace_id=b""), make_span(trace_id=b"")
    )
    receipt = make_intake().take(Signal.TRACES, body)
    assert (inbox.items, observer.spans_received) == (1, 4)
    assert observer.reasons == {"invalid_span_id": 1, "invalid_trace_id": 2}
    assert receipt.rejected_count == 3
    assert receipt.describe_rejections() == "invalid_span_id: 1, invalid_trace_id: 2"


@pytest.mark.parametrize("signal", list(Signal))
def test_an_empty_request_does_not_arrive(signal: Signal, make_intake, inbox, observer) -> None:
    """There is nothing to keep."""
    assert make_intake().take(signal, b"").accepted == 0
    assert not inbox.arrivals
    assert observer.items_received.total() == 0


def test_an_unreadable_request_counts_as_one_item(make_intake, observer) -> None:
    """Nobody can tell how many it held."""
    with pytest.raises(BadInput):
        make_intake().take(Signal.LOGS, b"\xff")
    assert (observer.items_received, observer.reasons) == ({Signal.LOGS: 1}, {"malformed": 1})


def test_a_too_large_request_has_a_reason_of_its_own(make_intake, observer, one_span) -> None:
    """An operator may want to raise the limit."""
    with pytest.raises(TooLarge):
        make_intake(max_request_bytes=5).take(Signal.TRACES, one_span)
    assert observer.reasons == {"too_large": 1}


def test_a_refusing_inbox_is_passed_on_and_counted(make_intake, inbox, observer, one_span) -> None:
    """The client must hear of it, and the sums must hold."""
    inbox.retry_after_seconds = 3.0
    with pytest.raises(Unavailable) as error:
        make_intake().take(Signal.TRACES, one_span)
    assert error.value.retry_after_seconds == 3.0
    assert (observer.spans_received, observer.reasons) == (1, {"unavailable": 1})


def test_a_request_that_no_journal_can_hold_is_counted_too(
    make_intake, inbox, observer, one_span
) -> None:
    """It was read before it was refused, so its items have a number."""
    inbox.too_small = True
    with pytest.raises(TooLarge):
        make_intake().take(Signal.TRACES, one_span)
    assert (observer.spans_received, observer.reasons) == (1, {"too_large": 1})


def test_without_memory_nothing_is_read(make_intake, observer, one_span) -> None:
    """The budget is asked with the size of the request, before it costs anything."""
    asked: list[int] = []

    def why_refuse(size: int) -> str | None:
        asked.append(size)
        return "the budget is used up"

    def never(body: bytes, limits: object) -> bytes:
        raise AssertionError

    with pytest.raises(Unavailable, match="used up"):
        make_intake(why_refuse=why_refuse).take(Signal.TRACES, one_span, (), never)
    assert asked == [len(one_span)]
    assert (observer.spans_received, observer.reasons) == (1, {"unavailable": 1})


def test_another_encoding_is_read_first(make_intake, inbox, one_span) -> None:
    """What arrives is protobuf."""
    make_intake().take(Signal.TRACES, one_span[::-1], (), lambda body, _: body[::-1])
    assert inbox.arrivals[0].body == one_span


def test_a_request_that_comes_round_is_refused(make_intake, inbox, observer, one_span) -> None:
    """A destination that leads back here would otherwise multiply spans for ever."""
    with pytest.raises(BadInput, match="loop"):
        make_intake("me").take(Signal.TRACES, one_span, (("x-otel-raglog-via", "a,me"),))
    assert observer.reasons == {"loop": 1}
    make_intake("me").take(Signal.TRACES, one_span, (("x-otel-raglog-via", "a,me2"),))
    assert inbox.items == 1

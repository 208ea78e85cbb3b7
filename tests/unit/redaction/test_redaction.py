"""Whole requests, and what happens when something in them cannot be redacted."""

from dataclasses import replace

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from personal_data import (
    REDACTION,
    attributes,
    leaks,
    planted_logs,
    planted_metrics,
    planted_trace,
)
from samples import origin, span_message, wire_span

from otel_raglog.errors import BadInput
from otel_raglog.model import Payload, Signal
from otel_raglog.patterns import compile_pattern
from otel_raglog.redaction.keys import DOCUMENT_ID_KEYS, KeyRules
from otel_raglog.redaction.redaction import Redaction
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog.redaction.texts import TextRules
from otel_raglog.redaction.values import ValueRules
from otel_raglog_exporters.grouping import encode_payload

REPLACING = Replacing(b"k" * 16)


class Stumbles:
    """An expression that fails on some texts."""

    def finditer(self, text):
        """Find nothing, or fail."""
        if "stumble" in text:
            raise OverflowError(text)
        return iter(())


def redaction(expressions=None):
    """Return what finds all that is planted."""
    compiled = [compile_pattern(each) for each in REDACTION["expressions"]]
    texts = TextRules(REDACTION["patterns"], expressions or compiled, Action.MASK, REPLACING)
    hashed = (*REDACTION["hash_keys"], *DOCUMENT_ID_KEYS)
    return Redaction(ValueRules(KeyRules(REDACTION["mask_keys"], hashed), texts, REPLACING))


@pytest.mark.parametrize("signal", Signal)
def test_requests_of_all_signals_hold_nothing_of_what_was_planted(signal):
    """And are requests of as many items."""
    payload = {
        Signal.TRACES: encode_payload(planted_trace()),
        Signal.LOGS: Payload(Signal.LOGS, planted_logs(), 3, (("x-a", "b"),)),
        Signal.METRICS: Payload(Signal.METRICS, planted_metrics(), 2),
    }[signal]
    made = redaction().payload(payload)
    assert leaks(made.payload.body) == []
    assert made.stripped == 0
    assert replace(made.payload, body=payload.body) == payload
    assert redaction().payload(payload) == made


def test_a_request_without_finds_is_the_same():
    """Byte for byte."""
    payload = encode_payload([wire_span(span_message(attributes={"a": "b"}))])
    assert redaction().payload(payload).payload == payload


def test_a_span_by_itself_is_what_is_sent():
    """What an LLM is shown is read from the same bytes."""
    (span, *_) = planted_trace()
    sent = ExportTraceServiceRequest.FromString(
        redaction().payload(encode_payload([span])).payload.body
    )
    alone = redaction().span(span)
    assert sent == ExportTraceServiceRequest.FromString(encode_payload([alone]).body)
    assert alone.span_id == span.span_id


def test_what_cannot_be_redacted_goes_out_without_content():
    """The span itself does, and all others as they should."""
    bad = wire_span(span_message(b"\x01" * 8, attributes={"a": "stumble over zq."}))
    good = wire_span(span_message(b"\x02" * 8, attributes={"a": "fine"}))
    made = redaction([Stumbles()]).payload(encode_payload([bad, good]))
    assert made.stripped == 1
    assert b"stumble" not in made.payload.body
    (envelope,) = ExportTraceServiceRequest.FromString(made.payload.body).resource_spans
    first, second = envelope.scope_spans[0].spans
    assert first.span_id == b"\x01" * 8
    assert [pair.key for pair in first.attributes] == ["raglog.redaction.failed"]
    assert [pair.key for pair in second.attributes] == ["a"]


def test_resources_scopes_and_their_texts_fail_by_themselves():
    """Spans inside keep what they have."""
    request = ExportTraceServiceRequest()
    envelope = request.resource_spans.add(schema_url="stumble")
    envelope.resource.attributes.extend(attributes({"a": "stumble"}))
    inside = envelope.scope_spans.add(schema_url="stumble")
    inside.scope.name = "stumble"
    inside.spans.append(span_message(attributes={"a": "fine"}))
    payload = Payload(Signal.TRACES, request.SerializeToString(), 1)
    made = redaction([Stumbles()]).payload(payload)
    assert made.stripped == 4
    assert b"stumble" not in made.payload.body
    assert b"fine" in made.payload.body


def test_nesting_without_end_is_no_way_out():
    """A value so deep that Python gives up loses its content, and costs no other span."""
    value = b"\x0a\x06zq.abc"
    for _ in range(5_000):
        value = b"\x2a" + _framed(b"\x0a" + _framed(value))
    deep = (
        span_message(b"\x01" * 8).SerializeToString()
        + b"\x4a"
        + _framed(b"\x0a\x01a" + b"\x12" + _framed(value))
    )
    spans = [replace(wire_span(), raw=deep), wire_span(span_message(attributes={"a": "fine"}))]
    made = redaction().payload(encode_payload(spans))
    assert made.stripped == 1
    assert b"zq." not in made.payload.body
    assert b"fine" in made.payload.body


def _framed(data):
    length, encoded = len(data), bytearray()
    while length >= 0x80:
        encoded.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes((*encoded, length)) + data


def test_what_is_no_request_does_not_leave():
    """Nothing of it is known to be harmless."""
    with pytest.raises(BadInput):
        redaction().payload(Payload(Signal.TRACES, b"\x0a\xff zq.", 1))


def test_origins_of_spans_are_read_once_and_stay_apart():
    """Two services do not get each other's name."""
    first, second = (replace(wire_span(), origin=origin(name)) for name in ("a", "b"))
    made = redaction()
    assert made.span(first).origin == first.origin
    assert made.span(second).origin == second.origin

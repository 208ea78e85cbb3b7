"""The lenient schema reads what OTLP's own schema refuses, and all that it accepts."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.model import Origin, RawSpan
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.wire_schema import read_payload, wire_schema


def test_text_that_is_not_utf8_is_read():
    """One bad string does not make a span unreadable."""
    raw = trace_pb2.Span(name="caf\u00e9").SerializeToString().replace(b"\xc3\xa9", b"\xff\xfe")
    with pytest.raises(DecodeError):
        trace_pb2.Span.FromString(raw)
    (request,) = read_payload(encode_payload([RawSpan(Origin(b"", b""), raw)])).requests
    assert request.resource_spans[0].scope_spans[0].spans[0].name == b"caf\xff\xfe"


def test_the_other_signals_are_read(logs, metrics):
    """Logs and metrics are decoded like spans."""
    (request,) = read_payload(logs("a")).requests
    assert request.resource_logs[0].scope_logs[0].log_records[0].body.string_value == b"a"
    (request,) = read_payload(metrics(1)).requests
    assert request.resource_metrics[0].scope_metrics[0].metrics[1].name == b"sum"


def test_an_item_that_cannot_be_read_costs_itself(span):
    """The rest of the payload is there, and what is missing is counted."""
    odd = RawSpan(Origin(b"", b""), b"\xff")
    read = read_payload(encode_payload([span(1), odd, span(2), odd]))
    names = [
        one.name
        for request in read.requests
        for block in request.resource_spans
        for scope in block.scope_spans
        for one in scope.spans
    ]
    assert (names, read.unreadable) == ([b"span 1", b"span 2"], 2)


def test_strings_are_known_to_be_text():
    """Fields that were strings can be told from bytes."""
    fields = wire_schema().text_fields
    assert "opentelemetry.proto.trace.v1.Span.Event.name" in fields
    assert "opentelemetry.proto.common.v1.AnyValue.string_value" in fields
    assert "opentelemetry.proto.trace.v1.Span.trace_id" not in fields


def test_the_schema_is_built_once():
    """Later calls cost nothing."""
    assert wire_schema() is wire_schema()

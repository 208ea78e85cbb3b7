"""The lenient schema reads what OTLP's own schema refuses, and all that it accepts."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog_exporters.wire_schema import wire_schema


def test_text_that_is_not_utf8_is_read():
    """One bad string does not make a span unreadable."""
    raw = trace_pb2.Span(name="caf\u00e9").SerializeToString().replace(b"\xc3\xa9", b"\xff\xfe")
    with pytest.raises(DecodeError):
        trace_pb2.Span.FromString(raw)
    assert wire_schema().span.FromString(raw).name == b"caf\xff\xfe"


def test_strings_are_known_to_be_text():
    """Fields that were strings can be told from bytes."""
    fields = wire_schema().text_fields
    assert "opentelemetry.proto.trace.v1.Span.Event.name" in fields
    assert "opentelemetry.proto.common.v1.AnyValue.string_value" in fields
    assert "opentelemetry.proto.trace.v1.Span.trace_id" not in fields


def test_the_schema_is_built_once():
    """Later calls cost nothing."""
    assert wire_schema() is wire_schema()

"""Spans as OTLP/JSON: what the service's own door reads out of it is what the SDK had."""

import json
import math

from in_app_kit import ended_spans, make_provider
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from sdk_signals import make_spans

from otel_raglog.model import Signal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.otlp_json import to_protobuf
from otel_raglog_exporters.in_app.span_json import request_json, span_json


def fail(span, defect):
    raise AssertionError(f"{span.name}: {defect!r}")


def as_protobuf(spans):
    message = ExportTraceServiceRequest.FromString(
        to_protobuf(Signal.TRACES, request_json(spans, fail), Limits())
    )
    for resource in message.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                span.flags &= ~0xFF  # the SDK's own encoder leaves out the flags of W3C
                for link in span.links:
                    link.flags &= ~0xFF
    return message


def exported(make):
    provider, memory = make_provider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    make(provider)
    return memory.get_finished_spans()


def value_of(value):
    (span,) = ended_with({"key": value})
    return span_json(span)["attributes"][0]["value"]


def ended_with(attributes):
    span = make_provider().get_tracer("t").start_span("s", attributes=attributes)
    span.end()
    return [span._readable_span()]


def test_spans_of_every_kind_are_what_the_sdks_own_encoder_makes_of_them():
    """Kinds, events, links, errors, nested values, scopes, resources and schema URLs."""
    spans = exported(make_spans)
    assert len(spans) == 12
    assert as_protobuf(spans) == encode_spans(spans)


def test_a_remote_parent_state_and_dropped_counts_travel():
    """What tells the service that a parent is elsewhere, and that a span is not whole."""
    remote = SpanContext(
        2**127 + 5, 2**63 + 9, is_remote=True, trace_flags=TraceFlags(1),
        trace_state=TraceState([("vendor", "a"), ("other", "b")]),
    )  # fmt: skip

    def make(provider):
        context = set_span_in_context(NonRecordingSpan(remote))
        span = provider.get_tracer("t").start_span("ask", context, SpanKind.SERVER)
        span.set_attributes({f"k{number}": number for number in range(10_001)})
        span.end()

    spans = exported(make)
    written = span_json(spans[0])
    assert as_protobuf(spans) == encode_spans(spans)
    assert written["flags"] == 0x301
    assert written["traceId"] == "80000000000000000000000000000005"
    assert written["parentSpanId"] == "8000000000000009"
    assert written["traceState"] == "vendor=a,other=b"
    assert written["droppedAttributesCount"] == 1


def test_numbers_without_a_place_in_json_are_written_as_otlp_says():
    """64-bit integers as text, larger ones as strings, NaN and infinities by name."""
    assert value_of(2**63 - 1) == {"intValue": "9223372036854775807"}
    assert value_of(2**63) == {"stringValue": "9223372036854775808"}
    assert value_of(True) == {"boolValue": True}
    assert value_of(math.inf) == {"doubleValue": "Infinity"}
    assert value_of(-math.inf) == {"doubleValue": "-Infinity"}
    assert value_of((1.5, math.nan)) == {
        "arrayValue": {"values": [{"doubleValue": 1.5}, {"doubleValue": "NaN"}]}
    }
    assert value_of(b"\x00\xff") == {"bytesValue": "AP8="}
    assert value_of({"a": [1, None]}) == {
        "kvlistValue": {
            "values": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "1"}, {}]}}}]
        }
    }


def test_text_that_is_no_text_loses_its_odd_characters_alone():
    """Half a surrogate pair cannot be UTF-8; separators, quotes and zeros can."""
    (span,) = as_protobuf(ended_with({"t": 'a\ud800b "q" \x00 \u2028 ü'})).resource_spans
    assert span.scope_spans[0].spans[0].attributes[0].value.string_value == 'a?b "q" \x00 \u2028 ü'


def test_a_span_that_cannot_be_written_costs_itself_alone():
    """It is handed out with what was wrong; the others are in the request."""

    class Odd:
        name = "odd"

        def get_span_context(self):
            raise LookupError("no context")

    good, failed = ended_spans("good"), []
    body = request_json([Odd(), *good], lambda span, defect: failed.append((span.name, defect)))
    assert [name for name, _ in failed] == ["odd"]
    spans = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == ["good"]


def test_values_nested_without_end_are_cut_and_told_as_text():
    """A value of sixty levels neither fails here nor is too deep for the service."""
    nested = "core"
    for _ in range(30):
        nested = [{"within": nested}]
    message = as_protobuf(ended_with({"key": nested}))
    assert b"core" in message.SerializeToString()

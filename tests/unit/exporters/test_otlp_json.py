"""OTLP/JSON as the specification has it."""

from __future__ import annotations

import json
import math

import pytest
from google.protobuf import json_format
from inline_snapshot import snapshot
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.errors import BadInput
from otel_raglog_exporters.otlp_json import request_to_json


def request(span: trace_pb2.Span) -> ExportTraceServiceRequest:
    scope = trace_pb2.ScopeSpans(spans=[span])
    return ExportTraceServiceRequest(resource_spans=[trace_pb2.ResourceSpans(scope_spans=[scope])])


def as_json(span: trace_pb2.Span) -> dict:
    line = request_to_json(request(span).SerializeToString())
    return json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


def rich_span() -> trace_pb2.Span:
    values = [
        AnyValue(string_value=""),
        AnyValue(bool_value=False),
        AnyValue(int_value=-(2**62)),
        AnyValue(double_value=0.5),
        AnyValue(bytes_value=b"\x00\xff"),
        AnyValue(),
    ]
    nested = AnyValue()
    nested.array_value.values.extend(values)
    pairs = AnyValue()
    pairs.kvlist_value.values.add(key="k").value.int_value = 0
    return trace_pb2.Span(
        trace_id=b"\xab" * 16,
        span_id=b"\x01" * 8,
        parent_span_id=b"\x02" * 8,
        name="retrieve",
        kind=trace_pb2.Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=2**63,
        flags=0x300,
        attributes=[KeyValue(key="list", value=nested), KeyValue(key="map", value=pairs)],
        events=[trace_pb2.Span.Event(name="e", time_unix_nano=5)],
        links=[trace_pb2.Span.Link(trace_id=b"\xcd" * 16, span_id=b"\x03" * 8)],
        status=trace_pb2.Status(code=trace_pb2.Status.STATUS_CODE_ERROR, message="bad"),
    )


def test_ids_numbers_enums_and_bytes():
    """Ids in hex, 64-bit integers as strings, enums as numbers, bytes in base64."""
    assert as_json(rich_span()) == snapshot(
        {
            "traceId": "abababababababababababababababab",
            "spanId": "0101010101010101",
            "parentSpanId": "0202020202020202",
            "name": "retrieve",
            "kind": 3,
            "startTimeUnixNano": "9223372036854775808",
            "attributes": [
                {
                    "key": "list",
                    "value": {
                        "arrayValue": {
                            "values": [
                                {"stringValue": ""},
                                {"boolValue": False},
                                {"intValue": "-4611686018427387904"},
                                {"doubleValue": 0.5},
                                {"bytesValue": "AP8="},
                                {},
                            ]
                        }
                    },
                },
                {
                    "key": "map",
                    "value": {
                        "kvlistValue": {"values": [{"key": "k", "value": {"intValue": "0"}}]}
                    },
                },
            ],
            "events": [{"timeUnixNano": "5", "name": "e"}],
            "links": [
                {"traceId": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd", "spanId": "0303030303030303"}
            ],
            "status": {"message": "bad", "code": 2},
            "flags": 768,
        }
    )


def test_protobuf_reads_the_same_back():
    """But for the ids, which OTLP writes in its own way, it is protobuf's own JSON."""
    span = rich_span()
    span.ClearField("links")
    original = request(span)
    parsed = json.loads(request_to_json(original.SerializeToString()))
    (read,) = parsed["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for key in ("traceId", "spanId", "parentSpanId"):
        del read[key]
    for key in ("trace_id", "span_id", "parent_span_id"):
        span.ClearField(key)
    assert json_format.ParseDict(parsed, ExportTraceServiceRequest()) == request(span)


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_numbers_that_json_does_not_have(value, text):
    """Non-finite numbers are strings, as in protobuf's JSON."""
    span = trace_pb2.Span(attributes=[KeyValue(key="x", value=AnyValue(double_value=value))])
    assert as_json(span)["attributes"][0]["value"] == {"doubleValue": text}


def test_a_request_is_one_line_for_every_reader():
    """Line separators of any kind are escaped, and come back."""
    text = "a\nb\u2028c\u2029d\u0085e\x0bf"
    line = request_to_json(request(trace_pb2.Span(name=text)).SerializeToString())
    assert len(line.splitlines()) == 1
    assert as_json(trace_pb2.Span(name=text))["name"] == text


def test_text_that_is_not_utf8_is_replaced():
    """One bad string costs its own characters only."""
    body = request(trace_pb2.Span(name="caf\u00e9")).SerializeToString()
    line = request_to_json(body.replace(b"\xc3\xa9", b"\xff\xfe"))
    assert "caf\ufffd\ufffd" in line


def test_what_is_no_request_is_refused():
    """Arbitrary bytes are an error of their own kind."""
    with pytest.raises(BadInput):
        request_to_json(b"\xff\xff\xff")

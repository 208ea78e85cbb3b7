"""What becomes of an OTLP trace request in protobuf."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers

UNKNOWN = b"\xc2\x3e\x03new"  # field 1000, "new"


def test_an_empty_request_is_a_batch_of_nothing(markers: Markers) -> None:
    """No bytes are a valid request without spans."""
    batch = split_protobuf(b"", Limits(), markers)
    assert batch.spans == ()
    assert batch.rejected_count == 0


def test_a_span_keeps_its_own_bytes(make_span, pack, markers: Markers) -> None:
    """Unknown fields, flags, links and events are in ``raw`` exactly as they came."""
    span = make_span(flags=0x301, trace_state="a=b", links=[Span.Link(trace_id=b"l" * 16)])
    raw = span.SerializeToString() + UNKNOWN
    span.MergeFromString(UNKNOWN)
    (wire,) = split_protobuf(pack(span), Limits(), markers).spans
    assert wire.raw == raw


def test_an_origin_keeps_everything_but_the_spans(make_span, markers: Markers) -> None:
    """Schema URLs and unknown fields of resource and scope survive, in their order."""
    scope = ScopeSpans(schema_url="https://scope")
    scope.scope.name = "lib"
    scope.MergeFromString(UNKNOWN)
    resource = ResourceSpans(schema_url="https://resource")
    resource.resource.attributes.add(key="service.name").value.string_value = "bot"
    resource.MergeFromString(UNKNOWN)
    expected = (resource.SerializeToString(), scope.SerializeToString())
    scope.spans.append(make_span())
    resource.scope_spans.append(scope)
    body = ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()
    (wire,) = split_protobuf(body, Limits(), markers).spans
    assert (wire.origin.resource, wire.origin.scope) == expected


def test_equal_origins_are_one_object(one_span: bytes, markers: Markers) -> None:
    """Two groups of the same resource and scope share their origin."""
    first, second = split_protobuf(one_span + one_span, Limits(), markers).spans
    assert first.origin is second.origin


def test_bytes_added_to_raw_merge_into_the_span(one_span: bytes, markers: Markers) -> None:
    """Attributes can be added to a span by concatenation, as verdicts are."""
    (wire,) = split_protobuf(one_span, Limits(), markers).spans
    extra = Span()
    extra.attributes.add(key="raglog.verdict").value.string_value = "ok"
    merged = Span.FromString(wire.raw + extra.SerializeToString())
    assert merged.span_id == wire.span_id
    assert [attribute.key for attribute in merged.attributes] == ["raglog.verdict"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trace_id": b""}, "invalid_trace_id"),
        ({"trace_id": bytes(16)}, "invalid_trace_id"),
        ({"trace_id": b"t" * 15}, "invalid_trace_id"),
        ({"trace_id": b"t" * 32}, "invalid_trace_id"),
        ({"span_id": b""}, "invalid_span_id"),
        ({"span_id": bytes(8)}, "invalid_span_id"),
        ({"span_id": b"s" * 16}, "invalid_span_id"),
        ({"parent_span_id": b"p" * 7}, "invalid_parent_span_id"),
        ({"links": [Span.Link(trace_id=b"l" * 5)]}, "invalid_link"),
        ({"links": [Span.Link(span_id=b"l" * 5)]}, "invalid_link"),
    ],
)
def test_a_span_with_an_invalid_id_is_left_out_alone(
    fields: dict[str, object], reason: str, make_span, pack, markers: Markers
) -> None:
    """The other spans of the request are kept, and the reason is counted."""
    batch = split_protobuf(pack(make_span(**fields), make_span()), Limits(), markers)
    assert len(batch.spans) == 1
    assert batch.rejected == {reason: 1}


@pytest.mark.parametrize("body", [b"\xff", b"not protobuf at all", b"\x0a\x03\x12\x05a"])
def test_bytes_that_are_no_request_are_bad_input(body: bytes, markers: Markers) -> None:
    """Random and truncated bytes are refused as a whole."""
    with pytest.raises(BadInput):
        split_protobuf(body, Limits(), markers)


def test_every_truncation_is_read_or_refused(make_span, pack, markers: Markers) -> None:
    """A request cut anywhere never raises anything but BadInput."""
    span = make_span(events=[Span.Event(name="e")])
    span.attributes.add(key="k").value.array_value.values.add().double_value = 1.5
    body = pack(span)
    for length in range(1, len(body)):
        with pytest.raises(BadInput):
            split_protobuf(body[:length], Limits(), markers)


def test_a_broken_resource_is_bad_input(make_span, wrap, markers: Markers) -> None:
    """It would spoil every request that it left in."""
    scope = wrap(2, ScopeSpans(spans=[make_span()]).SerializeToString())
    with pytest.raises(BadInput, match="malformed resource"):
        split_protobuf(wrap(1, wrap(1, b"\xff\xff") + scope), Limits(), markers)


def test_invalid_utf8_is_accepted_as_it_is(make_span, pack, markers: Markers) -> None:
    """One bad string costs neither its request nor its span."""
    body = pack(make_span(name="marker"), make_span()).replace(
        b"marker", b"\xff\xfe\xfd\xfc\xfb\xfa"
    )
    first, second = split_protobuf(body, Limits(), markers).spans
    assert b"\xff\xfe\xfd\xfc\xfb\xfa" in first.raw
    assert second.trace_id == first.trace_id


def test_nesting_that_peers_can_read_is_accepted(nest, markers: Markers) -> None:
    """protobuf reads 100 messages inside each other; two of them for every array."""
    body = nest(46)
    ExportTraceServiceRequest.FromString(body)
    assert split_protobuf(body, Limits(), markers).spans
    with pytest.raises(BadInput, match="malformed"):
        split_protobuf(nest(49), Limits(), markers)


@pytest.mark.parametrize("depth", [60, 1000, 20_000])
def test_absurd_nesting_is_bad_input(depth: int, nest, markers: Markers) -> None:
    """protobuf's own limit is met before Python's."""
    with pytest.raises(BadInput):
        split_protobuf(nest(depth), Limits(), markers)


def test_logs_are_not_turned_into_spans(markers: Markers) -> None:
    """A log record's fields have other types under the same numbers."""
    request = ExportLogsServiceRequest()
    record = LogRecord(time_unix_nano=1, severity_number=9)
    request.resource_logs.add().scope_logs.add().log_records.append(record)
    with pytest.raises(BadInput, match="logs or metrics"):
        split_protobuf(request.SerializeToString(), Limits(), markers)


def test_metrics_are_not_turned_into_spans(markers: Markers) -> None:
    """Even a metric whose name and description have the lengths of ids is recognised."""
    request = ExportMetricsServiceRequest()
    metric = Metric(name="http.client.reqs", description="requests")
    metric.sum.data_points.append(NumberDataPoint(as_int=1))
    request.resource_metrics.add().scope_metrics.add().metrics.append(metric)
    with pytest.raises(BadInput, match="logs or metrics"):
        split_protobuf(request.SerializeToString(), Limits(), markers)


def test_a_request_beyond_the_byte_limit_is_too_large(one_span: bytes, markers: Markers) -> None:
    """The limit is inclusive."""
    assert split_protobuf(one_span, Limits(max_request_bytes=len(one_span)), markers).spans
    with pytest.raises(TooLarge, match="bytes"):
        split_protobuf(one_span, Limits(max_request_bytes=len(one_span) - 1), markers)


def test_a_request_beyond_the_span_limit_is_too_large(make_span, pack, markers: Markers) -> None:
    """The limit is inclusive and counts over all groups of a request."""
    body = pack(make_span()) + pack(make_span())
    assert len(split_protobuf(body, Limits(max_spans_per_request=2), markers).spans) == 2
    body += pack(make_span())
    with pytest.raises(TooLarge, match="spans"):
        split_protobuf(body, Limits(max_spans_per_request=2), markers)


def test_millions_of_empty_spans_are_too_large(hostile_spans: bytes, markers: Markers) -> None:
    """They are counted before anything is built for each."""
    with pytest.raises(TooLarge, match="more than 100000 spans"):
        split_protobuf(hostile_spans, Limits(), markers)


@pytest.mark.parametrize("pattern", [b"\x0a\x00", b"\x08\x00"])
def test_millions_of_empty_envelopes_are_too_large(pattern: bytes, markers: Markers) -> None:
    """Neither empty resources nor unknown fields cost more than the limit allows."""
    with pytest.raises(TooLarge, match="too many fields"):
        split_protobuf(pattern * 1_000_000, Limits(), markers)


def test_a_span_of_millions_of_values_is_too_large(wrap, markers: Markers) -> None:
    """Two bytes of an empty attribute would become fifty in memory."""
    body = wrap(1, wrap(2, wrap(2, b"\x4a\x00" * 1_000_000)))
    with pytest.raises(TooLarge, match="values"):
        split_protobuf(body, Limits(), markers)


def test_large_spans_are_accepted(make_span, pack, markers: Markers) -> None:
    """10,000 attributes, one of 16 MiB and a vector of 1,536 numbers are all legitimate."""
    span = make_span()
    for number in range(10_000):
        span.attributes.add(key=f"k{number}").value.int_value = number
    span.attributes.add(key="text").value.string_value = "x" * (16 * 1024 * 1024)
    vector = span.attributes.add(key="vector").value.array_value.values
    for number in range(1536):
        vector.add().double_value = number / 3
    (wire,) = split_protobuf(pack(span), Limits(), markers).spans
    assert wire.raw == span.SerializeToString()


def test_odd_times_and_kinds_are_accepted(make_span, pack, markers: Markers) -> None:
    """No kind, no times, or an end before the start are the sender's business."""
    spans = (make_span(), make_span(start_time_unix_nano=9, end_time_unix_nano=3, kind=77))
    assert len(split_protobuf(pack(*spans), Limits(), markers).spans) == 2

"""Requests are put together from the received bytes, and none is bigger than allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_raglog.model import Origin, WireSpan
from otel_raglog_exporters.grouping import RequestSize, encode_request, split_spans


def decoded(body: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(body)


def test_no_spans_make_an_empty_request():
    """An empty request is valid OTLP."""
    assert encode_request([]) == b""


def test_spans_are_byte_for_byte_what_they_were(span):
    """Unknown fields and the order of fields survive in span, scope and resource."""
    one = span(1)
    (resource,) = decoded(encode_request([one])).resource_spans
    (scope,) = resource.scope_spans
    assert scope.spans[0].SerializeToString() == one.raw
    assert resource.schema_url == "s1"
    assert one.raw in encode_request([one])
    assert one.origin.resource in encode_request([one])


def test_spans_are_grouped_by_equal_origins(span, origin):
    """Equal bytes make one group, even if they are different objects; order is kept."""
    spans = [
        span(1, origin=origin("a", "x")),
        span(2, origin=origin("b", "x")),
        span(3, origin=origin("a", "y")),
        span(4, origin=origin("a", "x")),
    ]
    shape = [
        [[int.from_bytes(s.span_id, "big") for s in scope.spans] for scope in group.scope_spans]
        for group in decoded(encode_request(spans)).resource_spans
    ]
    assert shape == [[[1, 4], [3]], [[2]]]


def test_requests_stay_below_the_limit(span):
    """Spans are cut into parts whose requests are small enough, in order, none lost."""
    spans = [span(number, size=300) for number in range(50)]
    parts = list(split_spans(spans, 2_000))
    assert [s for part in parts for s in part] == spans
    assert 1 < len(parts) < 50
    assert all(len(encode_request(part)) <= 2_000 for part in parts)


def test_a_span_beyond_the_limit_goes_alone(span):
    """What cannot be made smaller is sent by itself, and hurts no other span."""
    small, big = span(1), span(2, size=5_000)
    assert list(split_spans([small, big, small], 1_000)) == [(small,), (big,), (small,)]


@st.composite
def any_span(draw):
    blob = st.binary(max_size=40)
    origin = Origin(
        draw(st.sampled_from([b"", b"\x1a\x01a"])), draw(st.sampled_from([b"", b"q" * 200]))
    )
    return WireSpan(b"", b"", b"", False, True, False, False, origin, draw(blob))


@given(st.lists(any_span(), max_size=20), st.integers(1, 600))
def test_the_size_is_an_upper_bound(spans, limit):
    """The running size never says less than the request takes, and parts lose nothing."""
    size = RequestSize()
    for one in spans:
        size.add(one)
    assert len(encode_request(spans)) <= size.total
    parts = list(split_spans(spans, limit))
    assert [s for part in parts for s in part] == spans
    assert all(len(part) == 1 or len(encode_request(part)) <= limit for part in parts)

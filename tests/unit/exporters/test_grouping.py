"""Requests are put together from the received bytes, and none is bigger than allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.model import Origin, Payload, RawSpan, Signal
from otel_raglog_exporters.grouping import RequestSize, encode_payload, encode_request, split_spans


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


def test_a_payload_counts_its_spans_and_keeps_its_headers(span):
    """It is the request of the same spans."""
    spans, headers = [span(1), span(2)], (("tenant", "a"),)
    expected = Payload(Signal.TRACES, encode_request(spans), 2, headers)
    assert encode_payload(iter(spans), headers) == expected


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


@pytest.mark.parametrize("step", [0x80, 0x4000, 0x200000])
def test_lengths_of_any_size_are_written(step):
    """protobuf reads back the bytes around every step of a length's own length."""
    for size in range(step - 8, step + 2):
        raws = [Span(name="x" * size).SerializeToString(), Span(name="q").SerializeToString()]
        spans = [RawSpan(Origin(b"", b""), raw) for raw in raws]
        (block,) = decoded(encode_request(spans)).resource_spans
        assert [one.SerializeToString() for one in block.scope_spans[0].spans] == raws


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
    return RawSpan(origin, draw(blob))


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

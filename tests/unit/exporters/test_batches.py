"""Batches are joined by concatenation and, when refused, halved as far as that can help."""

from __future__ import annotations

import pytest
from memory_source import make_payload
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_raglog_exporters.batches import CONTENT_REASONS, apart, by_headers, halve, join
from otel_raglog_exporters.grouping import encode_payload


def test_joined_bodies_are_one_request(span):
    """protobuf reads them as one, with the items of all."""
    headers = (("tenant", "a"),)
    joined = join((encode_payload([span(1)], headers), encode_payload([span(2)], headers)))
    assert (joined.items, joined.headers) == (2, headers)
    blocks = ExportTraceServiceRequest.FromString(joined.body).resource_spans
    assert [block.scope_spans[0].spans[0].name for block in blocks] == ["span 1", "span 2"]


def test_headers_are_kept_apart():
    """Sets of headers come as they first appear, and payloads of a set in their order."""
    a, b = (("tenant", "a"),), (("tenant", "b"),)
    one, two, three = (make_payload(at, headers=own) for at, own in enumerate((b, a, b)))
    assert by_headers((one, two, three)) == [(one, three), (two,)]
    assert by_headers((one, three)) == [(one, three)]


def test_one_payload_is_not_copied():
    """The usual large request goes out as the object that it is."""
    payload = make_payload(1)
    assert join((payload,)) is payload


@pytest.mark.parametrize("reason", sorted(CONTENT_REASONS))
def test_refused_content_is_halved(reason):
    """The first half is sent first, so that order is kept."""
    one, two, three = (make_payload(number) for number in range(3))
    assert halve((one, two, three), reason) == [(two, three), (one,)]


@pytest.mark.parametrize("reason", ["http_401", "http_500", "console_gone", "retry_expired"])
def test_what_would_be_refused_again_is_not_halved(reason):
    """Another content would not help."""
    assert halve((make_payload(1), make_payload(2)), reason) == []


@pytest.mark.parametrize("reason", ["http_413", "resource_exhausted"])
def test_one_payload_is_cut_when_it_is_too_large(span, reason):
    """Only then, and only as long as it holds several items."""
    payload = encode_payload([span(number, size=500) for number in range(4)])
    parts = halve((payload,), reason)
    assert sum(part.items for (part,) in parts) == 4
    assert all(len(part.body) <= len(payload.body) / 2 + 100 for (part,) in parts)
    assert halve((payload,), "http_400") == []
    assert halve((encode_payload([span(1)]),), reason) == []


def test_payloads_apart_are_in_the_order_of_a_stack():
    """The first one is taken first."""
    one, two = make_payload(1), make_payload(2)
    assert apart([one, two]) == [(two,), (one,)]

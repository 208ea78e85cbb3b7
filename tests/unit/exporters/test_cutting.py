"""Large payloads are cut at item borders, and together the parts say what the whole did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.cutting import cut_payload
from otel_raglog_exporters.grouping import encode_payload


def test_spans_are_cut_byte_for_byte(span, origin):
    """Each part is a request of its own, with the envelopes, headers and unknown fields."""
    headers = (("tenant", "a"),)
    spans = [
        span(number, size=200, origin=origin("a" if number < 7 else "b")) for number in range(12)
    ]
    whole = encode_payload(spans, headers)
    parts = cut_payload(whole, 1_000)
    assert len(parts) > 3
    assert all(len(part.body) <= 1_000 for part in parts)
    assert sum(part.items for part in parts) == 12
    again = [
        encode_payload(spans[start : start + count], headers)
        for start, count in _places([part.items for part in parts])
    ]
    assert list(parts) == again


def _places(counts):
    return [(sum(counts[:number]), count) for number, count in enumerate(counts)]


def test_logs_and_metrics_are_cut_alike(logs, metrics):
    """The data points of one metric stay together and are all counted."""
    records = cut_payload(logs("one", "two", "three"), 1)
    texts = [
        record.body.string_value
        for part in records
        for record in LogsData.FromString(part.body).resource_logs[0].scope_logs[0].log_records
    ]
    assert texts == ["one", "two", "three"]
    parts = cut_payload(metrics(2, 0, 5), 1)
    assert [part.items for part in parts] == [2, 2, 0, 0, 5, 5]
    (block,) = MetricsData.FromString(parts[-1].body).resource_metrics
    assert len(block.scope_metrics[0].metrics[0].sum.data_points) == 5


def test_what_fits_is_one_part(span):
    """Nothing changes, and nothing is looked into."""
    payload = encode_payload([span(1), span(2)])
    assert cut_payload(payload, len(payload.body))[0] is payload


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"\x0a\x7f", b"\x0a\x02\x12\x05", b"\x10\x01", b"\x0b", b"\xff" * 20]
)
def test_bodies_that_cannot_be_cut_stay_whole(body):
    """They are the destination's to refuse."""
    payload = Payload(Signal.TRACES, body, 3)
    assert cut_payload(payload, 1) == (payload,)


def test_a_wrong_count_is_kept(span):
    """The books speak of what the payload says that it holds."""
    payload = Payload(Signal.TRACES, encode_payload([span(1), span(2)]).body, 7)
    assert cut_payload(payload, 1) == (payload,)


@given(st.binary(max_size=60))
def test_no_bytes_break_it(body):
    """Arbitrary bytes never raise and never change the count."""
    parts = cut_payload(Payload(Signal.METRICS, body, 1), 10)
    assert sum(part.items for part in parts) == 1

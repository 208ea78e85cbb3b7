"""How many items logs and metrics have, and what is refused."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.receive.counting import count_logs, count_metrics
from otel_raglog.receive.limits import Limits

LIMITS = Limits()


@pytest.fixture
def logs() -> bytes:
    """Three log records in two scopes."""
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    for count in (1, 2):
        scope = resource.scope_logs.add()
        for _ in range(count):
            scope.log_records.add(time_unix_nano=1).body.string_value = "marker"
    return request.SerializeToString()


@pytest.fixture
def metrics() -> bytes:
    """A metric of every kind, the n-th with n data points, and one without data."""
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    kinds = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
    for count, kind in enumerate(kinds, 1):
        metric = scope.metrics.add(name="marker")
        for _ in range(count):
            getattr(metric, kind).data_points.add(time_unix_nano=1)
    scope.metrics.add(name="no data")
    return request.SerializeToString()


def test_log_records_are_counted(logs: bytes) -> None:
    """Over all scopes and resources."""
    assert count_logs(logs + logs, LIMITS) == 6


def test_data_points_of_every_kind_are_counted(metrics: bytes) -> None:
    """A metric without data has none."""
    assert count_metrics(metrics, LIMITS) == 15


@pytest.mark.parametrize("count", [count_logs, count_metrics])
def test_an_empty_request_has_nothing(count) -> None:
    """No bytes are a valid request."""
    assert count(b"", LIMITS) == 0


def test_invalid_utf8_is_accepted(logs: bytes, metrics: bytes) -> None:
    """One bad string costs nothing."""
    bad = b"\xff\xfe\xfd\xfc\xfb\xfa"
    assert count_logs(logs.replace(b"marker", bad), LIMITS) == 3
    assert count_metrics(metrics.replace(b"marker", bad), LIMITS) == 15


def test_each_signal_refuses_the_others(logs: bytes, metrics: bytes, make_span, pack) -> None:
    """The message says so where that can be told from broken bytes."""
    traces = pack(make_span(start_time_unix_nano=1))
    for body in (traces, metrics):
        with pytest.raises(BadInput, match=r"not logs|malformed"):
            count_logs(body, LIMITS)
    for body in (traces, logs):
        with pytest.raises(BadInput, match=r"not metrics|malformed"):
            count_metrics(body, LIMITS)


@pytest.mark.parametrize("count", [count_logs, count_metrics])
@pytest.mark.parametrize("body", [b"\xff", b"not protobuf", b"\x0a\x03\x12\x05a"])
def test_bytes_that_are_no_request_are_bad_input(count, body: bytes) -> None:
    """They are refused as a whole."""
    with pytest.raises(BadInput):
        count(body, LIMITS)


def test_absurd_nesting_is_bad_input(wrap) -> None:
    """A body that no peer could read is not passed on."""
    value = b"\x10\x01"
    for _ in range(60):
        value = wrap(5, wrap(1, value))
    with pytest.raises(BadInput):
        count_logs(wrap(1, wrap(2, wrap(2, wrap(5, value)))), LIMITS)


def test_limits_hold(logs: bytes, metrics: bytes) -> None:
    """On bytes, log records and metrics."""
    assert count_logs(logs, Limits(max_spans_per_request=3)) == 3
    with pytest.raises(TooLarge, match="log records"):
        count_logs(logs, Limits(max_spans_per_request=2))
    with pytest.raises(TooLarge, match="metrics"):
        count_metrics(metrics, Limits(max_spans_per_request=5))
    with pytest.raises(TooLarge, match="bytes"):
        count_metrics(metrics, Limits(max_request_bytes=10))


@pytest.mark.parametrize(("field", "count"), [(6, count_logs), (12, count_metrics)])
def test_millions_of_values_are_too_large(field: int, count, wrap) -> None:
    """Two bytes of an empty attribute would become fifty in memory."""
    item = bytes([field << 3 | 2, 0]) * 1_000_000
    with pytest.raises(TooLarge, match="values"):
        count(wrap(1, wrap(2, wrap(2, item))), LIMITS)

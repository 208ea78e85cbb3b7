"""JSON values that fit a field, and those that do not."""

from __future__ import annotations

import json
import math

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from otel_raglog.errors import BadInput
from otel_raglog.model import Signal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.otlp_json import to_protobuf


def read_log(**fields: object) -> LogRecord:
    data = {"resourceLogs": [{"scopeLogs": [{"logRecords": [fields]}]}]}
    body = to_protobuf(Signal.LOGS, json.dumps(data).encode(), Limits())
    return ExportLogsServiceRequest.FromString(body).resource_logs[0].scope_logs[0].log_records[0]


def read_metric(**fields: object) -> Metric:
    data = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [fields]}]}]}
    body = to_protobuf(Signal.METRICS, json.dumps(data).encode(), Limits())
    request = ExportMetricsServiceRequest.FromString(body)
    return request.resource_metrics[0].scope_metrics[0].metrics[0]


def test_ids_of_logs_are_hex_in_either_case() -> None:
    """As those of spans are; an empty one is none."""
    record = read_log(traceId="AB" * 16, spanId="")
    assert (record.trace_id, record.span_id) == (b"\xab" * 16, b"")


@pytest.mark.parametrize("trace_id", ["zz", "abc", 5])
def test_a_wrong_id_of_a_log_record_is_bad_input(trace_id: object) -> None:
    """Log records are not refused one by one."""
    with pytest.raises(BadInput, match=r"logRecords\[0\].traceId: expected a hex string"):
        read_log(traceId=trace_id)


@pytest.mark.parametrize("value", ["SEVERITY_NUMBER_INFO", "9", 9.5, True])
def test_enums_are_integers_only(value: object) -> None:
    """Names are protobuf's JSON, not OTLP's."""
    with pytest.raises(BadInput, match="severityNumber: expected an enum's integer"):
        read_log(severityNumber=value)
    assert read_log(severityNumber=9).severity_number == 9


@pytest.mark.parametrize("value", [1 << 63, "9223372036854775808"])
def test_unsigned_integers_of_64_bits_are_numbers_or_strings(value: object) -> None:
    """In lists, too."""
    metric = read_metric(histogram={"dataPoints": [{"count": value, "bucketCounts": [value, 1]}]})
    (point,) = metric.histogram.data_points
    assert (point.count, list(point.bucket_counts)) == (1 << 63, [1 << 63, 1])


@pytest.mark.parametrize("counts", [{}, [-1], [1.5], ["many"], [None]])
def test_a_list_of_something_else_is_bad_input(counts: object) -> None:
    """The path leads to it."""
    with pytest.raises(BadInput, match=r"dataPoints\[0\].bucketCounts"):
        read_metric(histogram={"dataPoints": [{"bucketCounts": counts}]})


def test_doubles_may_be_words() -> None:
    """JSON has no other way to say them."""
    points = [{"asDouble": "NaN"}, {"asDouble": "-Infinity"}, {"asDouble": "Infinity"}]
    values = [
        point.as_double for point in read_metric(gauge={"dataPoints": points}).gauge.data_points
    ]
    assert math.isnan(values[0])
    assert values[1:] == [-math.inf, math.inf]


def test_a_sum_of_nothing_is_not_an_absent_one() -> None:
    """Optional fields that are zero are set."""
    metric = read_metric(histogram={"dataPoints": [{"sum": 0, "min": 0.0}]})
    (point,) = metric.histogram.data_points
    assert (point.HasField("sum"), point.HasField("min"), point.HasField("max")) == (
        True,
        True,
        False,
    )


def test_unknown_and_snake_case_keys_are_ignored() -> None:
    """Only lowerCamelCase keys are OTLP/JSON."""
    record = read_log(time_unix_nano="5", brandNew={"x": [1]}, severityText="INFO")
    assert record == LogRecord(severity_text="INFO")


def test_a_body_may_be_of_any_kind() -> None:
    """Also a map with bytes in it."""
    pairs = [{"key": "a", "value": {"bytesValue": "AP8_"}}]
    record = read_log(body={"kvlistValue": {"values": pairs}})
    assert record.body.kvlist_value.values[0].value.bytes_value == b"\x00\xff\x3f"

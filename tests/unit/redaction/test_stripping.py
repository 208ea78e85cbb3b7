"""What is left of what cannot be redacted."""

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from otlp_items import items
from personal_data import attributes, leaks, planted_logs, planted_metrics, planted_span

from otel_raglog.redaction.stripping import FAILED_KEY, stripped
from otel_raglog.wire import Shape


def test_a_span_keeps_ids_times_codes_and_our_verdict():
    """And says what happened to it."""
    span = planted_span()
    span.trace_id, span.span_id, span.parent_span_id = b"\x01" * 16, b"\x02" * 8, b"\x03" * 8
    span.kind, span.start_time_unix_nano, span.end_time_unix_nano, span.flags = 3, 4, 5, 256
    span.status.code = 2
    ours = {"raglog.verdict": "faulty", "raglog.explanation": "zq.", "raglog.session.id": "zq."}
    span.attributes.extend(attributes(ours))
    data = stripped(span.SerializeToString(), Shape.SPAN)
    made = SpanMessage.FromString(data)
    assert leaks(data) == []
    assert (made.trace_id, made.span_id, made.parent_span_id) == (
        span.trace_id,
        span.span_id,
        span.parent_span_id,
    )
    assert (made.kind, made.start_time_unix_nano, made.end_time_unix_nano, made.flags) == (
        3,
        4,
        5,
        256,
    )
    assert made.status.code == 2
    assert made.name == "[redacted]"
    assert [link.span_id for link in made.links] == [b"\x07" * 8]
    assert not made.events
    assert {pair.key for pair in made.attributes} == {"raglog.verdict", FAILED_KEY}


def test_a_log_record_keeps_time_and_trace():
    """No body, no attributes, no name."""
    raw = next(items(planted_logs())).raw
    data = stripped(raw, Shape.LOG_RECORD)
    made = LogRecord.FromString(data)
    assert leaks(data) == []
    assert made.time_unix_nano == 5
    assert [pair.key for pair in made.attributes] == [FAILED_KEY]


def test_a_metric_keeps_its_numbers():
    """Without the attributes of its points."""
    for item in items(planted_metrics()):
        data = stripped(item.raw, Shape.METRIC)
        assert leaks(data) == []
        before, after = Metric.FromString(item.raw), Metric.FromString(data)
        assert after.WhichOneof("data") == before.WhichOneof("data")
        (point,) = getattr(after, after.WhichOneof("data")).data_points
        assert point.time_unix_nano == 5
        assert not point.attributes
        assert not point.exemplars

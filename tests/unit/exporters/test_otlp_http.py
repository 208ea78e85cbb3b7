"""OTLP over HTTP against a real server: what is sent, and what each answer means."""

from __future__ import annotations

import gzip
from random import Random

import pytest
from google.rpc import status_pb2
from memory_source import MemorySource
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from werkzeug import Response

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Signal
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.otlp_http import OtlpHttpConfig, OtlpHttpExporter
from otel_raglog_exporters.sending import ExportOutcome, Sender, SendingConfig

PATH = "/v1/traces"


@pytest.fixture
def connect(httpserver):
    """Return a maker of exporters to the server, closed afterwards."""
    exporters = []

    def make(clock=None, **options) -> OtlpHttpExporter:
        options.setdefault("endpoint", httpserver.url_for("/"))
        options.setdefault("timeout_seconds", 5.0)
        exporters.append(OtlpHttpExporter(OtlpHttpConfig(**options), clock))
        return exporters[-1]

    yield make
    for exporter in exporters:
        exporter.close()


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_the_request_arrives_as_it_was_put_together(httpserver, connect, span, compression):
    """The receiver gets the very bytes, with content type, encoding and configured headers."""
    httpserver.expect_request(PATH, method="POST").respond_with_data(b"")
    spans = [span(1), span(2)]
    exporter = connect(compression=compression, headers={"Authorization": "Basic x"})
    assert exporter.export(encode_payload(spans)) == ExportOutcome(2)
    request, _ = httpserver.log[0]
    body = request.data
    if compression == "gzip":
        assert request.headers["Content-Encoding"] == "gzip"
        body = gzip.decompress(body)
    assert body == encode_request(spans)
    assert request.headers["Content-Type"] == "application/x-protobuf"
    assert request.headers["Authorization"] == "Basic x"


def test_each_signal_has_a_path_of_its_own(httpserver, connect, span, logs, metrics):
    """The last part of the address names the signal, and the answer is read accordingly."""
    partial = [
        service.ExportTraceServiceResponse(),
        metrics_service_pb2.ExportMetricsServiceResponse(),
        logs_service_pb2.ExportLogsServiceResponse(),
    ]
    partial[0].partial_success.rejected_spans = 1
    partial[1].partial_success.rejected_data_points = 2
    partial[2].partial_success.rejected_log_records = 3
    payloads = [encode_payload([span(1)]), metrics(1), logs("a", "b", "c")]
    exporter = connect(endpoint=httpserver.url_for("/base/v1/traces"), compression="none")
    for payload, answer in zip(payloads, partial, strict=True):
        path = f"/base/v1/{payload.signal}"
        httpserver.expect_request(path).respond_with_data(answer.SerializeToString())
    assert [exporter.export(payload).rejected for payload in payloads] == [1, 2, 3]
    assert [request.data for request, _ in httpserver.log] == [p.body for p in payloads]


def test_headers_of_the_payload_go_out_beside_the_configured_ones(httpserver, connect, span):
    """A configured header wins; those of connection and body are not passed on."""
    httpserver.expect_request(PATH).respond_with_data(b"")
    passing = (("tenant", "a"), ("authorization", "theirs"), ("host", "evil"), ("x-b", " b "))
    exporter = connect(headers={"Authorization": "ours"})
    exporter.export(encode_payload([span(1)], passing))
    request, _ = httpserver.log[0]
    assert request.headers["Tenant"] == "a"
    assert request.headers["X-B"] == "b"
    assert request.headers.getlist("Authorization") == ["ours"]
    assert request.headers.getlist("Host") != ["evil"]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_retryable_statuses(httpserver, connect, span, status):
    """The statuses that the specification calls retryable are, with their Retry-After."""
    httpserver.expect_request(PATH).respond_with_data(
        "busy", status=status, headers={"Retry-After": "30"}
    )
    with pytest.raises(Unavailable, match="busy") as failure:
        connect().export(encode_payload([span(1)]))
    assert failure.value.retry_after_seconds == 30.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("Wed, 21 Oct 2055 07:28:00 +99999999999999999999", None),
    ],
)
def test_retry_after_may_be_a_date(httpserver, connect, span, header, seconds):
    """A date is read by the wall clock; nonsense leaves the wait to us."""
    httpserver.expect_request(PATH).respond_with_data(
        b"", status=503, headers={"Retry-After": header}
    )
    with pytest.raises(Unavailable) as failure:
        connect(ManualClock(100.0)).export(encode_payload([span(1)]))
    assert failure.value.retry_after_seconds == seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 500, 501])
def test_other_statuses_are_refusals(httpserver, connect, span, status):
    """All other errors are final; the reason names the status."""
    answer = status_pb2.Status(message="bad data").SerializeToString()
    httpserver.expect_request(PATH).respond_with_data(
        answer, status=status, content_type="application/x-protobuf"
    )
    with pytest.raises(Rejected, match="bad data") as refusal:
        connect().export(encode_payload([span(1)]))
    assert refusal.value.reason == f"http_{status}"


def test_redirects_are_not_followed(httpserver, connect, span):
    """Spans go where the configuration says, and nowhere else."""
    httpserver.expect_request(PATH).respond_with_data(
        b"", status=307, headers={"Location": httpserver.url_for("/elsewhere")}
    )
    with pytest.raises(Rejected) as refusal:
        connect().export(encode_payload([span(1)]))
    assert refusal.value.reason == "http_307"
    assert len(httpserver.log) == 1


def test_partial_success(httpserver, connect, span):
    """What the receiver says it rejected is reported with its message."""
    answer = service.ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 2
    answer.partial_success.error_message = "too old"
    httpserver.expect_request(PATH).respond_with_data(answer.SerializeToString())
    assert connect().export(encode_payload([span(1), span(2), span(3)])) == ExportOutcome(
        1, 2, "too old"
    )


def test_an_answer_without_end_is_cut(httpserver, connect, span):
    """A receiver cannot fill our memory with its answer."""
    httpserver.expect_request(PATH).respond_with_data(b"\x00" * 3_000_000, status=400)
    with pytest.raises(Rejected) as refusal:
        connect().export(encode_payload([span(1)]))
    assert len(str(refusal.value)) < 400


def test_a_refused_connection_is_retryable(connect, span):
    """A receiver that is down may come back."""
    exporter = connect(endpoint="http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="ConnectError"):
        exporter.export(encode_payload([span(1)]))


def test_spans_survive_an_outage(httpserver, connect, span, observer):
    """Throttled, overloaded, partly refused: each span is accounted for, waits are as told."""
    partial = service.ExportTraceServiceResponse()
    partial.partial_success.rejected_spans = 1
    answers = [
        Response(status=503, headers={"Retry-After": "4"}),
        Response(status=429, headers={"Retry-After": "9"}),
        Response(partial.SerializeToString()),
        Response(status=401),
        Response(b""),
    ]
    httpserver.expect_request(PATH).respond_with_handler(lambda _request: answers.pop(0))
    waits = []
    source = MemorySource(*[encode_payload([span(number)]) for number in range(6)])
    sender = Sender(
        connect(),
        source,
        Signal.TRACES,
        SendingConfig(batch_seconds=0.0, batch_items=2),
        observer,
        observer,
        ManualClock(),
        Random(1),
        wait=lambda _event, seconds: waits.append(seconds),
    )
    sender.start()
    assert sender.stop(10.0) == 0
    assert waits == [4.0, 9.0]
    assert (observer.forwards, observer.rejections, observer.drops) == (3, 1, {"http_401": 2})
    (letter,) = [letter for _, letter, _, _ in observer.letters]
    assert letter.body == encode_request([span(2)]) + encode_request([span(3)])


def test_a_bad_endpoint_fails_at_start():
    """Configuration errors do not wait for the first span."""
    with pytest.raises(ConfigError):
        OtlpHttpExporter(OtlpHttpConfig("localhost:4318"))


def test_a_web_page_is_no_acknowledgement(httpserver, connect, span):
    """A proxy's login page comes with status 200: the batch is kept and tried again."""
    httpserver.expect_request(PATH).respond_with_data("<html>Sign in", content_type="text/html")
    with pytest.raises(Unavailable, match="HTTP 200 with a web page"):
        connect().export(encode_payload([span(1)]))

"""OTLP over gRPC against a real server: what is sent, and what each answer means."""

from __future__ import annotations

from random import Random

import grpc
import pytest
from memory_source import MemorySource
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Signal
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.otlp_grpc import EXPORT_METHODS, OtlpGrpcConfig, OtlpGrpcExporter
from otel_raglog_exporters.sending import ExportOutcome, Sender, SendingConfig

Code = grpc.StatusCode


@pytest.fixture
def connect():
    """Return a maker of exporters that are closed afterwards."""
    exporters = []

    def make(port: int, **options) -> OtlpGrpcExporter:
        options.setdefault("timeout_seconds", 5.0)
        exporters.append(OtlpGrpcExporter(OtlpGrpcConfig(f"127.0.0.1:{port}", **options)))
        return exporters[-1]

    yield make
    for exporter in exporters:
        exporter.close()


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_the_request_arrives_as_it_was_put_together(grpc_receiver, connect, span, compression):
    """The receiver gets the very bytes, with the configured headers."""
    spans = [span(1), span(2)]
    exporter = connect(
        grpc_receiver.port, compression=compression, headers={"Authorization": "Basic x"}
    )
    assert exporter.export(encode_payload(spans)) == ExportOutcome(2)
    assert grpc_receiver.bodies == [encode_request(spans)]
    (metadata,) = grpc_receiver.metadata
    assert metadata["authorization"] == "Basic x"


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_each_signal_has_a_service_of_its_own(
    grpc_receiver, connect, span, logs, metrics, compression
):
    """The method is the signal's, and so is what the answer rejects."""
    partial = [
        service.ExportTraceServiceResponse(),
        metrics_service_pb2.ExportMetricsServiceResponse(),
        logs_service_pb2.ExportLogsServiceResponse(),
    ]
    partial[0].partial_success.rejected_spans = 1
    partial[1].partial_success.rejected_data_points = 2
    partial[2].partial_success.rejected_log_records = 3
    grpc_receiver.answers = list(partial)
    payloads = [encode_payload([span(1)]), metrics(1), logs("a", "b", "c")]
    exporter = connect(grpc_receiver.port, compression=compression)
    assert [exporter.export(payload).rejected for payload in payloads] == [1, 2, 3]
    assert grpc_receiver.bodies == [payload.body for payload in payloads]
    assert grpc_receiver.methods == [EXPORT_METHODS[payload.signal] for payload in payloads]


def test_headers_of_the_payload_go_out_beside_the_configured_ones(grpc_receiver, connect, span):
    """A configured header wins; what is no metadata is not passed on."""
    passing = (
        ("tenant", "a"),
        ("authorization", "theirs"),
        ("grpc-timeout", "1n"),
        ("x-bin", "x"),
        ("umlaut", "\u00e4"),
        (":path", "/"),
        ("content-type", "text/plain"),
    )
    exporter = connect(grpc_receiver.port, headers={"Authorization": "ours"})
    assert exporter.export(encode_payload([span(1)], passing)).accepted == 1
    (metadata,) = grpc_receiver.metadata
    assert (metadata["tenant"], metadata["authorization"]) == ("a", "ours")
    assert not {"x-bin", "umlaut"} & metadata.keys()


def test_a_request_bigger_than_four_mebibytes_is_sent(grpc_receiver, connect, span):
    """The client sets no limit of its own; the receiver's answer decides."""
    with pytest.raises(Rejected) as refusal:
        connect(grpc_receiver.port).export(encode_payload([span(1, size=5_000_000)]))
    assert refusal.value.reason == "resource_exhausted"


@pytest.mark.parametrize(
    "code",
    [
        Code.CANCELLED,
        Code.DEADLINE_EXCEEDED,
        Code.ABORTED,
        Code.OUT_OF_RANGE,
        Code.UNAVAILABLE,
        Code.DATA_LOSS,
    ],
)
def test_retryable_codes(grpc_receiver, connect, span, code):
    """The codes that the specification calls retryable are."""
    grpc_receiver.answers = [(code, None)]
    with pytest.raises(Unavailable, match=code.name) as failure:
        connect(grpc_receiver.port).export(encode_payload([span(1)]))
    assert failure.value.retry_after_seconds is None


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED])
def test_retry_info_is_read(grpc_receiver, connect, span, code):
    """With RetryInfo even RESOURCE_EXHAUSTED is retryable, after the time it says."""
    grpc_receiver.answers = [(code, 7.25)]
    with pytest.raises(Unavailable) as failure:
        connect(grpc_receiver.port).export(encode_payload([span(1)]))
    assert failure.value.retry_after_seconds == 7.25


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (Code.RESOURCE_EXHAUSTED, "resource_exhausted"),
        (Code.INVALID_ARGUMENT, "invalid_argument"),
        (Code.UNAUTHENTICATED, "unauthenticated"),
        (Code.PERMISSION_DENIED, "permission_denied"),
        (Code.UNIMPLEMENTED, "unimplemented"),
        (Code.INTERNAL, "internal"),
        (Code.UNKNOWN, "unknown"),
    ],
)
def test_other_codes_are_refusals(grpc_receiver, connect, span, code, reason):
    """All other codes are final; the reason names the code."""
    grpc_receiver.answers = [(code, None)]
    with pytest.raises(Rejected) as refusal:
        connect(grpc_receiver.port).export(encode_payload([span(1)]))
    assert refusal.value.reason == reason


def test_partial_success(grpc_receiver, connect, span):
    """What the receiver says it rejected is reported with its message."""
    answer = service.ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 1
    answer.partial_success.error_message = "too old"
    grpc_receiver.answers = [answer]
    outcome = connect(grpc_receiver.port).export(encode_payload([span(1), span(2), span(3)]))
    assert outcome == ExportOutcome(2, 1, "too old")


def test_a_refused_connection_is_retryable(start_grpc_receiver, connect, span):
    """A receiver that is down may come back, on the same channel."""
    receiver = start_grpc_receiver()
    receiver.stop()
    exporter = connect(receiver.port)
    with pytest.raises(Unavailable):
        exporter.export(encode_payload([span(1)]))


def test_spans_survive_an_outage(start_grpc_receiver, connect, span, observer):
    """Down at first, then throttling, then up: every span arrives, once."""
    probe = start_grpc_receiver()
    port = probe.port
    probe.stop()
    back = []

    def wait(_event, _seconds):
        if not back:
            back.append(start_grpc_receiver(port))
            back[0].answers = [(Code.UNAVAILABLE, 0.5), (Code.RESOURCE_EXHAUSTED, 0.5)]
        _event.wait(0.1)

    source = MemorySource(encode_payload([span(number) for number in range(5)]))
    config = SendingConfig(batch_seconds=0.0)
    sender = Sender(
        connect(port),
        source,
        Signal.TRACES,
        config,
        observer,
        observer,
        ManualClock(),
        Random(1),
        wait=wait,
    )
    sender.start()
    assert sender.stop(10.0) == 0
    assert observer.forwards == 5
    assert back[0].span_ids == [0, 1, 2, 3, 4]
    assert observer.retries >= 3


def test_headers_do_not_show_in_the_configuration():
    """A printed configuration tells no secrets."""
    assert "secret" not in repr(OtlpGrpcConfig("x:1", headers={"authorization": "secret"}))


def test_tls_is_spoken_when_told_to(grpc_receiver, span):
    """With https a plain-text server is not talked to."""
    exporter = OtlpGrpcExporter(
        OtlpGrpcConfig(f"https://127.0.0.1:{grpc_receiver.port}", timeout_seconds=2.0)
    )
    with pytest.raises(Unavailable):
        exporter.export(encode_payload([span(1)]))
    exporter.close()
    assert grpc_receiver.bodies == []


def test_a_bad_endpoint_fails_at_start():
    """Configuration errors do not wait for the first span."""
    with pytest.raises(ConfigError):
        OtlpGrpcExporter(OtlpGrpcConfig("ftp://x"))

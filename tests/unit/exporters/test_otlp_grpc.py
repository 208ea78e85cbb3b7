"""OTLP over gRPC against a real server: what is sent, and what each answer means."""

from __future__ import annotations

from random import Random

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog_exporters.grouping import encode_request
from otel_raglog_exporters.otlp_grpc import OtlpGrpcConfig, OtlpGrpcExporter
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
    assert exporter.export(spans) == ExportOutcome(2)
    assert grpc_receiver.bodies == [encode_request(spans)]
    (metadata,) = grpc_receiver.metadata
    assert metadata["authorization"] == "Basic x"


def test_a_request_bigger_than_four_mebibytes_is_sent(grpc_receiver, connect, span):
    """The client sets no limit of its own; the receiver's answer decides."""
    with pytest.raises(Rejected) as refusal:
        connect(grpc_receiver.port).export([span(1, size=5_000_000)])
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
        connect(grpc_receiver.port).export([span(1)])
    assert failure.value.retry_after_seconds is None


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED])
def test_retry_info_is_read(grpc_receiver, connect, span, code):
    """With RetryInfo even RESOURCE_EXHAUSTED is retryable, after the time it says."""
    grpc_receiver.answers = [(code, 7.25)]
    with pytest.raises(Unavailable) as failure:
        connect(grpc_receiver.port).export([span(1)])
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
        connect(grpc_receiver.port).export([span(1)])
    assert refusal.value.reason == reason


def test_partial_success(grpc_receiver, connect, span):
    """What the receiver says it rejected is reported with its message."""
    answer = service.ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 1
    answer.partial_success.error_message = "too old"
    grpc_receiver.answers = [answer]
    outcome = connect(grpc_receiver.port).export([span(1), span(2), span(3)])
    assert outcome == ExportOutcome(2, 1, "too old")


def test_a_refused_connection_is_retryable(start_grpc_receiver, connect, span):
    """A receiver that is down may come back, on the same channel."""
    receiver = start_grpc_receiver()
    receiver.stop()
    exporter = connect(receiver.port)
    with pytest.raises(Unavailable):
        exporter.export([span(1)])


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

    config = SendingConfig(batch_seconds=0.0)
    sender = Sender(connect(port), config, observer, ManualClock(), Random(1), wait=wait)
    sender.offer([span(number) for number in range(5)])
    sender.start()
    sender.stop(10.0)
    counts = sender.counts()
    assert counts.balanced
    assert counts.forwarded == 5
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
        exporter.export([span(1)])
    exporter.close()
    assert grpc_receiver.bodies == []


def test_a_bad_endpoint_fails_at_start():
    """Configuration errors do not wait for the first span."""
    with pytest.raises(ConfigError):
        OtlpGrpcExporter(OtlpGrpcConfig("ftp://x"))

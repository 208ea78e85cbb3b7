"""Payloads turned into calls of OTLP's three services over gRPC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.endpoint import (
    TlsConfig,
    checked_headers,
    grpc_target,
    headers_beside,
    read_response,
    shortened,
)
from otel_raglog_exporters.grpc_gzip import gzip_call
from otel_raglog_exporters.sending import ExportOutcome

EXPORT_METHODS: Mapping[Signal, str] = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.METRICS: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}

_RETRYABLE = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""Codes that the OTLP specification calls retryable in any case."""


@dataclass(frozen=True, slots=True)
class OtlpGrpcConfig:
    """An OTLP receiver: ``endpoint`` is ``host:port``, ``http://…`` (plain) or ``https://…``."""

    endpoint: str
    name: str = "otlp_grpc"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    compression: Literal["gzip", "none"] = "gzip"
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class OtlpGrpcExporter:
    """Sends to one gRPC endpoint over one channel; connects on the first export.

    A receiver whose certificate cannot be verified, or that does not take ours, is unavailable
    rather than refusing: certificates are renewed.

    Raises:
        ConfigError: endpoint, headers or TLS files are wrong.
    """

    def __init__(self, config: OtlpGrpcConfig) -> None:
        self.name = config.name
        self._metadata = checked_headers(config.headers)
        self._timeout_seconds = config.timeout_seconds
        self._channel = _open_channel(config)
        # No serializers: what goes in and out of the calls are bytes.
        calls = {
            signal: self._channel.unary_unary(method) for signal, method in EXPORT_METHODS.items()
        }
        if config.compression == "gzip":
            calls = {signal: gzip_call(call) for signal, call in calls.items()}
        self._calls = calls
        self._closed = False

    def export(self, payload: Payload) -> ExportOutcome:
        """Send ``payload`` as one request.

        Raises:
            Unavailable: a retryable code, with the delay of its RetryInfo if there is one.
            Rejected: any other code; the reason is the code's name in lower case.
        """
        if self._closed:
            raise Unavailable("the exporter is closed")
        if not payload.body:
            return ExportOutcome(payload.items)
        beside = headers_beside(self._metadata, payload.headers)
        try:
            answer: bytes = self._calls[payload.signal](
                payload.body,
                timeout=self._timeout_seconds,
                metadata=self._metadata + beside,
            )
        except grpc.RpcError as error:
            raise _failure(error) from error
        except ValueError as error:  # grpc's word for a channel that was closed meanwhile
            raise Unavailable("the exporter is closed") from error
        return read_response(payload.signal, answer, payload.items)

    def close(self) -> None:
        """Close the channel; a call in flight is cancelled."""
        self._closed = True
        self._channel.close()


def _open_channel(config: OtlpGrpcConfig) -> Any:
    target = grpc_target(config.endpoint, config.tls)
    options = [
        ("grpc.max_send_message_length", -1),
        # Retries are the sender's; the channel should try to connect when asked to.
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.enable_http_proxy", int(config.proxy_from_environment)),
    ]
    if not target.secure:
        return grpc.insecure_channel(target.address, options)
    roots, key, certificate = (config.tls or TlsConfig()).pem()
    credentials = grpc.ssl_channel_credentials(roots, key, certificate)
    return grpc.secure_channel(target.address, credentials, options)


def _failure(error: grpc.RpcError) -> Unavailable | Rejected:
    code: grpc.StatusCode = error.code()
    message = f"{code.name}: {shortened(error.details() or '')}"
    retry_after = _retry_delay_seconds(error.trailing_metadata() or ())
    told_to_retry = code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after is not None
    if code in _RETRYABLE or told_to_retry:
        return Unavailable(message, retry_after)
    return Rejected(message, code.name.lower())


def _retry_delay_seconds(metadata: Iterable[tuple[str, str | bytes]]) -> float | None:
    """Return the delay of the RetryInfo in ``grpc-status-details-bin``, if it is there."""
    for key, value in metadata:
        if key != "grpc-status-details-bin" or not isinstance(value, bytes):
            continue
        try:
            details = status_pb2.Status.FromString(value).details
            for detail in details:
                info = error_details_pb2.RetryInfo()
                if detail.Unpack(info):
                    delay = info.retry_delay
                    return max(0.0, float(delay.seconds) + float(delay.nanos) / 1e9)
        except DecodeError:
            continue
    return None

"""What a fault backend does with a request, and the OTLP messages that say so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

_GRPC_OF_HTTP = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    501: grpc.StatusCode.UNIMPLEMENTED,
    502: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a backend does with a request; ``kept`` says whether it holds the data afterwards."""

    code: int = 200
    retry_after: float | None = None
    rejected: int = 0
    message: str = ""
    delay: float = 0.0
    silent: bool = False
    cut: bool = False

    @property
    def kept(self) -> bool:
        """Whether the data is stored: also when the answer gets lost, but not when none comes."""
        return self.code == 200 and not self.silent


def ok() -> Answer:
    """Take everything."""
    return Answer()


def refuse(code: int = 503, retry_after: float | None = None) -> Answer:
    """Answer an HTTP status, on gRPC the code that OTLP maps to it (503: ``UNAVAILABLE``).

    ``retry_after`` seconds travel as RetryInfo, or as Retry-After rounded up to whole seconds.
    """
    return Answer(code, retry_after, message="scripted")


def partial(rejected: int, message: str = "scripted") -> Answer:
    """Take the request but for so many of its spans, log records or data points."""
    return Answer(rejected=rejected, message=message)


def after(seconds: float, answer: Answer | None = None) -> Answer:
    """Give ``answer`` (ok by default) so many seconds late."""
    return replace(answer or Answer(), delay=seconds)


def hang() -> Answer:
    """Read the request and never answer; the data is lost."""
    return Answer(silent=True)


def cut() -> Answer:
    """Take everything and break the connection in the middle of the answer."""
    return Answer(cut=True)


def success_message(signal: str, answer: Answer) -> Message:
    """Return the response of a signal's service, with its partial success if there is one."""
    response: Any = {
        "traces": traces.ExportTraceServiceResponse,
        "logs": logs.ExportLogsServiceResponse,
        "metrics": metrics.ExportMetricsServiceResponse,
    }[signal]()
    if answer.rejected or answer.message:
        field = {
            "traces": "rejected_spans",
            "logs": "rejected_log_records",
            "metrics": "rejected_data_points",
        }[signal]
        setattr(response.partial_success, field, answer.rejected)
        response.partial_success.error_message = answer.message
    message: Message = response
    return message


def status_message(answer: Answer) -> status_pb2.Status:
    """Return the ``google.rpc.Status`` of a refusal, with its RetryInfo if there is one."""
    code = _GRPC_OF_HTTP.get(answer.code, grpc.StatusCode.UNKNOWN)
    status = status_pb2.Status(code=code_pb2.Code.Value(code.name), message=answer.message)
    if answer.retry_after is not None:
        info = error_details_pb2.RetryInfo()
        info.retry_delay.FromNanoseconds(int(answer.retry_after * 1e9))
        status.details.add().Pack(info)
    return status

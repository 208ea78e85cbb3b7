"""What became of a request to the message that tells its sender, for both doors."""

from __future__ import annotations

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.model import Signal
from otel_raglog.receive.intake import Receipt

ExportResponse = (
    ExportTraceServiceResponse | ExportMetricsServiceResponse | ExportLogsServiceResponse
)


def answer_export(signal: Signal, receipt: Receipt) -> ExportResponse:
    """Return the response to an accepted request: empty, or a partial success of spans."""
    if signal is Signal.METRICS:
        return ExportMetricsServiceResponse()
    if signal is Signal.LOGS:
        return ExportLogsServiceResponse()
    response = ExportTraceServiceResponse()
    if receipt.rejected_count:
        response.partial_success.rejected_spans = receipt.rejected_count
        response.partial_success.error_message = receipt.describe_rejections()
    return response


def explain_unserved(signal: Signal) -> str:
    """Return why requests of a signal are not served."""
    return f"no destination takes {signal}; see exporters.<name>.signals"

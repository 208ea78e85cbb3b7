"""What the exporters' tests share: items of real OTLP bytes, and receivers with real sockets."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from memory_source import Books
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.model import Origin, Payload, RawSpan, Signal
from otel_raglog_exporters.otlp_grpc import EXPORT_METHODS

UNKNOWN_FIELD = bytes.fromhex("c23e03616263")  # field 1000, three bytes


def attribute(key: str, value: object) -> KeyValue:
    item = KeyValue(key=key)
    if isinstance(value, list):
        for text in value:
            item.value.array_value.values.add(string_value=text)
    else:
        kinds = {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value"}
        setattr(item.value, kinds[type(value)], value)
    return item


def make_origin(service_name: str = "shop", scope: str = "lib") -> Origin:
    resource = Resource(attributes=[attribute("service.name", service_name)])
    return Origin(
        trace_pb2.ResourceSpans(resource=resource, schema_url="s1").SerializeToString()
        + UNKNOWN_FIELD,
        trace_pb2.ScopeSpans(scope=InstrumentationScope(name=scope)).SerializeToString(),
    )


def make_span(
    number: int, *, origin: Origin | None = None, size: int = 0, **attributes: object
) -> RawSpan:
    message = trace_pb2.Span(
        trace_id=b"\xab" * 16,
        span_id=number.to_bytes(8, "big"),
        name=f"span {number}",
        kind=trace_pb2.Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=2**63 + number,
        attributes=[attribute(key.replace("__", "."), value) for key, value in attributes.items()],
    )
    if size:
        message.attributes.append(attribute("text", "x" * size))
    return RawSpan(origin or make_origin(), message.SerializeToString() + UNKNOWN_FIELD)


def make_logs(*texts: str) -> Payload:
    block = logs_pb2.ResourceLogs()
    records = block.scope_logs.add().log_records
    for text in texts:
        record = records.add(time_unix_nano=5, severity_number=9, trace_id=b"\xab" * 16)
        record.body.string_value = text
    body = logs_pb2.LogsData(resource_logs=[block]).SerializeToString()
    return Payload(Signal.LOGS, body, len(texts))


def make_metrics(*points: int) -> Payload:
    """Return a gauge and a sum for each number, with so many data points each."""
    block = metrics_pb2.ResourceMetrics()
    metrics = block.scope_metrics.add().metrics
    for count in points:
        gauge, total = metrics.add(name="gauge"), metrics.add(name="sum")
        for number in range(count):
            gauge.gauge.data_points.add(as_int=number, time_unix_nano=7)
            total.sum.data_points.add(as_double=number)
    body = metrics_pb2.MetricsData(resource_metrics=[block]).SerializeToString()
    return Payload(Signal.METRICS, body, 2 * sum(points))


@pytest.fixture
def span():
    """Return the maker of spans."""
    return make_span


@pytest.fixture
def origin():
    """Return the maker of origins."""
    return make_origin


@pytest.fixture
def logs():
    """Return the maker of payloads of log records, one for each text."""
    return make_logs


@pytest.fixture
def metrics():
    """Return the maker of payloads of data points."""
    return make_metrics


@pytest.fixture
def observer():
    """Return an observer that adds up, and keeps dead letters."""
    return Books()


class GrpcReceiver:
    """A gRPC server that keeps the requests and gives scripted answers, then success.

    An answer is a response message, or a status code with an optional delay for RetryInfo.
    """

    def __init__(self, port: int = 0, credentials: grpc.ServerCredentials | None = None) -> None:
        self.bodies: list[bytes] = []
        self.methods: list[str] = []
        self.metadata: list[dict] = []
        self.answers: list = []
        self._server = grpc.server(ThreadPoolExecutor(2))
        for method in EXPORT_METHODS.values():
            _, name, export = method.split("/")
            handlers = {export: grpc.unary_unary_rpc_method_handler(self._taker(method))}
            handler = grpc.method_handlers_generic_handler(name, handlers)
            self._server.add_generic_rpc_handlers((handler,))
        address = f"127.0.0.1:{port}"
        self.port = (
            self._server.add_secure_port(address, credentials)
            if credentials
            else self._server.add_insecure_port(address)
        )
        self._server.start()

    def _taker(self, method: str):
        def take(body: bytes, context) -> bytes:
            self.methods.append(method)
            return self._export(body, context)

        return take

    def _export(self, body: bytes, context) -> bytes:
        self.metadata.append(dict(context.invocation_metadata()))
        answer = self.answers.pop(0) if self.answers else service.ExportTraceServiceResponse()
        if isinstance(answer, tuple):
            code, delay = answer
            if delay is None:
                context.abort(code, "scripted")
            info, detail = error_details_pb2.RetryInfo(), any_pb2.Any()
            info.retry_delay.FromNanoseconds(int(delay * 1e9))
            detail.Pack(info)
            number = code_pb2.Code.Value(code.name)
            status = status_pb2.Status(code=number, message="scripted", details=[detail])
            context.abort_with_status(rpc_status.to_status(status))
        self.bodies.append(body)
        return answer.SerializeToString()

    @property
    def span_ids(self) -> list[int]:
        return [
            int.from_bytes(span.span_id, "big")
            for body in self.bodies
            for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def stop(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def grpc_receiver():
    """Return a gRPC receiver that is stopped afterwards."""
    receiver = GrpcReceiver()
    yield receiver
    receiver.stop()
    gc.collect()


@pytest.fixture
def start_grpc_receiver():
    """Return a starter of gRPC receivers: on a given port, with given credentials."""
    receivers = []

    def start(port: int = 0, credentials: grpc.ServerCredentials | None = None) -> GrpcReceiver:
        receivers.append(GrpcReceiver(port, credentials))
        return receivers[-1]

    yield start
    for receiver in receivers:
        receiver.stop()

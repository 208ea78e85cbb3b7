"""What the exporters' tests share: spans of real OTLP bytes, and receivers with real sockets."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.model import Origin, WireSpan

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


def make_span(number: int, *, origin: Origin | None = None, size: int = 0, **attributes):
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
    return WireSpan(
        trace_id=message.trace_id,
        span_id=message.span_id,
        parent_id=b"",
        remote_parent=False,
        held=True,
        finishes_run=False,
        spoofed=False,
        origin=origin or make_origin(),
        raw=message.SerializeToString() + UNKNOWN_FIELD,
    )


@pytest.fixture
def span():
    """Return the maker of spans."""
    return make_span


@pytest.fixture
def origin():
    """Return the maker of origins."""
    return make_origin


class Observer:
    """Adds up what a sender tells."""

    def __init__(self) -> None:
        self.forwards = self.rejections = self.retries = 0
        self.drops: dict[str, int] = {}
        self.last_queue = (0, 0)
        self.names: set[str] = set()
        self.retried_once = threading.Event()

    def forwarded(self, exporter, count):
        self.names.add(exporter)
        self.forwards += count

    def dropped(self, exporter, reason, count):
        self.names.add(exporter)
        self.drops[reason] = self.drops.get(reason, 0) + count

    def backend_rejected(self, exporter, count):
        self.names.add(exporter)
        self.rejections += count

    def retried(self, exporter):
        self.names.add(exporter)
        self.retries += 1
        self.retried_once.set()

    def queue(self, exporter, spans, size_bytes):
        self.names.add(exporter)
        self.last_queue = (spans, size_bytes)


@pytest.fixture
def observer():
    """Return an observer that adds up."""
    return Observer()


class GrpcReceiver:
    """A gRPC server that keeps the requests and gives scripted answers, then success.

    An answer is a response message, or a status code with an optional delay for RetryInfo.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[service.ExportTraceServiceRequest] = []
        self.bodies: list[bytes] = []
        self.metadata: list[dict] = []
        self.answers: list = []
        self._server = grpc.server(ThreadPoolExecutor(2))
        handler = grpc.unary_unary_rpc_method_handler(self._export)
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "opentelemetry.proto.collector.trace.v1.TraceService", {"Export": handler}
                ),
            )
        )
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self._server.start()

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
        self.requests.append(service.ExportTraceServiceRequest.FromString(body))
        return answer.SerializeToString()

    @property
    def span_ids(self) -> list[int]:
        return [
            int.from_bytes(span.span_id, "big")
            for request in self.requests
            for resource in request.resource_spans
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
    """Return a starter of gRPC receivers on a given port."""
    receivers = []

    def start(port: int = 0) -> GrpcReceiver:
        receivers.append(GrpcReceiver(port))
        return receivers[-1]

    yield start
    for receiver in receivers:
        receiver.stop()

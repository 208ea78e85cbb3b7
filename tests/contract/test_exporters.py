"""What every exporter must do, asked of each member of the registry.

A new kind needs one entry in ``DESTINATIONS``: its options, and how to read what arrived.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from random import Random

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.clock import SystemClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.model import Origin, WireSpan
from otel_raglog_exporters.registry import EXPORTERS, build_exporter
from otel_raglog_exporters.sending import Sender, SendingConfig

UNKNOWN_FIELD = bytes.fromhex("c23e03616263")


def wire(number: int, service: str = "shop") -> WireSpan:
    resource = Resource()
    resource.attributes.add(key="service.name").value.string_value = service
    message = trace_pb2.Span(
        trace_id=b"\xab" * 16, span_id=number.to_bytes(8, "big"), name=f"span {number}"
    )
    message.attributes.add(key="raglog.run.verdict").value.string_value = "ok"
    message.attributes.add(key="raglog.run.id").value.string_value = f"run-{number}"
    return WireSpan(
        trace_id=message.trace_id,
        span_id=message.span_id,
        parent_id=b"",
        remote_parent=False,
        held=True,
        finishes_run=False,
        spoofed=False,
        origin=Origin(trace_pb2.ResourceSpans(resource=resource).SerializeToString(), b""),
        raw=message.SerializeToString() + UNKNOWN_FIELD,
    )


@dataclass
class Destination:
    """Options that lead somewhere real, and a reader of the span numbers that arrived there."""

    options: dict[str, object]
    arrived: Callable[[], list[int]]


def numbers_in(body: bytes) -> list[int]:
    request = ExportTraceServiceRequest.FromString(body)
    spans = [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
    assert all(s.SerializeToString().endswith(UNKNOWN_FIELD) for s in spans)
    return [int.from_bytes(s.span_id, "big") for s in spans]


@pytest.fixture
def grpc_destination():
    """A gRPC server that keeps what it gets."""
    bodies: list[bytes] = []

    def export(body, _context):
        bodies.append(body)
        return ExportTraceServiceResponse().SerializeToString()

    server = grpc.server(ThreadPoolExecutor(1))
    name = "opentelemetry.proto.collector.trace.v1.TraceService"
    handlers = {"Export": grpc.unary_unary_rpc_method_handler(export)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield Destination(
        {"endpoint": f"127.0.0.1:{port}"}, lambda: [n for b in bodies for n in numbers_in(b)]
    )
    server.stop(None).wait()


@pytest.fixture
def http_destination(httpserver):
    """An HTTP server that keeps what it gets."""
    httpserver.expect_request("/v1/traces").respond_with_data(b"")
    return Destination(
        {"endpoint": httpserver.url_for("/"), "compression": "none"},
        lambda: [n for request, _ in httpserver.log for n in numbers_in(request.data)],
    )


@pytest.fixture
def file_destination(tmp_path):
    """A file of JSON lines."""
    path = tmp_path / "spans.jsonl"

    def arrived() -> list[int]:
        return [
            int(span["spanId"], 16)
            for line in path.read_text().splitlines()
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]

    return Destination({"path": str(path)}, arrived)


@pytest.fixture
def console_destination(capsys):
    """Standard output."""
    printed: list[str] = []

    def arrived() -> list[int]:
        printed.extend(capsys.readouterr().out.splitlines())
        return [int(line.split()[1].removeprefix("run-")) for line in printed]

    return Destination({}, arrived)


DESTINATIONS = {
    "otlp_grpc": "grpc_destination",
    "otlp_http": "http_destination",
    "file": "file_destination",
    "console": "console_destination",
}

kinds = pytest.mark.parametrize("kind", EXPORTERS, ids=lambda kind: kind.name)


@pytest.fixture
def destination(kind, request):
    """Return the destination for ``kind``."""
    assert kind.name in DESTINATIONS, f"add a destination for {kind.name} to DESTINATIONS"
    return request.getfixturevalue(DESTINATIONS[kind.name])


@pytest.fixture
def exporter(kind, destination):
    """Return an exporter of ``kind``, closed afterwards."""
    exporter = build_exporter(kind.name, destination.options)
    yield exporter
    exporter.close()


@kinds
def test_the_configuration_is_a_frozen_dataclass_with_a_name(kind):
    """Options cannot change under a running exporter; ``name`` tells destinations apart."""
    assert is_dataclass(kind.config)
    assert "name" in {option.name for option in fields(kind.config)}
    assert kind.config.__dataclass_params__.frozen


@kinds
def test_the_name_is_the_kind_unless_told(kind, destination, exporter):
    """Two destinations of one kind can have names of their own."""
    assert exporter.name == kind.name
    other = build_exporter(kind.name, {**destination.options, "name": "other"})
    assert other.name == "other"
    other.close()


@kinds
def test_unknown_options_are_refused(kind, destination):
    """A typing error never passes silently."""
    with pytest.raises(ConfigError, match="no_such_option"):
        build_exporter(kind.name, {**destination.options, "no_such_option": 1})


@kinds
def test_no_spans_are_fine(kind, destination, exporter):
    """An empty export succeeds and sends nothing."""
    outcome = exporter.export([])
    assert (outcome.accepted, outcome.rejected) == (0, 0), kind
    assert destination.arrived() == []


@kinds
def test_every_span_arrives_once(kind, destination, exporter):
    """All spans of all exports arrive, from several services, and are reported as accepted."""
    first = [wire(number, "shop") for number in (1, 2)]
    second = [wire(3, "bank"), wire(4, "shop")]
    assert exporter.export(first).accepted == 2, kind
    assert exporter.export(second).accepted == 2
    assert sorted(destination.arrived()) == [1, 2, 3, 4]


@kinds
def test_spans_are_left_as_they_are(kind, exporter):
    """Exporters only read; the same spans go to other destinations."""
    spans = [wire(1), wire(2)]
    exporter.export(spans)
    assert spans == [wire(1), wire(2)], kind


@kinds
def test_closing_twice_is_fine_and_then_exports_fail_aloud(kind, exporter):
    """After closing nothing is accepted that could not be delivered."""
    exporter.close()
    exporter.close()
    with pytest.raises(Unavailable):
        exporter.export([wire(1)])
    assert kind


class Silent:
    """An observer that does not care."""

    def forwarded(self, *_):
        pass

    dropped = backend_rejected = retried = queue = forwarded


@kinds
def test_a_sender_delivers_through_it_and_closes_it(kind, destination, exporter):
    """Through its sender, spans arrive and the books balance."""
    config = SendingConfig(batch_spans=3, batch_seconds=0.0)
    sender = Sender(exporter, config, Silent(), SystemClock(), Random(1))
    sender.start()
    sender.offer([wire(number) for number in range(8)])
    assert sender.stop(10.0), kind
    assert sender.counts().balanced
    assert sender.counts().forwarded == 8
    assert sorted(destination.arrived()) == list(range(8))
    with pytest.raises(Unavailable):
        exporter.export([wire(9)])

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
from memory_source import Books, MemorySource
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData, ResourceLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, ResourceMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.clock import SystemClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.model import Origin, Payload, RawSpan, Signal
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.otlp_grpc import EXPORT_METHODS
from otel_raglog_exporters.registry import EXPORTERS, build_exporter
from otel_raglog_exporters.sending import Sender, SendingConfig

UNKNOWN_FIELD = bytes.fromhex("c23e03616263")


def wire(number: int, service: str = "shop") -> RawSpan:
    resource = Resource()
    resource.attributes.add(key="service.name").value.string_value = service
    message = trace_pb2.Span(
        trace_id=b"\xab" * 16, span_id=number.to_bytes(8, "big"), name=f"span {number}"
    )
    message.attributes.add(key="raglog.run.verdict").value.string_value = "ok"
    message.attributes.add(key="raglog.run.id").value.string_value = f"run-{number}"
    message.attributes.add(key="raglog.detector.version").value.string_value = "rules-1"
    return RawSpan(
        Origin(trace_pb2.ResourceSpans(resource=resource).SerializeToString(), b""),
        message.SerializeToString() + UNKNOWN_FIELD,
    )


def log_records(count: int) -> Payload:
    block = ResourceLogs()
    for _ in range(count):
        block.scope_logs.add().log_records.add().body.string_value = "words"
    body = LogsData(resource_logs=[block]).SerializeToString()
    return Payload(Signal.LOGS, body, count)


def data_points(count: int) -> Payload:
    block = ResourceMetrics()
    metric = block.scope_metrics.add().metrics.add(name="requests")
    for number in range(count):
        metric.gauge.data_points.add(as_int=number)
    body = MetricsData(resource_metrics=[block]).SerializeToString()
    return Payload(Signal.METRICS, body, count)


@dataclass
class Destination:
    """Options that lead somewhere real, and readers of what arrived there.

    ``arrived`` are the numbers of the spans, ``others`` how many items of another signal.
    """

    options: dict[str, object]
    arrived: Callable[[], list[int]]
    others: Callable[[Signal], int]


def numbers_in(body: bytes) -> list[int]:
    request = ExportTraceServiceRequest.FromString(body)
    spans = [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
    assert all(s.SerializeToString().endswith(UNKNOWN_FIELD) for s in spans)
    return [int.from_bytes(s.span_id, "big") for s in spans]


def count_in(signal: Signal, body: bytes) -> int:
    if signal is Signal.LOGS:
        blocks = LogsData.FromString(body).resource_logs
        return sum(len(scope.log_records) for block in blocks for scope in block.scope_logs)
    blocks = MetricsData.FromString(body).resource_metrics
    metrics = [m for block in blocks for scope in block.scope_metrics for m in scope.metrics]
    return sum(len(metric.gauge.data_points) for metric in metrics)


@pytest.fixture
def grpc_destination():
    """A gRPC server that keeps what it gets."""
    bodies: dict[Signal, list[bytes]] = {signal: [] for signal in Signal}
    server = grpc.server(ThreadPoolExecutor(1))

    def add(signal: Signal) -> None:
        def export(body, _context):
            bodies[signal].append(body)
            return b""

        _, name, method = EXPORT_METHODS[signal].split("/")
        handlers = {method: grpc.unary_unary_rpc_method_handler(export)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))

    for signal in Signal:
        add(signal)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield Destination(
        {"endpoint": f"127.0.0.1:{port}"},
        lambda: [n for body in bodies[Signal.TRACES] for n in numbers_in(body)],
        lambda signal: sum(count_in(signal, body) for body in bodies[signal]),
    )
    server.stop(None).wait()


@pytest.fixture
def http_destination(httpserver):
    """An HTTP server that keeps what it gets."""
    for signal in Signal:
        httpserver.expect_request(f"/v1/{signal}").respond_with_data(b"")

    def bodies(signal: Signal) -> list[bytes]:
        log = httpserver.log
        return [request.data for request, _ in log if request.path == f"/v1/{signal}"]

    return Destination(
        {"endpoint": httpserver.url_for("/"), "compression": "none"},
        lambda: [n for body in bodies(Signal.TRACES) for n in numbers_in(body)],
        lambda signal: sum(count_in(signal, body) for body in bodies(signal)),
    )


@pytest.fixture
def file_destination(tmp_path):
    """A file of JSON lines."""
    path = tmp_path / "spans.jsonl"

    def lines() -> list[dict]:
        return [json.loads(line) for line in path.read_text().splitlines()]

    def arrived() -> list[int]:
        return [
            int(span["spanId"], 16)
            for line in lines()
            for resource in line.get("resourceSpans", [])
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]

    def others(signal: Signal) -> int:
        key = {Signal.LOGS: '"body"', Signal.METRICS: '"asInt"'}[signal]
        return sum(json.dumps(line).count(key) for line in lines())

    return Destination({"path": str(path)}, arrived, others)


@pytest.fixture
def console_destination(capsys):
    """Standard output."""
    printed: list[str] = []

    def lines(start: str) -> list[str]:
        printed.extend(capsys.readouterr().out.splitlines())
        return [line for line in printed if line.startswith(start)]

    return Destination(
        {},
        lambda: [int(line.split()[1].removeprefix("run-")) for line in lines("run ")],
        lambda signal: sum(int(line.split()[1]) for line in lines(f"{signal}: ")),
    )


def ids_of(texts: list[str]) -> list[int]:
    return [int(text.rpartition("run-")[2]) for text in texts]


@pytest.fixture
def phoenix_destination(httpserver):
    """A server that takes annotations."""
    for path in ("/v1/span_annotations", "/v1/trace_annotations"):
        httpserver.expect_request(path, method="POST").respond_with_json({"data": []})

    def arrived() -> list[int]:
        posted = [request.get_json()["data"] for request, _ in httpserver.log]
        return ids_of([item["metadata"]["run_id"] for items in posted for item in items])

    return Destination({"endpoint": httpserver.url_for("/")}, arrived, lambda _: 0)


@pytest.fixture
def langfuse_destination(httpserver):
    """A server that takes scores."""
    path = "/api/public/ingestion"
    httpserver.expect_request(path).respond_with_json({"successes": [], "errors": []}, 207)

    def arrived() -> list[int]:
        events = [event for request, _ in httpserver.log for event in request.get_json()["batch"]]
        return ids_of([event["body"]["metadata"]["run_id"] for event in events])

    keys = {"public_key": "p", "secret_key": "s"}
    return Destination({"endpoint": httpserver.url_for("/"), **keys}, arrived, lambda _: 0)


@pytest.fixture
def mlflow_destination(httpserver):
    """A server that has every trace, and takes assessments."""
    path = f"/api/3.0/mlflow/traces/tr-{'ab' * 16}"
    httpserver.expect_request(path, method="GET").respond_with_json({"trace": {}})
    httpserver.expect_request(f"{path}/assessments", method="POST").respond_with_json({})

    def arrived() -> list[int]:
        posted = [request for request, _ in httpserver.log if request.method == "POST"]
        return ids_of([r.get_json()["assessment"]["metadata"]["run_id"] for r in posted])

    return Destination({"endpoint": httpserver.url_for("/")}, arrived, lambda _: 0)


@pytest.fixture
def webhook_destination(httpserver):
    """An address that takes every run."""
    httpserver.expect_request("/hook", method="POST").respond_with_data(b"")

    def arrived() -> list[int]:
        return ids_of([request.get_json()["run_id"] for request, _ in httpserver.log])

    options = {"endpoint": httpserver.url_for("/hook"), "verdicts": "all"}
    return Destination(options, arrived, lambda _: 0)


DESTINATIONS = {
    "otlp_grpc": "grpc_destination",
    "otlp_http": "http_destination",
    "file": "file_destination",
    "console": "console_destination",
    "phoenix": "phoenix_destination",
    "langfuse": "langfuse_destination",
    "mlflow": "mlflow_destination",
    "webhook": "webhook_destination",
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
@pytest.mark.parametrize("signal", Signal)
def test_nothing_is_fine(kind, destination, exporter, signal):
    """An empty request succeeds and is not sent."""
    outcome = exporter.export(Payload(signal, b"", 0))
    assert (outcome.accepted, outcome.rejected) == (0, 0), kind
    assert destination.arrived() == []


@kinds
def test_every_span_arrives_once(kind, destination, exporter):
    """All spans of all exports arrive, from several services, and are reported as accepted."""
    first = [wire(number, "shop") for number in (1, 2)]
    second = [wire(3, "bank"), wire(4, "shop")]
    assert exporter.export(encode_payload(first)).accepted == 2, kind
    assert exporter.export(encode_payload(second)).accepted == 2
    assert sorted(destination.arrived()) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "kind",
    [kind for kind in EXPORTERS if kind.signals == frozenset(Signal)],
    ids=lambda kind: kind.name,
)
def test_logs_and_metrics_arrive(kind, destination, exporter):
    """Whoever says that it takes all three signals does, in any order."""
    for payload in (log_records(3), data_points(5), log_records(1)):
        assert exporter.export(payload).accepted == payload.items, kind
    assert destination.others(Signal.LOGS) == 4
    assert destination.others(Signal.METRICS) == 5
    assert destination.arrived() == []


@kinds
def test_requests_that_were_joined_arrive_as_one(kind, destination, exporter):
    """Bodies may be concatenated, which is what the senders do."""
    bodies = [encode_payload([wire(number)]).body for number in (1, 2, 3)]
    outcome = exporter.export(Payload(Signal.TRACES, b"".join(bodies), 3))
    assert outcome.accepted == 3, kind
    assert sorted(destination.arrived()) == [1, 2, 3]


@kinds
def test_headers_hurt_no_destination(kind, destination, exporter):
    """Whatever came in with a request: it goes out with what of it can be sent."""
    odd = (("tenant", "a"), ("content-length", "1"), ("x-bin", "\u00e4"), ("\u00e4", "x"), ("", ""))
    assert exporter.export(encode_payload([wire(1)], odd)).accepted == 1, kind
    assert destination.arrived() == [1]


@kinds
def test_exports_at_once_do_not_disturb_each_other(kind, destination, exporter):
    """The senders of three signals share one exporter."""
    others = 6 if Signal.LOGS in kind.signals else 0
    payloads = [encode_payload([wire(number)]) for number in range(12)] + [log_records(1)] * others
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(exporter.export, payloads))
    assert all(outcome.accepted == 1 for outcome in outcomes), kind
    assert sorted(destination.arrived()) == list(range(12))
    assert destination.others(Signal.LOGS) == others


@kinds
def test_closing_twice_is_fine_and_then_exports_fail_aloud(kind, exporter):
    """After closing nothing is accepted that could not be delivered."""
    exporter.close()
    exporter.close()
    with pytest.raises(Unavailable):
        exporter.export(encode_payload([wire(1)]))
    assert kind


@kinds
def test_a_sender_delivers_through_it(kind, destination, exporter):
    """Through its sender, spans arrive and the books balance."""
    config = SendingConfig(batch_items=3, batch_seconds=0.0)
    books = Books()
    source = MemorySource(*[encode_payload([wire(number)]) for number in range(8)])
    sender = Sender(exporter, source, Signal.TRACES, config, books, books, SystemClock(), Random(1))
    sender.start()
    assert sender.stop(10.0) == 0, kind
    assert (books.forwards, books.settled) == (8, 8)
    assert sorted(destination.arrived()) == list(range(8))

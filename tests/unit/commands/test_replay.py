"""Recorded spans and dead letters are sent again, byte for byte where nothing else was asked."""

from __future__ import annotations

import gzip
import random

import pytest
import typer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData, ResourceLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, ResourceMetrics
from rag_traces import rag_trace
from structlog.testing import capture_logs
from werkzeug import Response

from otel_raglog.clock import ManualClock
from otel_raglog.commands.replay import replay
from otel_raglog.errors import BadInput
from otel_raglog.journal.dead_letters import DeadLetterFile
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

TRACE = encode_payload(rag_trace(random.Random(1), 1), (("tenant", "a"),))
LOGS = Payload(Signal.LOGS, b"\x0a\x00", 3)
METRICS = Payload(Signal.METRICS, b"\x0a\x00\x0a\x00", 5)


@pytest.fixture
def letters(tmp_path):
    """Return a file of dead letters of the three signals."""
    kept = DeadLetterFile(tmp_path, 10**9, ManualClock())
    for payload in (TRACE, LOGS, METRICS):
        assert kept.put("backend", payload, "http_400", "bad")
    return tmp_path / "backend.jsonl"


def received(httpserver):
    return [(request.path, gzip.decompress(request.data)) for request, _ in httpserver.log]


def test_dead_letters_are_sent_byte_for_byte(httpserver, letters, capsys):
    """Of any signal, each to its own path, with the headers that it came with."""
    httpserver.expect_request("/v1/traces", headers={"tenant": "a"}).respond_with_data(b"")
    httpserver.expect_request("/v1/logs").respond_with_data(b"")
    httpserver.expect_request("/v1/metrics").respond_with_data(b"")
    replay([letters], httpserver.url_for("/v1/traces"))
    assert received(httpserver) == [
        (f"/v1/{payload.signal}", payload.body) for payload in (TRACE, LOGS, METRICS)
    ]
    sent = f"sent {TRACE.items} spans, 5 data points, 3 log records to "
    assert sent in capsys.readouterr().out


def test_lines_of_logs_and_metrics_are_sent(httpserver, tmp_path, capsys):
    """What the file exporter wrote goes to the path of its signal; what is damaged is named."""
    for signal in Signal:
        httpserver.expect_request(f"/v1/{signal}").respond_with_data(b"")
    logs, metrics = ResourceLogs(), ResourceMetrics()
    logs.scope_logs.add().log_records.add(severity_number=9).body.string_value = "words"
    points = metrics.scope_metrics.add().metrics.add(name="requests").sum.data_points
    points.add(as_int=-5)
    points.add(as_double=0.5)
    sent = [
        Payload(Signal.LOGS, LogsData(resource_logs=[logs]).SerializeToString(), 1),
        Payload(Signal.METRICS, MetricsData(resource_metrics=[metrics]).SerializeToString(), 2),
    ]
    exporter = build_exporter("file", {"path": str(tmp_path / "out.jsonl")})
    for payload in sent:
        exporter.export(payload)
    exporter.close()
    with (tmp_path / "out.jsonl").open("a") as file:
        file.write('{"resourceLogs": 5}\n')
    with pytest.raises(typer.Exit):
        replay([tmp_path / "out.jsonl"], httpserver.url_for("/v1/traces"))
    assert received(httpserver) == [(f"/v1/{payload.signal}", payload.body) for payload in sent]
    printed = capsys.readouterr()
    assert "sent 2 data points, 1 log records to" in printed.out
    assert "line 3" in printed.err


def test_new_ids_are_for_traces_alone(httpserver, letters):
    """Their bodies change, those of the others do not."""
    for signal in Signal:
        httpserver.expect_request(f"/v1/{signal}").respond_with_data(b"")
    replay([letters], httpserver.url_for("/v1/traces"), new_ids=True)
    bodies = dict(received(httpserver))
    assert bodies["/v1/logs"] == LOGS.body
    old, new = (
        {
            span.trace_id
            for block in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in block.scope_spans
            for span in scope.spans
        }
        for body in (TRACE.body, bodies["/v1/traces"])
    )
    assert len(old) == len(new)
    assert not old & new


def test_what_is_refused_again_does_not_cost_the_rest(httpserver, letters, capsys):
    """It is counted with the destination's words, and the exit code says so."""
    httpserver.expect_request("/v1/traces").respond_with_data(b"no such tenant", status=400)
    httpserver.expect_request("/v1/logs").respond_with_data(b"")
    httpserver.expect_request("/v1/metrics").respond_with_data(b"")
    with pytest.raises(typer.Exit) as stop:
        replay([letters], httpserver.url_for("/v1/traces"))
    assert stop.value.exit_code == 2
    printed = capsys.readouterr()
    assert "sent 5 data points, 3 log records to" in printed.out
    assert f"refused {TRACE.items} (HTTP 400: no such tenant)" in printed.err


def test_a_refusal_of_us_ends_the_replay(httpserver, letters):
    """Sending the rest would not help; the message says how far it came."""
    answers = [Response(b""), Response(status=401), Response(b"")]
    for signal in Signal:
        httpserver.expect_request(f"/v1/{signal}").respond_with_handler(lambda _: answers.pop(0))
    with pytest.raises(BadInput, match=rf"HTTP 401.*{TRACE.items} spans were sent"):
        replay([letters], httpserver.url_for("/v1/traces"))


@pytest.mark.parametrize("status", [404, 405])
def test_a_receiver_that_knows_no_such_path_may_be_of_the_other_protocol(
    httpserver, letters, status
):
    """The message says how it was sent, and how it would be sent over gRPC."""
    httpserver.expect_request("/otlp/v1/traces").respond_with_data(b"", status=status)
    with pytest.raises(BadInput, match=rf"HTTP {status}.*over HTTP.*gRPC receiver .*host:port"):
        replay([letters], httpserver.url_for("/otlp"))


def test_a_receiver_of_http_that_is_called_over_grpc_is_told_apart(httpserver, letters):
    """Its port is not the usual one: the path says what it speaks."""
    endpoint = httpserver.url_for("").rstrip("/")
    with pytest.raises(BadInput, match=rf"over gRPC: .*HTTP receiver give {endpoint}/v1/traces"):
        replay([letters], endpoint, attempts=1)


def test_a_receiver_that_does_not_answer_may_be_of_the_other_protocol(letters):
    """Nothing listens there; that is said once, when every try has failed."""
    with (
        capture_logs() as logs,
        pytest.raises(BadInput, match="over gRPC: for an HTTP receiver give http://127"),
    ):
        replay([letters], "127.0.0.1:9", attempts=2)
    assert logs == []


def test_a_refusal_for_other_reasons_has_no_such_hint(httpserver, letters):
    """The credentials are wrong, not the protocol."""
    httpserver.expect_request("/v1/traces").respond_with_data(b"", status=401)
    with pytest.raises(BadInput) as caught:
        replay([letters], httpserver.url_for("/v1/traces"))
    assert "gRPC" not in str(caught.value)

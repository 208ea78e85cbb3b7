"""``collector_config/rotel`` as its files say: applications → rotel → raglog → backends."""

import random

import httpx2
import pytest
import yaml
from ports import free_port
from rag_traces import OTHER_SPANS, RAG_SPANS, rag_trace
from services import collect, rotel_agent, rotel_with, running_sink, serving
from topology import COLLECTOR_CONFIG, address, read_env_file

from otel_raglog.receive.span import decode_span
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

FOLDER = COLLECTOR_CONFIG / "rotel"
TRACES = 40


def on_loopback(endpoint: str, port: int) -> str:
    """Return ``endpoint`` at another address: a test has neither its hosts nor its ports."""
    scheme, mark, _ = endpoint.rpartition("://")
    return f"{scheme}{mark}127.0.0.1:{port}"


def send(endpoint: str, kind: str, spans) -> None:
    """Send spans as an application does."""
    exporter = build_exporter(kind, {"endpoint": endpoint})
    try:
        assert exporter.export(encode_payload(spans)).rejected == 0
    finally:
        exporter.close()


@pytest.mark.skipif(rotel_agent() is None, reason="rotel is not installed: it is for Linux alone")
def test_spans_go_through_rotel_and_come_out_judged(tmp_path):
    """Over both of rotel's doors: each span arrives once at every backend, each run with its verdict."""
    source = random.Random(11)
    traces = [rag_trace(source, number) for number in range(TRACES)]
    options = yaml.safe_load((FOLDER / "raglog.yaml").read_text())
    with running_sink() as tempo, running_sink() as phoenix:
        sinks = {"tempo": tempo, "phoenix": phoenix}
        assert options["exporters"].keys() == sinks.keys()
        for name, destination in options["exporters"].items():
            port = address(sinks[name].endpoint)[1]
            destination["endpoint"] = on_loopback(destination["endpoint"], port)
        for door in options["receive"].values():
            door |= {"host": "127.0.0.1", "port": 0}
        with serving(tmp_path, **options) as served:
            doors = {"grpc": free_port(), "http": free_port()}
            variables = read_env_file(FOLDER / "front.env")
            for name, change in {
                "ROTEL_OTLP_GRPC_ENDPOINT": doors["grpc"],
                "ROTEL_OTLP_HTTP_ENDPOINT": doors["http"],
                "ROTEL_OTLP_EXPORTER_ENDPOINT": address(served.addresses["grpc"])[1],
            }.items():
                variables[name] = on_loopback(variables[name], change)
            with rotel_with(variables, doors["grpc"], tmp_path):
                for number, spans in enumerate(traces):
                    if number % 2:
                        send(f"http://127.0.0.1:{doors['grpc']}", "otlp_grpc", spans)
                    else:
                        send(f"http://127.0.0.1:{doors['http']}/v1/traces", "otlp_http", spans)
                total = TRACES * (RAG_SPANS + OTHER_SPANS)
                received = {name: collect(sink, total) for name, sink in sinks.items()}
            assert served.metric("raglog_runs_total") == TRACES
            assert served.metric("raglog_spans_dropped_total") == 0
            metrics = httpx2.get(f"http://{served.addresses['metrics']}/metrics", timeout=10).text
            assert "\nraglog_backlog_traces 0" in metrics  # what replicas are scaled on
    sent = {(span.trace_id, span.span_id) for trace in traces for span in trace}
    for spans in received.values():
        assert len(spans) == len(sent)
        assert {(span.trace_id, span.span_id) for span in spans} == sent
        verdicts = {
            span.trace_id for span in spans if "raglog.run.verdict" in decode_span(span).attributes
        }
        assert verdicts == {trace[0].trace_id for trace in traces}

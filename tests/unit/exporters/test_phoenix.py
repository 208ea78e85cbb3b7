"""Annotations for Phoenix, against a server that takes what Phoenix takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_spans import judged_payload, later_payload, plain_payload
from samples import RETRIEVER, TRACE_ID, make_report
from werkzeug import Response

from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Stage
from otel_raglog_exporters.phoenix import PhoenixConfig, PhoenixExporter
from otel_raglog_exporters.sending import ExportOutcome

SPANS, TRACES = "/v1/span_annotations", "/v1/trace_annotations"


@pytest.fixture
def connect(httpserver):
    """Return a maker of exporters to a server that takes everything, closed afterwards."""
    for path in (SPANS, TRACES):
        httpserver.expect_request(path, method="POST").respond_with_json({"data": []})
    exporters = []

    def make(**options) -> PhoenixExporter:
        options.setdefault("endpoint", httpserver.url_for("/"))
        exporters.append(PhoenixExporter(PhoenixConfig(**options)))
        return exporters[-1]

    yield make
    for exporter in exporters:
        exporter.close()


def posted(httpserver, path):
    requests = [request for request, _ in httpserver.log if request.path == path]
    return [item for request in requests for item in request.get_json()["data"]]


def test_a_judged_span_gets_a_score_and_a_word(httpserver, connect):
    """Two annotations: one with a score would hide its label."""
    assert connect().export(judged_payload()) == ExportOutcome(3)
    found = {a["name"]: a for a in posted(httpserver, SPANS) if a["span_id"] == RETRIEVER.hex()}
    verdict = make_report({Stage.RETRIEVER: None}).verdicts[Stage.RETRIEVER]
    score, word = found["raglog.retriever"], found["raglog.retriever.verdict"]
    assert score["result"]["score"] == verdict.probability
    assert "label" not in score["result"]
    assert word["result"]["label"] == "faulty"
    assert "score" not in word["result"]
    assert score["metadata"]["fault_types"] == ["no_relevant_chunk"]
    assert {a["identifier"] for a in found.values()} == {"otel-raglog"}
    assert {a["annotator_kind"] for a in found.values()} == {"CODE"}


def test_a_run_s_trace_gets_its_verdict(httpserver, connect):
    """With the first faulty stage for an explanation."""
    connect().export(judged_payload())
    (run,) = posted(httpserver, TRACES)
    assert run["trace_id"] == TRACE_ID.hex()
    assert run["name"] == "raglog.run"
    assert run["result"] == {"label": "faulty", "explanation": "first faulty stage: retriever"}
    assert run["metadata"]["run_id"] == TRACE_ID.hex()
    assert run["identifier"] == f"otel-raglog:{TRACE_ID.hex()}"


def test_a_later_verdict_replaces_the_first(httpserver, connect):
    """Same target, name and identifier."""
    exporter = connect()
    exporter.export(judged_payload())
    exporter.export(later_payload())
    places = [
        (a["span_id"], a["name"], a["identifier"])
        for a in posted(httpserver, SPANS)
        if a["span_id"] == RETRIEVER.hex()
    ]
    assert sorted(places[:2]) == sorted(places[2:])
    assert posted(httpserver, TRACES)[-1]["annotator_kind"] == "LLM"


def test_a_refused_annotation_costs_itself_alone(httpserver):
    """Phoenix refuses the batch that it is in; the others are sent again without it."""
    taken = []

    def answer(request):
        names = [each["name"] for each in request.get_json()["data"]]
        if "raglog.retriever" in names:
            return Response("no such name", 422)
        taken.extend(names)
        return Response("{}")

    httpserver.expect_request(SPANS).respond_with_handler(answer)
    httpserver.expect_request(TRACES).respond_with_json({"data": []})
    exporter = PhoenixExporter(PhoenixConfig(endpoint=httpserver.url_for("/")))
    outcome = exporter.export(judged_payload())
    exporter.close()
    assert (outcome.accepted, outcome.rejected) == (2, 1)
    assert "no such name" in outcome.message
    assert "raglog.retriever.verdict" in taken
    assert len(posted(httpserver, TRACES)) == 1


def test_spans_without_a_verdict_cost_no_request(httpserver, connect):
    """They are accepted: there is nothing to say about them."""
    assert connect().export(plain_payload()) == ExportOutcome(1)
    assert httpserver.log == []


def test_the_key_goes_with_each_request(httpserver, connect, tmp_path):
    """From the option or from a file."""
    file = tmp_path / "key"
    file.write_text("k-1\n")
    connect(api_key_file=file).export(judged_payload())
    assert {r.headers["Authorization"] for r, _ in httpserver.log} == {"Bearer k-1"}


@pytest.mark.parametrize(
    ("status", "error"),
    [(503, Unavailable), (429, Unavailable), (500, Unavailable), (401, Rejected)],
)
def test_failures_are_told_apart(httpserver, status, error):
    """What may pass, and what will not."""
    httpserver.expect_request(SPANS).respond_with_response(Response("no", status))
    exporter = PhoenixExporter(PhoenixConfig(endpoint=httpserver.url_for("/")))
    with pytest.raises(error):
        exporter.export(judged_payload())
    exporter.close()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"endpoint": "phoenix:6006"}, "endpoint"),
        ({"endpoint": "http://h/?a=b"}, "endpoint"),
        ({"endpoint": "http://u:p@h"}, "endpoint"),
        ({"api_key": "a", "api_key_file": Path("/k")}, "api_key_file"),
        ({"api_key_file": Path("/no/such/file")}, "api_key_file"),
        ({"headers": {"a b": "c"}}, "headers"),
    ],
)
def test_wrong_options_are_named(options, named):
    """Before anything is sent."""
    with pytest.raises(ConfigError, match=named):
        PhoenixExporter(PhoenixConfig(**options))

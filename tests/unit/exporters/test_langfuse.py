"""Scores for Langfuse, against a server that answers each of a batch."""

from __future__ import annotations

import base64

import pytest
from judged_spans import judged_payload, later_payload, plain_payload
from samples import RETRIEVER, TRACE_ID, make_report, make_run

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import FaultType, Stage
from otel_raglog_exporters.langfuse import LangfuseConfig, LangfuseExporter
from otel_raglog_exporters.sending import ExportOutcome

PATH = "/api/public/ingestion"
KEYS = {"public_key": "pk-1", "secret_key": "sk-1"}


@pytest.fixture
def connect(httpserver):
    """Return a maker of exporters to the server, closed afterwards."""
    exporters = []

    def make(answer=None, status=207, **options) -> LangfuseExporter:
        answer = answer or {"successes": [], "errors": []}
        httpserver.expect_request(PATH, method="POST").respond_with_json(answer, status)
        config = LangfuseConfig(endpoint=httpserver.url_for("/"), **{**KEYS, **options})
        exporters.append(LangfuseExporter(config, ManualClock(1_700_000_000.0)))
        return exporters[-1]

    yield make
    for exporter in exporters:
        exporter.close()


def events(httpserver):
    return [event for request, _ in httpserver.log for event in request.get_json()["batch"]]


def scores(httpserver):
    return [event["body"] for event in events(httpserver)]


def test_a_judged_span_gets_a_number_and_a_word(httpserver, connect):
    """On the observation that the span is."""
    assert connect().export(judged_payload()) == ExportOutcome(3)
    found = {s["name"]: s for s in scores(httpserver) if s.get("observationId") == RETRIEVER.hex()}
    score, word = found["raglog.retriever"], found["raglog.retriever.verdict"]
    assert (score["dataType"], type(score["value"])) == ("NUMERIC", float)
    assert (word["dataType"], word["value"]) == ("CATEGORICAL", "faulty")
    assert {s["traceId"] for s in found.values()} == {TRACE_ID.hex()}
    assert word["metadata"]["fault_types"] == ["no_relevant_chunk"]
    assert {event["type"] for event in events(httpserver)} == {"score-create"}
    assert {event["timestamp"] for event in events(httpserver)} == {"2023-11-14T22:13:20+00:00"}


def test_a_run_is_scored_on_its_trace_and_its_session(httpserver, connect):
    """The session has the verdicts of its runs."""
    report = make_report(
        {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}, run=make_run(session_id="s1", turn=1)
    )
    connect().export(judged_payload(report=report))
    runs = [score for score in scores(httpserver) if score["name"] == "raglog.run"]
    on_trace, on_session = sorted(runs, key=lambda score: "sessionId" in score)
    assert on_trace["traceId"] == TRACE_ID.hex()
    assert "observationId" not in on_trace
    assert on_session["sessionId"] == "s1"
    assert "traceId" not in on_session
    assert on_trace["value"] == on_session["value"] == "faulty"
    assert on_trace["comment"] == "first faulty stage: retriever"


def test_ids_are_the_same_when_sent_again_or_superseded(httpserver, connect):
    """So that Langfuse replaces what it has; no two scores share one."""
    exporter = connect()
    exporter.export(judged_payload())
    first = [score["id"] for score in scores(httpserver)]
    exporter.export(later_payload())
    assert len(set(first)) == len(first)
    assert [score["id"] for score in scores(httpserver)][len(first) :] == first


def test_spans_without_a_verdict_cost_no_request(httpserver, connect):
    """They are accepted: there is nothing to say about them."""
    assert connect().export(plain_payload()) == ExportOutcome(1)
    assert httpserver.log == []


def test_the_keys_and_the_environment_go_along(httpserver, connect, tmp_path):
    """As basic authentication; the secret one may be in a file."""
    file = tmp_path / "key"
    file.write_text("sk-2")
    connect(secret_key="", secret_key_file=file, environment="staging").export(judged_payload())
    pair = base64.b64encode(b"pk-1:sk-2").decode()
    assert httpserver.log[0][0].headers["Authorization"] == f"Basic {pair}"
    assert {score["environment"] for score in scores(httpserver)} == {"staging"}


def test_a_refused_score_costs_itself_alone(connect):
    """It is said; the rest was taken."""
    errors = [{"id": "e", "status": 400, "message": "bad name"}]
    outcome = connect({"successes": [], "errors": errors}).export(judged_payload())
    assert (outcome.accepted, outcome.rejected) == (2, 1)
    assert "bad name" in outcome.message


def test_a_score_that_may_be_taken_later_is_tried_again(connect):
    """With the batch, whose other scores replace themselves."""
    errors = [{"id": "e", "status": 503, "message": "busy"}]
    with pytest.raises(Unavailable, match="busy"):
        connect({"successes": [], "errors": errors}).export(judged_payload())


def test_wrong_keys_are_refused(connect):
    """For good."""
    with pytest.raises(Rejected) as caught:
        connect({"message": "no"}, 401).export(judged_payload())
    assert caught.value.reason == "http_401"


@pytest.mark.parametrize("missing", ["public_key", "secret_key"])
def test_both_keys_are_needed(missing):
    """At the start."""
    with pytest.raises(ConfigError, match=missing):
        LangfuseExporter(LangfuseConfig(**{**KEYS, missing: ""}))

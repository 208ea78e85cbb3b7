"""Assessments for MLflow, against a server that knows its traces and keeps what it is given."""

from __future__ import annotations

import json

import pytest
from judged_spans import judged_payload, later_payload, plain_payload
from samples import RETRIEVER, TRACE_ID
from werkzeug import Response

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog_exporters.mlflow import MlflowConfig, MlflowExporter
from otel_raglog_exporters.sending import ExportOutcome

TRACE = f"/api/3.0/mlflow/traces/tr-{TRACE_ID.hex()}"


class Server:
    """Knows one trace, or none."""

    def __init__(self) -> None:
        self.has_trace = True
        self.kept: list[dict] = []
        self.refused = ""

    def trace(self, request):
        if not self.has_trace:
            return Response(json.dumps({"error_code": "RESOURCE_DOES_NOT_EXIST"}), 404)
        info = {"trace_id": f"tr-{TRACE_ID.hex()}", "assessments": self.kept}
        return Response(json.dumps({"trace": {"trace_info": info}}))

    def add(self, request):
        if request.get_json()["assessment"]["assessment_name"] == self.refused:
            return Response("bad", 400)
        self.kept.append(request.get_json()["assessment"])
        return Response(json.dumps({"assessment": self.kept[-1]}))


@pytest.fixture
def server(httpserver):
    """A server behind the exporter."""
    found = Server()
    httpserver.expect_request(TRACE, method="GET").respond_with_handler(found.trace)
    httpserver.expect_request(f"{TRACE}/assessments", method="POST").respond_with_handler(found.add)
    return found


@pytest.fixture
def clock():
    """Time that stands still."""
    return ManualClock()


@pytest.fixture
def exporter(httpserver, server, clock):
    """An exporter to the server."""
    config = MlflowConfig(endpoint=httpserver.url_for("/"), wait_for_trace_seconds=30)
    found = MlflowExporter(config, clock)
    yield found
    found.close()


def test_stages_are_assessed_on_their_spans_and_the_run_on_the_trace(server, exporter):
    """As feedback of code, with the explanation as its rationale."""
    assert exporter.export(judged_payload()) == ExportOutcome(3)
    found = {each["assessment_name"]: each for each in server.kept}
    retriever = found["raglog.retriever"]
    assert retriever["span_id"] == RETRIEVER.hex()
    assert retriever["feedback"] == {"value": "faulty"}
    assert retriever["source"] == {"source_type": "CODE", "source_id": "otel-raglog"}
    assert retriever["metadata"]["fault_types"] == "no_relevant_chunk"
    assert "span_id" not in found["raglog.run"]
    assert found["raglog.run"]["rationale"] == "first faulty stage: retriever"
    assert {each["trace_id"] for each in server.kept} == {f"tr-{TRACE_ID.hex()}"}


def test_what_is_there_is_not_sent_again(server, exporter):
    """MLflow would keep both."""
    exporter.export(judged_payload())
    before = len(server.kept)
    exporter.export(judged_payload())
    assert len(server.kept) == before


def test_a_later_verdict_stands_beside_the_first(server, exporter):
    """Of an LLM, and it names what it supersedes."""
    exporter.export(judged_payload())
    exporter.export(later_payload())
    runs = [each for each in server.kept if each["assessment_name"] == "raglog.run"]
    assert [each["source"]["source_type"] for each in runs] == ["CODE", "LLM_JUDGE"]
    assert runs[1]["metadata"]["supersedes"] == "rules-1"


def test_a_trace_that_is_not_stored_yet_is_waited_for(server, exporter):
    """Its spans go another way there."""
    server.has_trace = False
    with pytest.raises(Unavailable) as caught:
        exporter.export(judged_payload())
    assert caught.value.retry_after_seconds
    server.has_trace = True
    assert exporter.export(judged_payload()) == ExportOutcome(3)
    assert server.kept


def test_a_trace_that_never_comes_is_given_up_and_said(server, exporter, clock):
    """It must not hold up the others."""
    server.has_trace = False
    with pytest.raises(Unavailable):
        exporter.export(judged_payload())
    clock.advance(31)
    outcome = exporter.export(judged_payload())
    assert (outcome.accepted, outcome.rejected) == (2, 1)
    assert "was never stored" in outcome.message


def test_a_refused_assessment_costs_itself_alone(httpserver, server, exporter):
    """The others are sent all the same."""
    server.refused = "raglog.retriever"
    outcome = exporter.export(judged_payload())
    assert (outcome.accepted, outcome.rejected) == (2, 1)
    names = {each["assessment_name"] for each in server.kept}
    assert "raglog.run" in names
    assert "raglog.retriever" not in names


def test_spans_without_a_verdict_cost_no_request(httpserver, exporter):
    """They are accepted: there is nothing to say about them."""
    assert exporter.export(plain_payload()) == ExportOutcome(1)
    assert httpserver.log == []


def test_a_wrong_address_is_named():
    """At the start."""
    with pytest.raises(ConfigError, match="endpoint"):
        MlflowExporter(MlflowConfig(endpoint="mlflow:5000"))

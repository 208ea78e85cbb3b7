"""Runs posted to an address of one's own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from judged_spans import judged_payload, later_payload
from samples import RETRIEVER, TRACE_ID, make_report

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.webhook import WebhookConfig, WebhookExporter

SECRET = "a secret of some length"


@pytest.fixture
def connect(httpserver):
    """Return a maker of exporters to the server, closed afterwards."""
    exporters = []

    def make(status=204, **options) -> WebhookExporter:
        httpserver.expect_request("/hook", method="POST").respond_with_data(b"", status)
        config = WebhookConfig(endpoint=httpserver.url_for("/hook"), **options)
        exporters.append(WebhookExporter(config, ManualClock(1_700_000_000.0)))
        return exporters[-1]

    yield make
    for exporter in exporters:
        exporter.close()


def test_a_faulty_run_is_posted_with_its_stages(httpserver, connect):
    """One object: the run, and of each stage the verdict, why, and on which span."""
    assert connect().export(judged_payload()) == ExportOutcome(3)
    ((request, _),) = httpserver.log
    message = request.get_json()
    assert message["type"] == "raglog.run"
    assert message["run_id"] == message["trace_id"] == TRACE_ID.hex()
    assert (message["service"], message["verdict"]) == ("shop", "faulty")
    assert message["first_faulty_stage"] == "retriever"
    retriever = message["stages"]["retriever"]
    assert (retriever["verdict"], retriever["span_id"]) == ("faulty", RETRIEVER.hex())
    assert retriever["fault_types"] == ["no_relevant_chunk"]
    assert message["stages"]["generator"]["verdict"] == "ok"


def test_runs_without_a_fault_are_posted_on_request(httpserver, connect):
    """By default they are not."""
    fine = judged_payload(report=make_report())
    connect().export(fine)
    assert httpserver.log == []
    connect(verdicts="all").export(fine)
    assert httpserver.log[0][0].get_json()["verdict"] == "ok"


def test_the_signature_is_of_id_time_and_body(httpserver, connect):
    """As Standard Webhooks has it, so that any of its libraries verifies it."""
    connect(secret=SECRET).export(judged_payload())
    request, _ = httpserver.log[0]
    identifier, stamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    assert stamp == "1700000000"
    signed = f"{identifier}.{stamp}.".encode() + request.data
    digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def test_a_key_in_that_specification_s_form_is_base64(httpserver, connect):
    """It begins with whsec_."""
    key = bytes(range(24))
    connect(secret="whsec_" + base64.b64encode(key).decode()).export(judged_payload())
    request, _ = httpserver.log[0]
    signed = f"{request.headers['webhook-id']}.1700000000.".encode() + request.data
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"


def test_a_run_has_one_id_and_a_later_verdict_another(httpserver, connect):
    """Who got it already can leave it out."""
    exporter = connect()
    exporter.export(judged_payload())
    exporter.export(judged_payload())
    exporter.export(later_payload())
    first, again, later = (request.headers["webhook-id"] for request, _ in httpserver.log)
    assert first == again != later
    assert json.loads(httpserver.log[2][0].data)["supersedes"] == "rules-1"


def test_an_address_that_is_busy_is_tried_again(connect):
    """The journal keeps the run."""
    with pytest.raises(Unavailable):
        connect(status=503).export(judged_payload())


@pytest.mark.parametrize("secret", ["short", "whsec_%%%", "whsec_AAAA"])
def test_a_weak_or_broken_secret_is_refused_unquoted(secret):
    """The error does not repeat it."""
    with pytest.raises(ConfigError, match="secret") as caught:
        WebhookExporter(WebhookConfig("http://127.0.0.1:1/hook", secret=secret))
    assert secret not in str(caught.value)

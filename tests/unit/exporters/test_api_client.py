"""One client for the APIs of backends."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug import Response

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.api_client import ApiClient, Refusals, checked_endpoint, secret_of
from otel_raglog_exporters.endpoint import TlsConfig


@pytest.fixture
def client(httpserver):
    """A client of the server, closed afterwards."""
    found = ApiClient(
        httpserver.url_for("/base/"), {"X-Tenant": "a"}, timeout_seconds=5.0, clock=ManualClock()
    )
    yield found
    found.close()


def test_json_goes_out_and_comes_back(httpserver, client):
    """Below the endpoint's own path, with the configured headers."""
    httpserver.expect_request("/base/x", method="POST").respond_with_json({"a": 1}, 201)
    answer = client.post("/x", {"b": "\u00e9", "c": None})
    assert (answer.status, answer.body) == (201, {"a": 1})
    request, _ = httpserver.log[0]
    assert request.data == '{"b":"\u00e9","c":null}'.encode()
    assert request.headers["X-Tenant"] == "a"
    assert request.headers["Content-Type"] == "application/json"


def test_text_without_a_utf_8_form_is_sent_all_the_same(httpserver, client):
    """Lone halves of a character come from JSON escapes."""
    httpserver.expect_request("/base/x").respond_with_json({})
    client.post("/x", {"a": "\ud800"})
    assert httpserver.log[0][0].get_json() == {"a": "?"}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_unavailable(httpserver, client, status):
    """With the time that the server asks for."""
    response = Response("busy", status, {"Retry-After": "7"})
    httpserver.expect_request("/base/x").respond_with_response(response)
    with pytest.raises(Unavailable, match="busy") as caught:
        client.post("/x", {})
    assert caught.value.retry_after_seconds == 7


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_what_will_not_pass_is_rejected(httpserver, client, status):
    """A redirect too: it would take the key elsewhere."""
    headers = {"Location": "http://127.0.0.1:1/"}
    httpserver.expect_request("/base/x").respond_with_response(Response("no", status, headers))
    with pytest.raises(Rejected) as caught:
        client.post("/x", {})
    assert caught.value.reason == f"http_{status}"


def test_a_status_that_is_expected_is_an_answer(httpserver, client):
    """Such as: there is none."""
    httpserver.expect_request("/base/x").respond_with_data("none", 404)
    answer = client.send("GET", "/x", expected=frozenset({404}))
    assert (answer.status, answer.body) == (404, None)


def test_a_web_page_is_no_api(httpserver, client):
    """A proxy's login page would swallow everything."""
    httpserver.expect_request("/base/x").respond_with_data("<html>", content_type="text/html")
    with pytest.raises(Unavailable, match="web page"):
        client.post("/x", {})


def test_nobody_there_is_unavailable(client, httpserver):
    """So is a client that was closed."""
    gone = ApiClient("http://127.0.0.1:9", {}, timeout_seconds=1.0)
    with pytest.raises(Unavailable):
        gone.post("/x", {})
    gone.close()
    with pytest.raises(Unavailable, match="closed"):
        gone.post("/x", {})


@pytest.mark.parametrize(
    "endpoint",
    ["h", "ftp://h", "http://", "http://h:port", "http://h?a=b", "http://h#a", "http://u:p@h"],
)
def test_an_address_that_is_none_is_refused(endpoint):
    """The error names the option."""
    with pytest.raises(ConfigError, match="endpoint"):
        checked_endpoint(endpoint, None)


@pytest.mark.parametrize(
    "endpoint", ["http://h/SECRET?a=SECRET", "http://h/SECRET#SECRET", "http://h:SECRET/", "SECRET"]
)
def test_an_address_is_not_quoted_beyond_its_host(endpoint):
    """A webhook's path is its secret."""
    with pytest.raises(ConfigError) as caught:
        checked_endpoint(endpoint, None)
    assert "/SECRET" not in str(caught.value)
    assert "a=SECRET" not in str(caught.value)


def test_plain_text_with_tls_is_refused():
    """One of both is not meant."""
    with pytest.raises(ConfigError, match="https"):
        checked_endpoint("http://h", TlsConfig())


def test_a_secret_comes_from_one_place(tmp_path):
    """From the option or from a file, without the line's end."""
    file = tmp_path / "key"
    file.write_text("s3\n")
    assert secret_of("key", "", None) == ""
    assert secret_of("key", "s2", None) == "s2"
    assert secret_of("key", "", file) == "s3"
    with pytest.raises(ConfigError, match="key_file"):
        secret_of("key", "s2", file)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff"])
def test_a_file_without_a_secret_is_refused(tmp_path, content):
    """So is one that is not there."""
    file = tmp_path / "key"
    file.write_bytes(content)
    for path in (file, Path("/no/such/file")):
        with pytest.raises(ConfigError, match="key_file"):
            secret_of("key", "", path)


def test_a_refusal_costs_itself_and_is_counted():
    """The others go on; of several the first is quoted."""
    refusals = Refusals()

    def refuse():
        raise Rejected("HTTP 422: no", "http_422")

    assert refusals.attempt(lambda: None)
    assert not refusals.attempt(refuse)
    assert not refusals.attempt(refuse)
    outcome = refusals.outcome(Payload(Signal.TRACES, b"x", 5))
    assert (outcome.accepted, outcome.rejected) == (3, 2)
    assert outcome.message == "2 refused, first: HTTP 422: no"
    assert Refusals().outcome(Payload(Signal.TRACES, b"x", 5)).accepted == 5


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_refusal_of_the_caller_is_one_of_everything(status):
    """A wrong key or address: nothing would be taken, and nothing is to be lost by that."""

    def refuse():
        raise Rejected("no", f"http_{status}")

    with pytest.raises(Rejected):
        Refusals().attempt(refuse)

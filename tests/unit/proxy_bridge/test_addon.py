"""mitmproxy's flows, captured."""

from __future__ import annotations

import logging
import warnings

import pytest

pytest.importorskip("mitmproxy")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of what mitmproxy itself imports
    from mitmproxy import exceptions, http
    from mitmproxy.proxy.mode_specs import ProxyMode
    from mitmproxy.test import taddons, tflow, tutils

from otel_raglog_proxy_bridge.addon import RaglogCapture
from otel_raglog_proxy_bridge.addon_options import OPTIONS
from otel_raglog_proxy_bridge.model import Side


class NotingWorker:
    """Notes what the add-on hands over."""

    def __init__(self) -> None:
        self.events = []
        self.calls = []

    def begin(self, call_id, started_ns, side, traceparent=""):
        self.events.append(("begin", side, traceparent))

    def put(self, raw):
        self.events.append(("put", raw.side))
        self.calls.append(raw)

    def forget(self, call_id):
        self.events.append(("forget", call_id))


@pytest.fixture
def capture():
    addon = RaglogCapture()
    with taddons.context(addon) as context:
        addon.context = context
        addon.worker = NotingWorker()
        yield addon


def flow_of(mode: str = "regular", url: str = "http://api/v1/chat", **headers: str):
    flow = tflow.tflow(req=tutils.treq(content=b'{"q": 1}'))
    flow.request.method = "POST"
    flow.request.url = url
    flow.request.headers = http.Headers(
        [(b"content-type", b"application/json"), (b"content-length", b"8")]
    )
    for name, value in headers.items():
        flow.request.headers[name.replace("_", "-")] = value
    flow.client_conn.proxy_mode = ProxyMode.parse(mode)
    return flow


def answered(flow, content: bytes = b'{"a": 2}', status: int = 200, **headers: str):
    flow.response = http.Response.make(status, content, {"content-type": "application/json"})
    for name, value in headers.items():
        flow.response.headers[name.replace("_", "-")] = value
    return flow


def test_a_call(capture):
    """A flow becomes one call with everything that was on the wire."""
    flow = flow_of(authorization="Bearer x")
    capture.requestheaders(flow)
    capture.responseheaders(answered(flow))
    capture.response(flow)
    (call,) = capture.worker.calls
    assert capture.worker.events == [("begin", Side.OUTBOUND, ""), ("put", Side.OUTBOUND)]
    assert (call.method, call.url, call.status) == ("POST", "http://api/v1/chat", 200)
    assert (call.request_body, call.response_body) == (b'{"q": 1}', b'{"a": 2}')
    assert ("authorization", "Bearer x") in call.request_headers
    assert call.client == "127.0.0.1:22"
    assert call.started_ns <= call.ended_ns
    assert not flow.request.stream
    assert not flow.response.stream
    assert "traceparent" not in flow.request.headers


def test_the_front(capture):
    """A reverse proxy's flow is the pipeline's own API; it gets a traceparent, and keeps its own."""
    flow = flow_of("reverse:http://app:80")
    capture.requestheaders(flow)
    made = flow.request.headers["traceparent"]
    assert capture.worker.events == [("begin", Side.FRONT, made)]
    assert [len(part) for part in made.split("-")] == [2, 32, 16, 2]
    own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    flow = flow_of("reverse:http://app:80", traceparent=own)
    capture.requestheaders(flow)
    assert flow.request.headers["traceparent"] == own
    capture.context.configure(capture, raglog_inject_traceparent=False)
    flow = flow_of("reverse:http://app:80")
    capture.requestheaders(flow)
    assert "traceparent" not in flow.request.headers


def test_streams(capture):
    """An event stream passes on in chunks, and is put together for the call."""
    flow = flow_of()
    capture.requestheaders(flow)
    answered(flow, b"", content_type="text/event-stream")
    capture.responseheaders(flow)
    for chunk in (b"data: 1\n\n", b"data: 2\n\n", b""):
        assert flow.response.stream(chunk) == chunk
    capture.response(flow)
    assert capture.worker.calls[0].response_body == b"data: 1\n\ndata: 2\n\n"


def test_large_uploads(capture):
    """A request without a length, or a long one, passes on in chunks; what is kept has a limit."""
    capture.context.configure(capture, raglog_max_body_bytes=4)
    flow = flow_of(content_length="300000")
    capture.requestheaders(flow)
    assert flow.request.stream(b"abcdef") == b"abcdef"
    capture.response(answered(flow))
    (call,) = capture.worker.calls
    assert (call.request_body, call.response_body) == (b"abcd", b'{"a"')
    assert call.cut == {"request", "response"}


def test_an_answer_that_another_add_on_made(capture):
    """mitmproxy cannot stream a request that is answered already: it is left alone."""
    flow = answered(flow_of(content_length="300000"))
    capture.requestheaders(flow)
    assert not flow.request.stream


def test_broken_connections(capture):
    """A call whose connection broke says so, with what had come by then."""
    flow = flow_of()
    capture.requestheaders(flow)
    capture.responseheaders(answered(flow, b"", content_type="text/event-stream"))
    flow.response.stream(b"data: 1")
    flow.error = tflow.terr("it broke")
    capture.error(flow)
    (call,) = capture.worker.calls
    assert (call.error, call.response_body, call.cut) == ("it broke", b"data: 1", {"response"})
    capture.response(flow)
    assert len(capture.worker.calls) == 1


def test_no_answer(capture):
    """A call without an answer has no status."""
    flow = flow_of()
    capture.requestheaders(flow)
    flow.error = tflow.terr("refused")
    capture.error(flow)
    assert capture.worker.calls[0].status is None


def test_web_sockets_are_forgotten(capture):
    """A connection that becomes a web socket is no call."""
    flow = flow_of()
    capture.requestheaders(flow)
    capture.response(answered(flow, status=101))
    assert capture.worker.events[1:] == [("forget", flow.id)]


def test_what_is_not_captured(capture):
    """Telemetry, the sidecar's own traffic, CONNECT and ignored hosts are left alone."""
    capture.context.configure(capture, raglog_ignore_hosts=[r"\.internal$"])
    flows = [
        flow_of(url="http://otel:4318/v1/traces"),
        flow_of(url="http://127.0.0.1:4318/v1/logs"),
        flow_of(url="http://db.internal/query", content_length="300000"),
    ]
    connect = flow_of()
    connect.request.method = "CONNECT"
    for flow in [*flows, connect]:
        capture.requestheaders(flow)
        capture.responseheaders(answered(flow, content_type="text/event-stream"))
        capture.response(flow)
        assert not flow.request.stream
        assert not flow.response.stream
    assert capture.worker.events == []


def test_hooks_never_raise(capture, caplog):
    """What goes wrong in a hook is counted, and logged once without a word of the flow."""

    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("secret of the flow")

    capture.worker = Broken()
    for _ in range(3):
        capture.requestheaders(flow_of())
    assert capture.counts["hook_errors_RuntimeError"] == 3
    assert caplog.text.count("requestheaders failed: RuntimeError at ") == 1
    assert "secret of the flow" not in caplog.text


@pytest.mark.parametrize(
    ("counts", "level"),
    [
        ({"calls": 4, "spans_sent": 5}, "ALERT"),
        ({"calls": 4, "spans_dropped_shutdown": 5}, "WARNING"),
        ({"spans_rejected": 1}, "WARNING"),
        ({"lost_at_most": 1}, "WARNING"),
        ({"spans_dropped_shutdown": 0}, "ALERT"),
    ],
)
def test_what_was_lost_is_told_at_the_end(capture, caplog, counts, level):
    """At any verbosity that warnings have; the counts alone where single calls are not told."""
    caplog.set_level(logging.INFO)
    capture.worker.counts, capture.worker.close = counts, lambda _seconds: None
    capture.done()
    (record,) = caplog.records
    assert record.levelname == level
    assert all(f"{name} {count}" in record.message for name, count in counts.items())


def test_before_it_runs():
    """Flows before the start pass by."""
    addon = RaglogCapture()
    with taddons.context(addon):
        addon.requestheaders(flow_of())
        addon.response(answered(flow_of()))
        addon.done()
    assert not addon.counts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raglog_endpoint", "nowhere"),
        ("raglog_redact", ["("]),
        ("raglog_headers", ["cookie"]),
        ("raglog_quiet_seconds", "soon"),
        ("raglog_max_body_bytes", 0),
    ],
)
def test_wrong_options(capture, name, value):
    """mitmproxy is told which option is wrong."""
    with pytest.raises(exceptions.OptionsError, match=f"^{name}: "):
        capture.context.configure(capture, **{name: value})


def test_options_are_declared(capture):
    """mitmproxy knows each option with its default."""
    for option in OPTIONS:
        assert getattr(capture.context.options, option.name) == option.default

"""mitmproxy's flow files are read without mitmproxy, and as mitmproxy itself reads them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from flow_files import dumps, http_flow
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files import flows
from otel_raglog_proxy_bridge.capture_files.raw_values import DamagedItem
from otel_raglog_proxy_bridge.model import Side

SHARED = Path(__file__).parents[5] / "shared" / "traces" / "llama-index-rag.mitm"


def call(**changes):
    """Return the call of a flow with ``changes``."""
    return flows.call_of(http_flow(**changes))


def read(*states):
    """Return what is read of a file of ``states``."""
    return list(flows.read(b"".join(map(dumps, states))))


def test_a_flow_is_read():
    """Request, answer, times to the microsecond, connection and id are those of the flow."""
    (found,) = read(http_flow())
    assert found.id == "flow-1"
    assert (found.method, found.status) == ("POST", 200)
    assert found.url == "https://api.example.com/v1/embeddings?x=1"
    assert found.request_headers == (
        ("Host", "api.example.com"),
        ("Content-Type", "application/json"),
    )
    assert found.response_headers == (("content-type", "application/json"),)
    assert (found.request_body, found.response_body) == (b'{"input":"hi"}', b'{"data":[]}')
    assert (found.started_ns, found.ended_ns) == (1795982981_250000000, 1795982983_125000000)
    assert (found.side, found.client, found.error) == (Side.OUTBOUND, "127.0.0.1:4001", "")


def test_a_reverse_proxy_stands_in_front():
    """Only a connection to a reverse proxy is a call to the pipeline's own API."""
    modes = ["reverse:http://localhost:8000", "regular", "transparent", "upstream:http://up", None]
    assert [call(client_conn={"proxy_mode": mode}).side for mode in modes] == [
        Side.FRONT,
        *[Side.OUTBOUND] * 4,
    ]


def test_flows_of_mitmproxy_7_are_read():
    """A state without the fields that came later is read alike."""
    state = http_flow(version=12, mode="regular")
    state["client_conn"] = {"id": "conn-7", "address": ["127.0.0.1", 4000]}
    for key in ("comment", "websocket"):
        del state[key]
    (found,) = read(state)
    assert (found.status, found.client, found.side) == (200, "127.0.0.1:4000", Side.OUTBOUND)


def test_a_flow_without_a_response_says_why():
    """No answer is no status; the error's text and time are those of the call."""
    error = {"msg": "Connection killed.", "timestamp": 1795982984.0}
    found = call(response=None, error=error)
    assert (found.status, found.error) == (None, "Connection killed.")
    assert (found.ended_ns, found.response_body) == (1795982984_000000000, b"")


def test_a_call_without_an_end_ends_where_it_began():
    """A flow saved while it was under way has no time but its first."""
    found = call(response=None)
    assert found.ended_ns == found.started_ns


def test_an_answer_that_broke_off_is_cut():
    """Its body is what came before the connection failed."""
    assert call(error={"msg": "peer closed"}).cut == {"response"}
    assert call().cut == call(response=None, error={"msg": "refused"}).cut == frozenset()


def test_a_client_without_an_address_is_told_by_its_connection():
    """A name that tells connections apart is enough."""
    assert call(client_conn={"peername": None}).client == "conn-1"


def test_the_url_names_the_host_that_was_asked_for():
    """A transparent proxy sees addresses; the Host header, or HTTP/2's authority, tells the name."""
    headers = [[b"content-type", b"text/plain"]]
    request = {"headers": headers, "path": b"/a"}
    assert call(request=request).url == "https://10.0.0.7/a"
    assert call(request={**request, "port": 8443}).url == "https://10.0.0.7:8443/a"
    assert call(request={**request, "host": "::1", "port": 1}).url == "https://[::1]:1/a"
    two = {**request, "http_version": b"HTTP/2.0", "authority": b"api.example.org:444"}
    assert call(request=two).url == "https://api.example.org:444/a"
    odd = {**request, "headers": [[b"host", b"evil/../@x"]]}
    assert call(request=odd).url == "https://10.0.0.7/a"
    assert call(request={"path": b"*"}).url == "https://api.example.com"


def test_other_flows_are_left_out_and_counted():
    """TCP, UDP, DNS, WebSockets and tunnels hold no HTTP call: a sentence for each kind."""
    tunnel = http_flow(request={"method": b"CONNECT"})
    socket = http_flow(websocket={"messages": []})
    found = read(
        {"type": "tcp", "messages": []},
        http_flow(),
        {"type": "dns"},
        {"type": "tcp"},
        socket,
        tunnel,
        {"type": "sk-secret"},
    )
    assert [item for item in found if isinstance(item, str)] == [
        "1 CONNECT flow left out: it holds no HTTP call",
        "1 dns flow left out: it holds no HTTP call",
        "2 tcp flows left out: they hold no HTTP call",
        "1 unknown flow left out: it holds no HTTP call",
        "1 websocket flow left out: it holds no HTTP call",
    ]
    assert len(found) == 6


def test_the_comment_is_not_read():
    """What someone wrote about a flow changes nothing."""
    assert call(comment="stage=llm") == call(comment="") == call(metadata={"rag_stage": "llm"})


def test_damage_is_named_and_the_rest_is_read():
    """A flow that is broken, and a tail that was cut, cost themselves alone."""
    no_request = http_flow(request=None)
    no_url = http_flow(request={"scheme": b""})
    content = b"".join(map(dumps, (no_request, no_url, [1], http_flow(), http_flow())))
    found = list(flows.read(content[:-10]))
    assert found[:3] == [
        "flow 1 is damaged: it has no request",
        "flow 2 is damaged: its URL is not absolute, of http or https",
        "flow 3 is damaged: it is no dictionary",
    ]
    assert found[3].id == "flow-1"
    assert found[4].startswith("flow 5 is damaged: cut short")
    assert found[4].endswith("; nothing after it can be read")
    assert len(found) == 5


def test_flow_files_are_told_by_their_first_bytes():
    """Whatever the name; a name alone does for what is binary, not for JSON."""
    content = dumps(http_flow())
    assert flows.matches("", content)
    assert flows.matches(".jsonl", content[:100])
    assert flows.matches(".mitm", b"\x00damaged")
    assert not flows.matches(".bin", b"\x0a\x10protobuf")
    assert not flows.matches(".flow", b'{"log": {}}')


def test_parts_of_another_type_are_missing():
    """A request that cannot be told is damage; anything else of no shape is as if it were not there."""
    odd = {"response": 3, "error": "x", "client_conn": None}
    assert flows.call_of({**http_flow(), **odd}).status is None
    for state in ({}, {"request": 1}, http_flow(request={"method": 5})):
        with pytest.raises(DamagedItem):
            flows.call_of({**state, **odd})


@given(
    st.dictionaries(
        st.sampled_from(["method", "scheme", "path", "host", "port", "headers", "content"])
        | st.sampled_from(["timestamp_start", "http_version", "authority"]),
        st.none()
        | st.binary(max_size=8)
        | st.text(max_size=8)
        | st.integers()
        | st.floats()
        | st.lists(st.lists(st.binary(max_size=4), max_size=3), max_size=3),
    )
)
def test_odd_values_never_raise(request):
    """A flow of any values is a call or a sentence."""
    (found,) = read(http_flow(request=request, response=dict(request, status_code=200)))
    assert found


def test_mitmproxy_reads_the_same_flows():
    """A file that mitmproxy wrote gives the URLs, bodies, times and ids that it reads itself."""
    pytest.importorskip("mitmproxy")
    from mitmproxy.io import FlowReader, FlowWriter
    from mitmproxy.test import tflow, tutils

    request = tutils.treq(host="api.example.com", port=8080, content=b"\x1f\x8b raw")
    request.headers["content-encoding"] = "gzip"
    request.headers["host"] = "api.example.com:8080"
    written = [
        tflow.tflow(req=request, resp=tutils.tresp(content=b"\x00\xff")),
        tflow.ttcpflow(),
        tflow.tdnsflow(),
        tflow.twebsocketflow(),
        tflow.tflow(err=True),
    ]
    file = io.BytesIO()
    writer = FlowWriter(file)
    for flow in written:
        writer.add(flow)
    expected = [written[0], written[-1]]
    _assert_same(expected, file.getvalue())
    again = list(FlowReader(io.BytesIO(file.getvalue())).stream())
    _assert_same([again[0], again[-1]], file.getvalue())


@pytest.mark.skipif(
    not SHARED.is_file(), reason="../shared/traces, beside the project, is not here"
)
def test_a_real_file_reads_as_mitmproxy_reads_it():
    """All 70 HTTP flows of a real application, and the TCP flow counted."""
    content = SHARED.read_bytes()
    found = list(flows.read(content))
    assert found[-1] == "1 tcp flow left out: it holds no HTTP call"
    assert len(found) == 71
    pytest.importorskip("mitmproxy")
    from mitmproxy.io import FlowReader

    _assert_same(
        [flow for flow in FlowReader(io.BytesIO(content)).stream() if flow.type == "http"], content
    )


def _assert_same(expected, content):
    calls = [item for item in flows.read(content) if not isinstance(item, str)]
    for flow, found in zip(expected, calls, strict=True):
        assert found.id == flow.id
        assert found.method == flow.request.method
        assert found.url == flow.request.pretty_url
        assert found.request_headers == tuple(flow.request.headers.items(multi=True))
        assert found.request_body == flow.request.raw_content
        assert found.started_ns == round(flow.request.timestamp_start * 1e6) * 1000
        assert found.error == (flow.error.msg if flow.error else "")
        assert found.client == ":".join(map(str, flow.client_conn.peername[:2]))
        if flow.response is None:
            assert found.status is None
        else:
            assert found.status == flow.response.status_code
            assert found.response_body == flow.response.raw_content
            assert found.ended_ns == round(flow.response.timestamp_end * 1e6) * 1000

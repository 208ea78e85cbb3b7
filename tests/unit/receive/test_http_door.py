"""OTLP over real HTTP, served by uvicorn."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
from collections.abc import Callable, Iterator

import httpx2
import pytest
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.model import Signal
from otel_raglog.receive.auth import Tokens
from otel_raglog.receive.headers import AllowList
from otel_raglog.receive.http_door import JSON, PROTOBUF, build_http_app
from otel_raglog.receive.intake import Intake
from otel_raglog.web.server import HttpServer

MIB = 1024 * 1024
JSON_SPAN = json.dumps(
    {
        "resourceSpans": [
            {
                "scopeSpans": [
                    {"spans": [{"traceId": "ab" * 16, "spanId": "cd" * 8}, {"traceId": "ab"}]}
                ]
            }
        ]
    }
).encode()


@pytest.fixture
def open_door(make_intake: Callable[..., Intake], stopping) -> Iterator[Callable[..., object]]:
    """Opens a door with the given limits and returns a client of it."""
    clients: list[httpx2.Client] = []

    def open_one(options: dict | None = None, **limits: object) -> httpx2.Client:
        usual = {"signals": list(Signal), "headers": AllowList(), "request_timeout_seconds": 30.0}
        app = build_http_app(make_intake(**limits), **{**usual, **(options or {})})
        server = stopping(HttpServer(app, "127.0.0.1", 0))
        clients.append(httpx2.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=30))
        return clients[-1]

    yield open_one
    for client in clients:
        client.close()


@pytest.fixture
def post(open_door) -> Callable[..., httpx2.Response]:
    """Posts a body to a door of default limits."""
    client = open_door()

    def post_body(body: object, media_type: str | None = PROTOBUF, **headers: str):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if media_type is not None:
            sent["content-type"] = media_type
        return client.post("/v1/traces", content=body, headers=sent)

    return post_body


def status_of(response: httpx2.Response) -> Status:
    """Return the protobuf status of an error, after checking its type."""
    assert response.headers["content-type"] == PROTOBUF
    return Status.FromString(response.content)


def test_protobuf_is_accepted(post, one_span: bytes, inbox) -> None:
    """Full success is an empty response of the request's type."""
    response = post(one_span)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == PROTOBUF
    assert inbox.items == 1


def test_json_is_accepted_in_part(post, inbox) -> None:
    """The answer is JSON, and says how many spans were rejected and why."""
    response = post(JSON_SPAN, "application/json; charset=utf-8")
    assert response.status_code == 200
    assert response.headers["content-type"] == JSON
    assert response.json() == {
        "partialSuccess": {"rejectedSpans": "1", "errorMessage": "invalid_trace_id: 1"}
    }
    assert inbox.items == 1


@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("body", [b"", None])
def test_an_empty_body_succeeds(body, media_type: str, post) -> None:
    """Zero spans are a full success, without partial success."""
    response = post(body, media_type)
    assert response.status_code == 200
    if media_type == PROTOBUF:
        assert ExportTraceServiceResponse.FromString(response.content) == (
            ExportTraceServiceResponse()
        )
    else:
        assert response.json() == {}


@pytest.mark.parametrize(
    ("media_type", "body"), [(PROTOBUF, b"\xff\xff"), (PROTOBUF, b"\x0a\x05abc"), (JSON, b"{")]
)
def test_bad_data_is_a_400_with_a_status(media_type: str, body: bytes, post, observer) -> None:
    """The body is a google.rpc.Status in the request's type, and the request is counted."""
    response = post(body, media_type)
    assert response.status_code == 400
    if media_type == PROTOBUF:
        assert status_of(response).code == Code.INVALID_ARGUMENT
    else:
        assert response.json()["code"] == Code.INVALID_ARGUMENT
    assert observer.reasons == {"malformed": 1}


def test_deep_nesting_is_a_400(post, nest) -> None:
    """In protobuf and in JSON."""
    assert post(nest(1000)).status_code == 400
    assert post(b'{"resourceSpans":' + b"[" * 100_000, JSON).status_code == 400


@pytest.mark.parametrize("media_type", [None, "text/plain", "application/x-protobuf-not"])
def test_another_content_type_is_a_415(media_type: str | None, post, one_span: bytes) -> None:
    """The answer names the types that are known."""
    response = post(one_span, media_type)
    assert response.status_code == 415
    assert PROTOBUF in response.json()["message"]


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE", "HEAD"])
def test_another_method_is_a_405(method: str, open_door) -> None:
    """Exports are posted."""
    response = open_door().request(method, "/v1/traces", headers={"content-type": PROTOBUF})
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/", "/v1/profiles", "/v1/traces/"])
def test_another_path_is_a_404(path: str, open_door) -> None:
    """With a status that says so."""
    response = open_door().post(path, headers={"content-type": PROTOBUF})
    assert response.status_code == 404
    assert status_of(response).code == Code.NOT_FOUND


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "identity", ""])
def test_known_encodings_are_accepted(encoding: str, post, one_span: bytes, inbox) -> None:
    """gzip in any case, and none."""
    body = gzip.compress(one_span) if encoding.lower() == "gzip" else one_span
    assert post(body, content_encoding=encoding).status_code == 200
    assert inbox.items == 1


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_an_unknown_encoding_is_a_400(encoding: str, post, one_span: bytes) -> None:
    """The answer names the encodings that are known."""
    response = post(one_span, content_encoding=encoding)
    assert response.status_code == 400
    assert "gzip" in status_of(response).message


@pytest.mark.parametrize("body", [b"", b"garbage", gzip.compress(b"x" * 1000, mtime=0)[:-5]])
def test_broken_gzip_is_a_400(body: bytes, post, observer) -> None:
    """Cut or foreign data is not half read."""
    assert post(body, content_encoding="gzip").status_code == 400
    assert observer.reasons == {"malformed": 1}


def test_a_bomb_is_a_413(open_door, observer) -> None:
    """The limit holds for what gzip inflates to."""
    response = open_door(max_request_bytes=MIB).post(
        "/v1/traces",
        content=gzip.compress(bytes(64 * MIB)),
        headers={"content-type": PROTOBUF, "content-encoding": "gzip"},
    )
    assert response.status_code == 413
    assert status_of(response).code == Code.RESOURCE_EXHAUSTED
    assert observer.reasons == {"too_large": 1}


def test_millions_of_spans_are_a_413(post, hostile_spans: bytes) -> None:
    """The span limit answers like the byte limit."""
    assert post(hostile_spans).status_code == 413


HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"


def connect(client: httpx2.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port), 30)


def read_all(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


def raw_exchange(client: httpx2.Client, sent: bytes) -> bytes:
    """Send bytes and return all that comes until the server closes the connection."""
    with connect(client) as connection:
        connection.sendall(sent)
        return read_all(connection)


def test_a_declared_length_beyond_the_limit_is_a_413_at_once(open_door) -> None:
    """Not a byte of the body is waited for, and the connection is closed."""
    head = HEAD + b"Content-Length: 999999999\r\n\r\n"
    assert raw_exchange(open_door(), head).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_beyond_the_limit_is_a_413(open_door) -> None:
    """Reading stops at the limit: the body's end never comes."""
    sent = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"400\r\n" + bytes(1024) + b"\r\n") * 3
    answer = raw_exchange(open_door(max_request_bytes=2048), sent)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_full_inbox_is_a_503_with_retry_after(post, one_span, inbox) -> None:
    """Whole seconds, rounded up."""
    inbox.retry_after_seconds = 2.1
    response = post(one_span)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "3"
    assert status_of(response).code == Code.UNAVAILABLE


@pytest.mark.parametrize("signal", list(Signal))
def test_every_signal_has_its_path(signal: Signal, open_door, bodies, inbox) -> None:
    """Each body arrives as it was sent."""
    response = open_door().post(
        f"/v1/{signal}", content=bodies[signal], headers={"content-type": PROTOBUF}
    )
    assert (response.status_code, response.content) == (200, b"")
    (arrival,) = inbox.arrivals
    assert (arrival.signal, arrival.body, arrival.items) == (signal, bodies[signal], 1)


def test_logs_in_json_arrive_in_protobuf(open_door, inbox) -> None:
    """One encoding is kept, so that bodies can be joined."""
    response = open_door().post(
        "/v1/logs",
        content=b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1"}]}]}]}',
        headers={"content-type": JSON},
    )
    assert response.json() == {}
    record = ExportLogsServiceRequest.FromString(inbox.arrivals[0].body)
    assert record.resource_logs[0].scope_logs[0].log_records[0].time_unix_nano == 1


def test_a_signal_that_no_destination_takes_is_a_404(open_door, bodies) -> None:
    """The message says what to look at; the others are served."""
    client = open_door({"signals": {Signal.TRACES}})
    headers = {"content-type": PROTOBUF}
    response = client.post("/v1/logs", content=bodies[Signal.LOGS], headers=headers)
    assert response.status_code == 404
    assert "no destination takes logs" in status_of(response).message
    assert (
        client.post("/v1/traces", content=bodies[Signal.TRACES], headers=headers).status_code == 200
    )


def test_allowed_headers_travel_on(open_door, one_span, inbox) -> None:
    """Headers that are not on the list stay behind."""
    client = open_door({"headers": AllowList(["x-scope-orgid"])})
    sent = {"X-Scope-OrgID": "tenant", "Authorization": "secret", "X-Other": "1"}
    client.post("/v1/traces", content=one_span, headers={"content-type": PROTOBUF, **sent})
    assert inbox.arrivals[0].headers == (("x-scope-orgid", "tenant"),)


def test_an_absurd_value_of_an_allowed_header_is_a_400(
    open_door, one_span, inbox, observer
) -> None:
    """The message names the header and not its value; nothing is accepted for another tenant."""
    client = open_door({"headers": AllowList(["x-scope-orgid"])})
    sent = {"content-type": PROTOBUF, "x-scope-orgid": b"ten\xe4nt"}
    response = client.post("/v1/traces", content=one_span, headers=sent)
    assert response.status_code == 400
    assert status_of(response).message == "header x-scope-orgid: not printable ASCII"
    assert (observer.reasons, inbox.items) == ({"malformed": 1}, 0)


def test_a_loop_is_a_400(post, one_span, observer) -> None:
    """What went through this instance before must not go round for ever."""
    response = post(one_span, x_otel_raglog_via="other, me")
    assert response.status_code == 400
    assert "loop" in status_of(response).message
    assert observer.reasons == {"loop": 1}


def test_without_memory_a_request_is_turned_away_unread(open_door, observer) -> None:
    """The answer comes before the body."""
    client = open_door(why_refuse=lambda size: "no memory" if size > 10 else None)
    answer = raw_exchange(client, HEAD + b"Content-Length: 100\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in answer
    assert observer.reasons == {"unavailable": 1}


def test_a_body_that_takes_too_long_is_a_408(open_door, one_span) -> None:
    """Others are served meanwhile, and the connection is closed."""
    client = open_door({"request_timeout_seconds": 0.3})
    with connect(client) as slow:
        slow.sendall(HEAD + b"Content-Length: 100\r\n\r\nabc")
        served = client.post("/v1/traces", content=one_span, headers={"content-type": PROTOBUF})
        assert served.status_code == 200
        assert read_all(slow).startswith(b"HTTP/1.1 408 ")


def test_bodies_in_memory_are_bounded(open_door, one_span) -> None:
    """Beyond the bound a body is refused unread; the one that is being read gets its time."""
    client = open_door({"max_body_bytes": 1000})
    with connect(client) as slow:
        slow.sendall(HEAD + b"Content-Length: 950\r\n\r\n" + bytes(900))
        second = HEAD + b"Content-Length: 500\r\n\r\n"
        answer = b""
        while not answer.startswith(b"HTTP/1.1 503 "):
            with connect(client) as other:  # until the first has been read so far
                other.sendall(second)
                other.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    answer = other.recv(65536)
        slow.sendall(bytes(50))
        assert slow.recv(65536).startswith(b"HTTP/1.1 400 ")
    headers = {"content-type": PROTOBUF}
    assert client.post("/v1/traces", content=one_span, headers=headers).status_code == 200


def test_a_large_body_alone_is_read_whatever_the_bound(open_door, one_span) -> None:
    """It must not be refused for ever."""
    client = open_door({"max_body_bytes": 1})
    headers = {"content-type": PROTOBUF}
    assert client.post("/v1/traces", content=one_span, headers=headers).status_code == 200


def test_a_client_that_goes_away_disturbs_nobody(open_door, one_span: bytes) -> None:
    """Half a request is dropped, the next one is served."""
    client = open_door()
    with connect(client) as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\nabc")
    response = client.post("/v1/traces", content=one_span, headers={"content-type": PROTOBUF})
    assert response.status_code == 200


TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer wrong-0123456789"}])
@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
def test_without_the_token_nothing_comes_in(header, media_type, open_door, inbox, observer) -> None:
    """401 in the request's type, counted, and the body stays unread."""
    client = open_door({"tokens": Tokens([TOKEN])})
    headers = {"content-type": media_type, **header}
    answer = client.post("/v1/traces", content=b"no OTLP at all", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["connection"] == "close"
    assert b"receive.auth" in answer.content
    assert TOKEN.encode() not in answer.content
    if media_type == PROTOBUF:
        assert status_of(answer).code == Code.UNAUTHENTICATED
    assert inbox.arrivals == []
    assert observer.reasons["unauthenticated"] == observer.spans_received == 1


def test_with_the_token_spans_come_in(open_door, one_span, inbox) -> None:
    """And the token travels no further."""
    client = open_door({"tokens": Tokens([TOKEN])})
    headers = {"content-type": PROTOBUF, "authorization": f"Bearer {TOKEN}"}
    assert client.post("/v1/traces", content=one_span, headers=headers).status_code == 200
    assert inbox.items == 1
    assert inbox.arrivals[0].headers == ()

"""OTLP over real HTTP, served by uvicorn."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Iterator

import httpx2
import pytest
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.receive.http_door import JSON, PROTOBUF, build_http_app
from otel_raglog.receive.inbox import MemoryInbox
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

    def open_one(intake: Intake | None = None, **limits: int) -> httpx2.Client:
        app = build_http_app(intake or make_intake(**limits))
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


def test_protobuf_is_accepted(post, one_span: bytes, inbox: MemoryInbox) -> None:
    """Full success is an empty response of the request's type."""
    response = post(one_span)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == PROTOBUF
    assert inbox.spans == 1


def test_json_is_accepted_in_part(post, inbox: MemoryInbox) -> None:
    """The answer is JSON, and says how many spans were rejected and why."""
    response = post(JSON_SPAN, "application/json; charset=utf-8")
    assert response.status_code == 200
    assert response.headers["content-type"] == JSON
    assert response.json() == {
        "partialSuccess": {"rejectedSpans": "1", "errorMessage": "invalid_trace_id: 1"}
    }
    assert inbox.spans == 1


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


@pytest.mark.parametrize("path", ["/", "/v1/logs", "/v1/traces/"])
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
    assert inbox.spans == 1


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_an_unknown_encoding_is_a_400(encoding: str, post, one_span: bytes) -> None:
    """The answer names the encodings that are known."""
    response = post(one_span, content_encoding=encoding)
    assert response.status_code == 400
    assert "gzip" in status_of(response).message


@pytest.mark.parametrize("body", [b"", b"garbage", gzip.compress(b"x" * 1000)[:-5]])
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


def raw_exchange(client: httpx2.Client, sent: bytes) -> bytes:
    """Send bytes and return all that comes until the server closes the connection."""
    with socket.create_connection((client.base_url.host, client.base_url.port), 30) as connection:
        connection.sendall(sent)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    return received


def test_a_declared_length_beyond_the_limit_is_a_413_at_once(open_door) -> None:
    """Not a byte of the body is waited for, and the connection is closed."""
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
        b"Content-Length: 999999999\r\n\r\n"
    )
    assert raw_exchange(open_door(), head).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_beyond_the_limit_is_a_413(open_door) -> None:
    """Reading stops at the limit: the body's end never comes."""
    sent = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + (b"400\r\n" + bytes(1024) + b"\r\n") * 3
    )
    answer = raw_exchange(open_door(max_request_bytes=2048), sent)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_full_inbox_is_a_503_with_retry_after(
    open_door, make_intake, markers, observer, one_span
) -> None:
    """Whole seconds, rounded up."""
    full = MemoryInbox(1, 1, retry_after_seconds=2.1)
    client = open_door(Intake(full, observer, make_intake().limits, markers))
    headers = {"content-type": PROTOBUF}
    assert client.post("/v1/traces", content=one_span, headers=headers).status_code == 200
    response = client.post("/v1/traces", content=one_span, headers=headers)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "3"
    assert status_of(response).code == Code.UNAVAILABLE


def test_a_client_that_goes_away_disturbs_nobody(open_door, one_span: bytes) -> None:
    """Half a request is dropped, the next one is served."""
    client = open_door()
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 100\r\n\r\nabc"
        )
    response = client.post("/v1/traces", content=one_span, headers={"content-type": PROTOBUF})
    assert response.status_code == 200

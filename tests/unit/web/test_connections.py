"""Connections over real sockets: clients that are slow, silent or many."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from otel_raglog.web.server import HttpServer

LARGE = 16 * 1024 * 1024
"""More than the system buffers for a connection."""
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def serve() -> Iterator[Callable[..., HttpServer]]:
    """Starts servers with the given limits, and stops them after the test."""

    async def echo(request: Request) -> Response:
        return Response(await request.body())

    app = Starlette(
        routes=[
            Route("/", lambda _: PlainTextResponse("hello")),
            Route("/wait", echo, methods=["POST"]),
            Route("/large", lambda _: PlainTextResponse("a" * LARGE)),
        ]
    )
    servers: list[HttpServer] = []

    def start(**limits: float) -> HttpServer:
        servers.append(HttpServer(app, "127.0.0.1", 0, **limits))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.stop(5)


@pytest.fixture
def connect() -> Iterator[Callable[[HttpServer], socket.socket]]:
    """Opens connections that are closed after the test."""
    opened: list[socket.socket] = []

    def to(server: HttpServer) -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", server.port), 30))
        return opened[-1]

    yield to
    for connection in opened:
        connection.close()


def read_all(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


def is_served(server: HttpServer) -> bool:
    """Tell whether somebody else gets an answer."""
    return httpx2.get(f"http://127.0.0.1:{server.port}/", timeout=30).text == "hello"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: a", b"\r\n"])
def test_a_client_that_sends_no_headers_is_closed(sent: bytes, serve, connect) -> None:
    """A silent one, one that stops half-way, and one that sends nothing but line ends."""
    server = serve(header_timeout_seconds=0.3)
    slow = connect(server)
    slow.sendall(sent)
    assert is_served(server)
    assert read_all(slow).startswith(b"HTTP/1.1 408 ")


def test_the_second_request_of_a_connection_must_come_as_fast(serve, connect) -> None:
    """Its first byte ends the idle time and begins that for headers."""
    slow = connect(serve(header_timeout_seconds=0.3, idle_timeout_seconds=60))
    slow.sendall(REQUEST)
    assert slow.recv(65536).startswith(b"HTTP/1.1 200 ")
    slow.sendall(b"GET / HT")
    assert read_all(slow).startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_is_closed(serve, connect) -> None:
    """Without a word: no request is under way."""
    idle = connect(serve(idle_timeout_seconds=0.2))
    idle.sendall(REQUEST)
    assert read_all(idle).endswith(b"hello")


def test_a_connection_is_kept_for_further_requests(serve, connect) -> None:
    """Also for those that come at once."""
    kept = connect(serve())
    kept.sendall(REQUEST)
    assert kept.recv(65536).endswith(b"hello")
    kept.sendall(REQUEST + REQUEST)
    received = b""
    while received.count(b"hello") < 2:
        received += kept.recv(65536)


def test_the_rest_of_a_request_that_is_answered_is_not_waited_for(serve, connect) -> None:
    """A body that nobody reads could be sent for ever."""
    endless = connect(serve())
    endless.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc")
    assert read_all(endless).endswith(b"hello")


def test_many_idle_connections_keep_nobody_out(serve, connect) -> None:
    """One more takes the place of the one that is idle for longest."""
    server = serve(max_connections=10)
    crowd = [connect(server) for _ in range(30)]
    assert is_served(server)
    assert crowd[0].recv(1) == b""


def test_while_all_connections_work_a_new_one_is_refused(serve, connect) -> None:
    """Those under way are served to their end."""
    server = serve(max_connections=2)
    busy = [connect(server) for _ in range(2)]
    for connection in busy:
        connection.sendall(
            b"POST /wait HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        )
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
    refused = read_all(connect(server))
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in refused
    for connection in busy:
        connection.sendall(b"abc")
        assert connection.recv(65536).endswith(b"abc")


def test_clients_that_send_bodies_slowly_keep_nobody_out(serve, connect) -> None:
    """A second after it began, one of them gives its place to somebody else."""
    server = serve(max_connections=2)
    slow = [connect(server) for _ in range(2)]
    for connection in slow:
        connection.sendall(b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
    deadline = time.monotonic() + 30
    while httpx2.get(f"http://127.0.0.1:{server.port}/", timeout=30).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    refused = read_all(slow[0])
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in refused
    slow[1].sendall(b"bc")
    assert slow[1].recv(65536).endswith(b"abc")


@pytest.mark.parametrize("requests", [1, 50])
def test_a_client_that_does_not_read_its_answers_is_closed(requests: int, serve) -> None:
    """Otherwise a few of them would keep everybody else out for ever."""
    server = serve(max_connections=1, header_timeout_seconds=0.3)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * requests)
        deadline = time.monotonic() + 30
        while httpx2.get(f"http://127.0.0.1:{server.port}/", timeout=30).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_headers_without_end_are_refused(serve, connect) -> None:
    """Nobody may fill the memory with them."""
    server = serve()
    greedy = connect(server)
    greedy.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 100_000)
    assert read_all(greedy).startswith(b"HTTP/1.1 431 ")
    assert is_served(server)


def test_what_is_no_http_is_refused(serve, connect) -> None:
    """And disturbs nobody."""
    server = serve()
    stranger = connect(server)
    stranger.sendall(b"\x16\x03\x01\x02\x00")
    assert read_all(stranger).startswith(b"HTTP/1.1 400 ")
    assert is_served(server)

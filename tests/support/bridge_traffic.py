"""A pipeline's calls through a proxy: a server that answers them, and a sidecar that takes spans."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ports import free_port

from otel_raglog_proxy_bridge.safety import RawCall

PATIENCE_SECONDS = 20.0

Respond = Callable[[BaseHTTPRequestHandler, bytes], None]


@contextmanager
def running_server(
    respond: Respond, port: int = 0, *, first_bytes: threading.Event | None = None
) -> Iterator[int]:
    """Serve on a loopback port; ``respond`` gets each request with its body. Yields the port.

    ``first_bytes`` is set when the first chunk of a request's body is there.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                body = b"".join(_chunks(self, first_bytes))
            else:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
            respond(self, body)

        do_GET = do_POST  # noqa: N815 - http.server asks for this name

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """Say nothing of connections that the tests break."""

    server = Server(("127.0.0.1", port or free_port()), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Answer a request with a whole body."""
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def begin_chunks(handler: BaseHTTPRequestHandler, content_type: str = "text/event-stream") -> None:
    """Begin an answer in chunks."""
    handler.send_response(200)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()


def write_chunk(handler: BaseHTTPRequestHandler, chunk: bytes) -> None:
    """Write a chunk; an empty one ends the answer."""
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
    handler.wfile.flush()


class Sidecar:
    """Takes requests of spans; ``statuses`` are answered first, then always 200."""

    def __init__(self, statuses: Sequence[int] = (), headers: Mapping[str, str] | None = None):
        self.statuses = list(statuses)
        self.headers = dict(headers or {})
        self.body = b"{}"
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.hold = threading.Event()
        self.hold.set()
        self._changed = threading.Condition()

    def respond(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Keep a request and answer it."""
        if handler.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with self._changed:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            self.requests.append((handler.path, headers, body))
            status = self.statuses.pop(0) if self.statuses else 200
            self._changed.notify_all()
        self.hold.wait()
        answer(handler, self.body, status, self.headers)

    @property
    def spans(self) -> list[dict[str, object]]:
        """All spans of all requests."""
        return [
            span
            for _, _, body in list(self.requests)
            for resource in json.loads(body)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds; it is looked at after each request."""
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE_SECONDS):
                raise AssertionError(f"{len(self.requests)} requests came")


def through(
    proxy: int,
    url: str,
    body: bytes | Iterator[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """Send a request through a proxy, or to the port itself when ``url`` is a path."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy, timeout=PATIENCE_SECONDS)
    method = "GET" if body is None else "POST"
    connection.request(
        method,
        url,
        body,
        {"Content-Type": "application/json", **(headers or {})},
        encode_chunked=not isinstance(body, bytes | None),
    )
    return connection, connection.getresponse()


def exchanged(
    proxy: int, url: str, data: object = None, headers: Mapping[str, str] | None = None
) -> bytes:
    """Return the body of the answer to JSON, sent through a proxy."""
    body = None if data is None else json.dumps(data).encode()
    connection, response = through(proxy, url, body, headers)
    try:
        return response.read()
    finally:
        connection.close()


def chat_call(call_id: str, question: str = "Why?") -> RawCall:
    """Return a captured call of a chat model, which answers "Because."."""
    request = {"model": "m", "messages": [{"role": "user", "content": question}]}
    message = {"role": "assistant", "content": "Because."}
    return RawCall(
        call_id,
        "POST",
        "http://h/v1/chat/completions",
        status=200,
        request_body=json.dumps(request).encode(),
        response_body=json.dumps({"choices": [{"message": message}]}).encode(),
        started_ns=1,
        ended_ns=2,
    )


def _chunks(
    handler: BaseHTTPRequestHandler, first_bytes: threading.Event | None
) -> Iterator[bytes]:
    while size := int(handler.rfile.readline().strip() or b"0", 16):
        yield handler.rfile.read(size)
        handler.rfile.readline()
        if first_bytes is not None:
            first_bytes.set()
    handler.rfile.readline()

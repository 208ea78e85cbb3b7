"""A sidecar's HTTP door that answers as told, spans of the SDK, and what a test says of them."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider

PATIENCE_SECONDS = 30.0


class FakeDoor:
    """An HTTP server that keeps requests; ``answers`` are (status, headers, body), then 200s.

    While ``stuck`` is set it answers nobody.
    """

    def __init__(self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.arrived = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.connections = 0
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                door.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                door.requests.append((self.path, headers, body))
                door.arrived.release()
                door.may_answer.wait(PATIENCE_SECONDS)
                status, more, answer = door.answers.pop(0) if door.answers else (200, {}, b"{}")
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *arguments: object) -> None:
                pass  # clients that break off are what is tested

        self._server = Server((host, 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.endpoint = f"http://localhost:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    @property
    def stuck(self) -> bool:
        return not self.may_answer.is_set()

    @stuck.setter
    def stuck(self, value: bool) -> None:
        self.may_answer.clear() if value else self.may_answer.set()

    def wait(self, requests: int = 1) -> None:
        """Wait until so many more requests have arrived."""
        for _ in range(requests):
            assert self.arrived.acquire(timeout=PATIENCE_SECONDS), "no request came"

    def traces(self) -> list[list[dict]]:
        """Return the spans of each request, as they came."""
        return [spans_of(body, headers) for _, headers, body in self.requests]

    def names(self) -> list[list[str]]:
        """Return the names of the spans of each request."""
        return [[span["name"] for span in spans] for spans in self.traces()]

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)


@contextmanager
def running_door(host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[FakeDoor]:
    """Run a door."""
    door = FakeDoor(host, tls)
    try:
        yield door
    finally:
        door.close()


def spans_of(body: bytes, headers: dict[str, str]) -> list[dict]:
    """Return the spans of a request."""
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return [
        span
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def make_provider(**options: object) -> TracerProvider:
    """Return a provider that does not outlive its test, with the SDK's limits unless told."""
    options.setdefault("span_limits", SpanLimits(max_span_attributes=10_000))
    return TracerProvider(
        shutdown_on_exit=False, resource=Resource.create({"service.name": "shop"}), **options
    )


def ended_spans(*names: str) -> list[ReadableSpan]:
    """Return ended spans, each a trace of its own."""
    tracer = make_provider().get_tracer("tests")
    spans = [tracer.start_span(name) for name in names]
    for span in spans:
        span.end()
    return [span._readable_span() for span in spans]

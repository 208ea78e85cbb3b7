"""OTLP backends on loopback that record every request and answer it as a test tells them to.

::

    from fault_answers import after, cut, partial, refuse

    with fault_backend("http") as backend:
        backend.script(refuse(503, retry_after=1), partial(2), cut())  # then `answer` again
        backend.answer = after(0.5)  # what requests get when the script is over
        ...
        backend.down(); backend.up()  # the same port
        assert backend.count("traces") == 100 and not backend.conflicts()
"""

from __future__ import annotations

import contextlib
import gzip
import http.server
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from fault_answers import Answer, ok, status_message, success_message
from fault_relay import Relay
from grpc_status import rpc_status
from otlp_items import METHODS, PATHS, SIGNALS, Item, count, items, span_key
from services import PATIENCE_SECONDS, wait_until

_PROTOBUF = "application/x-protobuf"
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024


# -------------------------------------------------------------------------------- recording


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that arrived, and the answer that it was given.

    ``arrived`` is monotonic time; ``body`` is inflated; header names are in lower case.
    """

    arrived: float
    signal: str
    body: bytes
    headers: Mapping[str, str | bytes]
    answer: Answer
    size: int = field(init=False)
    """Its spans, log records or data points."""

    def __post_init__(self) -> None:
        # Counted once: tests that wait ask again and again.
        object.__setattr__(self, "size", count(self.signal, self.body))

    def items(self) -> list[Item]:
        """Return its spans, log records or metrics, in order."""
        return list(items(self.body))


class FaultBackend:
    """What the backends of both protocols share: script, record and port.

    ``endpoint`` is ``http://host:port``. Requests take answers from the script first, then
    ``answer``. All counts are of requests that were kept, unless said otherwise.
    """

    def __init__(self, serve: Callable[[FaultBackend], tuple[int, Callable[[], None]]]) -> None:
        self.answer = ok()
        self.requests: list[Recorded] = []
        self._script: deque[Answer] = deque()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        inner_port, self._stop = serve(self)
        self._relay = Relay(inner_port)
        self._relay.open()

    @property
    def address(self) -> str:
        """``host:port``, the same for the backend's whole life."""
        return f"127.0.0.1:{self._relay.port}"

    @property
    def endpoint(self) -> str:
        """``http://host:port``."""
        return f"http://{self.address}"

    def script(self, *answers: Answer) -> None:
        """Give these answers to the next requests, one each."""
        with self._lock:
            self._script.extend(answers)

    def down(self) -> None:
        """Close the port and break all connections; data that arrived stays."""
        self._relay.close()

    def up(self) -> None:
        """Open the same port again; also ends :meth:`mute`."""
        self._relay.open()

    def mute(self) -> None:
        """Accept connections without reading from them."""
        self._relay.mute()

    def close(self) -> None:
        """End, hanging requests included."""
        self._closing.set()
        self._relay.close()
        self._stop()

    # ------------------------------------------------------------------------ what arrived

    def kept(self, signal: str = "traces") -> list[Recorded]:
        """Return the requests of a signal whose data was kept."""
        with self._lock:
            return [r for r in self.requests if r.signal == signal and r.answer.kept]

    def count(self, signal: str = "traces") -> int:
        """Return the spans, log records or data points that were kept, repeated ones included.

        Those that a partial success rejected are not among them.
        """
        return sum(r.size - r.answer.rejected for r in self.kept(signal))

    def rejected(self, signal: str = "traces") -> int:
        """Return the items that partial successes rejected."""
        return sum(r.answer.rejected for r in self.kept(signal))

    def items(self, signal: str = "traces") -> list[Item]:
        """Return all items that were kept, in order of arrival."""
        return [item for recorded in self.kept(signal) for item in recorded.items()]

    def deliveries(self) -> dict[tuple[bytes, bytes], list[bytes]]:
        """Return by trace id and span id the span's bytes as they came, one entry a delivery.

        All requests that reached the backend count, kept or not: what was sent was decided.
        """
        found: dict[tuple[bytes, bytes], list[bytes]] = {}
        with self._lock:
            bodies = [r.body for r in self.requests if r.signal == "traces"]
        for body in bodies:
            for item in items(body):
                found.setdefault(span_key(item.raw), []).append(item.raw)
        return found

    def span_keys(self) -> set[tuple[bytes, bytes]]:
        """Return trace id and span id of every span that was kept."""
        return {span_key(item.raw) for item in self.items("traces")}

    def duplicates(self) -> int:
        """Return the kept spans beyond the first of each id."""
        return len(self.items("traces")) - len(self.span_keys())

    def conflicts(self) -> list[tuple[bytes, bytes]]:
        """Return the ids of spans that were sent with different bytes."""
        return [key for key, raws in self.deliveries().items() if len(set(raws)) > 1]

    def wait_for(
        self, wanted: int, signal: str = "traces", seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Wait until :meth:`count` is ``wanted`` or more."""
        wait_until(lambda: self.count(signal) >= wanted, seconds)

    def wait_for_requests(self, wanted: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until so many requests came, whatever they were answered."""
        wait_until(lambda: len(self.requests) >= wanted, seconds)

    # ------------------------------------------------------------------- what servers call

    def receive(self, signal: str, body: bytes, headers: Mapping[str, str | bytes]) -> Answer:
        """Record a request, wait as long as its answer says, and return the answer."""
        arrived = time.monotonic()
        with self._lock:
            answer = self._script.popleft() if self._script else self.answer
            self.requests.append(Recorded(arrived, signal, body, headers, answer))
        if answer.silent:
            self._closing.wait()
        elif answer.delay:
            self._closing.wait(answer.delay)
        if answer.cut:
            self._relay.cut_next_answer()
        return answer


@contextmanager
def fault_backend(protocol: str) -> Iterator[FaultBackend]:
    """Run a backend for all three signals; ``protocol`` is ``grpc`` or ``http``."""
    backend = FaultBackend(_serve_grpc if protocol == "grpc" else _serve_http)
    try:
        yield backend
    finally:
        backend.close()


# ------------------------------------------------------------------------------------- gRPC


def _serve_grpc(backend: FaultBackend) -> tuple[int, Callable[[], None]]:
    pool = ThreadPoolExecutor(32, thread_name_prefix="fault-backend")
    options = [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.server(pool, options=options)
    for signal in SIGNALS:
        handler = grpc.unary_unary_rpc_method_handler(_export(backend, signal))
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(METHODS[signal], {"Export": handler}),)
        )
    port: int = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def stop() -> None:
        server.stop(None).wait()
        pool.shutdown()

    return port, stop


def _export(backend: FaultBackend, signal: str) -> Callable[[bytes, grpc.ServicerContext], bytes]:
    def export(body: bytes, context: grpc.ServicerContext) -> bytes:
        metadata = {item.key: item.value for item in context.invocation_metadata()}
        answer = backend.receive(signal, body, metadata)
        if answer.code != 200:
            context.abort_with_status(rpc_status.to_status(status_message(answer)))
        return success_message(signal, answer).SerializeToString()

    return export


# ------------------------------------------------------------------------------------- HTTP


def _serve_http(backend: FaultBackend) -> tuple[int, Callable[[], None]]:
    server = _HttpServer(("127.0.0.1", 0), _HttpHandler)
    server.backend = backend
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return server.server_address[1], stop


class _HttpServer(http.server.ThreadingHTTPServer):
    backend: FaultBackend
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Broken connections are what these tests are about."""


class _HttpHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_POST(self) -> None:
        body = self._body()
        signal = PATHS.get(self.path)
        if signal is None:
            self._send(404, b"")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.backend.receive(signal, body, headers)
        if answer.silent:
            self.close_connection = True
        elif answer.code == 200:
            self._send(200, success_message(signal, answer).SerializeToString())
        else:
            self._send(answer.code, status_message(answer).SerializeToString(), answer.retry_after)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def _chunks(self) -> Iterator[bytes]:
        for size in (int(self.rfile.readline().split(b";")[0], 16) for _ in itertools.count()):
            chunk = self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return
            yield chunk

    def _send(self, code: int, body: bytes, retry_after: float | None = None) -> None:
        with contextlib.suppress(OSError):
            self.send_response(code)
            self.send_header("content-type", _PROTOBUF)
            self.send_header("content-length", str(len(body)))
            if retry_after is not None:
                self.send_header("retry-after", str(math.ceil(retry_after)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
        """Say nothing."""

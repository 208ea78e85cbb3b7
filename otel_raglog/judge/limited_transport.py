"""HTTP for the SDKs of LLM providers, held to a deadline, a size and the headers that we mean."""

from __future__ import annotations

import contextlib
import math
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import httpcore2
import httpx2

from otel_raglog.clock import Clock
from otel_raglog.errors import Rejected, Unavailable

_KEEP_SECONDS = 60.0
"""How long an idle connection is kept."""
_DEFAULT_SECONDS = 60.0
_WRITE_BYTES = 16 * 1024
_TRY_SECONDS = 3.0
"""How long one try to connect may last: a lost packet is sent again after one second."""
_SENT_HEADERS = frozenset(
    {"host", "content-type", "content-length", "accept", "user-agent", "anthropic-version"}
)
"""What an SDK may say: nothing of the machine, no cookie, nothing that a variable added."""


class LimitedTransport(httpx2.BaseTransport):
    """Sends requests over kept connections; thread-safe.

    The read time-out of a request is its deadline as a whole, from waiting for a connection to the
    last byte, however slowly bytes come; only the resolver is outside it. ``headers`` are sent with
    each request, and of the SDK's own only those that the API needs. Connections are direct:
    ``HTTPS_PROXY`` and its like are not read. The system's certificates are trusted, or those of
    ``context``.

    Raises:
        Unavailable: the deadline passed, or the connection failed.
        Rejected: the reply is longer than ``max_reply_bytes`` (``too_large``), or compressed
            although nobody asked for it (``malformed``).
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        max_reply_bytes: int,
        connections: int,
        clock: Clock,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._headers = [
            *((name.encode(), value.encode()) for name, value in headers.items()),
            (b"accept-encoding", b"identity"),
        ]
        self._max_reply_bytes = max_reply_bytes
        self._deadline = _Deadline(clock)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context or ssl.create_default_context(),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=(backend := _DeadlineBackend(self._deadline)),
        )
        self._backend = backend

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the reply as a whole; see the class for what is raised."""
        told = request.extensions.get("timeout", {}).get("read")
        seconds = _DEFAULT_SECONDS if told is None else told
        try:
            with self._deadline.within(seconds):
                return self._exchange(request, seconds)
        except httpcore2.PoolTimeout:
            raise Unavailable(f"no connection was free within {seconds:.3g} s") from None
        except httpcore2.TimeoutException:
            raise Unavailable(f"no whole reply within {seconds:.3g} s") from None
        except httpcore2.ConnectError as failure:
            raise Unavailable(f"no connection: {failure}") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as failure:
            # Not its text: that may quote what was received, or sent.
            raise Unavailable(f"the connection failed: {type(failure).__name__}") from None

    def close(self) -> None:
        """Close connections; calls that are out end at once, with ``Unavailable``."""
        self._backend.shut_down()
        self._pool.close()

    def _exchange(self, request: httpx2.Request, seconds: float) -> httpx2.Response:
        url = request.url
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=[*self._headers, *_sent(request.headers)],
                content=request.read(),
                extensions={
                    "timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)
                },
            )
        )
        try:
            headers = httpx2.Headers(response.headers)
            if headers.get("content-encoding", "identity").lower() != "identity":
                raise Rejected("the reply is compressed", "malformed")
            body = self._body(response)
        finally:
            response.close()
        return httpx2.Response(response.status, headers=headers, content=body)

    def _body(self, response: httpcore2.Response) -> bytes:
        body = bytearray()
        for chunk in response.iter_stream():
            body += chunk
            if len(body) > self._max_reply_bytes:
                raise Rejected(
                    f"the reply is longer than {self._max_reply_bytes} bytes", "too_large"
                )
        return bytes(body)


def _sent(headers: httpx2.Headers) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers.raw:
        if name.decode("ascii").lower() in _SENT_HEADERS:
            yield name, value


class _Deadline(threading.local):
    """When the request that this thread waits for must be over."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = math.inf

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self._at = self._clock.monotonic() + seconds
        try:
            yield
        finally:
            self._at = math.inf

    def left(self, passed: type[httpcore2.TimeoutException], most: float | None) -> float | None:
        """Return how many seconds are left, but not more than ``most``; raise ``passed`` if none."""
        left = min(self._at - self._clock.monotonic(), math.inf if most is None else most)
        if left <= 0:
            raise passed
        return None if math.isinf(left) else left


class _DeadlineBackend(httpcore2.NetworkBackend):
    """Opens connections whose every step has only the time that is left."""

    def __init__(self, deadline: _Deadline) -> None:
        self._inner = httpcore2.SyncBackend()
        self._deadline = deadline
        self._streams: weakref.WeakSet[_DeadlineStream] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def shut_down(self) -> None:
        """Wake whoever waits for a connection's bytes: there will be none."""
        with self._lock:
            self._closed = True
            streams = list(self._streams)
        for stream in streams:
            stream.shut_down()

    def keep(self, stream: httpcore2.NetworkStream) -> _DeadlineStream:
        """Return ``stream`` held to the deadline, and remember it while it is used."""
        kept = _DeadlineStream(stream, self._deadline, self.keep)
        with self._lock:
            self._streams.add(kept)
            closed = self._closed
        if closed:
            kept.shut_down()
        return kept

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Try each address of ``host`` in turn, each for its share of the time that is left."""
        addresses = _addresses(host, port)
        failure: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for tried, address in enumerate(addresses):
            left = self._deadline.left(httpcore2.ConnectTimeout, timeout)
            share = None if left is None else left / (len(addresses) - tried)
            try:
                stream = self._connect(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return self.keep(stream)
        raise failure or httpcore2.ConnectError("the name has no address")

    def _connect(
        self,
        address: str,
        port: int,
        seconds: float | None,
        local_address: str | None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None,
    ) -> httpcore2.NetworkStream:
        """Try again and again, each time for a while: nobody can interrupt a try."""
        left = math.inf if seconds is None else seconds
        while True:
            if self._closed:
                raise httpcore2.ConnectError("the client is closed")
            try:
                return self._inner.connect_tcp(
                    address, port, min(left, _TRY_SECONDS), local_address, socket_options
                )
            except httpcore2.ConnectTimeout:
                left -= _TRY_SECONDS
                if left <= 0:
                    raise


class _DeadlineStream(httpcore2.NetworkStream):
    def __init__(
        self,
        inner: httpcore2.NetworkStream,
        deadline: _Deadline,
        keep: Callable[[httpcore2.NetworkStream], _DeadlineStream],
    ) -> None:
        self._inner = inner
        self._deadline = deadline
        self._keep = keep

    def shut_down(self) -> None:
        connection = self._inner.get_extra_info("socket")
        if isinstance(connection, socket.socket):
            # Not the method of a TLS socket, which would forget that it speaks TLS.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(httpcore2.ReadTimeout, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            left = self._deadline.left(httpcore2.WriteTimeout, timeout)
            self._inner.write(buffer[start : start + _WRITE_BYTES], left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._deadline.left(httpcore2.ConnectTimeout, timeout)
        return self._keep(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as failure:
        raise httpcore2.ConnectError(str(failure)) from failure
    return list(dict.fromkeys(str(address[0]) for *_, address in found))

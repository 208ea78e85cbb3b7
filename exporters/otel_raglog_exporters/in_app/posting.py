"""Bodies turned into POST requests to the sidecar's OTLP/HTTP door, with the standard library."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import io
import json
import logging
import socket
from typing import Any

from otel_raglog.clock import Clock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog_exporters.in_app.settings import InAppConfig, traces_url
from otel_raglog_exporters.retry_after import read_retry_after

_RETRYABLE = frozenset({429, 502, 503, 504})
"""Status codes that the OTLP specification calls retryable; no other is."""
_TOO_LARGE = 413
_GRPC_PORT = 4317
_HINTS = {
    401: "headers (OTEL_EXPORTER_RAGLOG_HEADERS) must hold what the service asks for",
    403: "headers (OTEL_EXPORTER_RAGLOG_HEADERS) must hold what the service asks for",
    404: "the endpoint must be otel-raglog's HTTP door",
    415: "the endpoint must be otel-raglog's HTTP door: others may not take OTLP/JSON",
}
_MAX_ANSWER_BYTES = 64 * 1024
_MAX_MESSAGE_LENGTH = 300
_GZIP_LEVEL = 1
_log = logging.getLogger("otel_raglog_exporters.in_app")


class _TimedReader(io.RawIOBase):
    """What a socket receives until a moment: a socket's own time-out begins anew with each byte."""

    def __init__(self, sock: socket.socket, until: float, clock: Clock) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._until = until
        self._clock = clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._until - self._clock.monotonic()
        if seconds <= 0:
            raise TimeoutError("the answer did not end in time")
        self._sock.settimeout(seconds)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """The part of a socket that http.client reads an answer from."""

    def __init__(self, sock: socket.socket, until: float, clock: Clock) -> None:
        self._reader = _TimedReader(sock, until, clock)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._reader)


class Door:
    """Posts to one address over a connection that is kept; one thread at a time.

    No proxy is used, whatever the environment says: the sidecar is beside the application, and
    ``HTTP_PROXY`` would lead elsewhere. Every address of the host's name is tried.
    """

    def __init__(self, config: InAppConfig, clock: Clock) -> None:
        self._clock = clock
        self._url = traces_url(config.endpoint)
        if self._url.port == _GRPC_PORT:
            _log.warning(
                "endpoint %s has the usual port of gRPC; this exporter speaks HTTP, whose is 4318",
                config.endpoint,
            )
        self._ca_file = config.ca_file
        self._timeout_seconds = config.timeout_seconds
        self._path = self._url.path + (f"?{self._url.query}" if self._url.query else "")
        host = self._url.hostname or ""
        near = host in {"localhost", "::1"} or host.startswith("127.")
        self._gzip = config.compression == "gzip" or (config.compression == "auto" and not near)
        self._headers = {
            **{name.lower(): value for name, value in config.headers.items()},
            "content-type": "application/json",
            "accept-encoding": "identity",
        }
        if self._gzip:
            self._headers["content-encoding"] = "gzip"
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes, seconds: float | None = None) -> str:
        """Post ``body``, waiting ``seconds`` at most for each step (``None``: as configured).

        Returns what the sidecar says of spans that it took the request but not them for; mostly "".

        Raises:
            Unavailable: no answer, or 429, 502, 503, 504, with their Retry-After.
            Rejected: any other status but 2xx; the reason is ``http_<status>``.
        """
        if self._gzip:
            body = gzip.compress(body, _GZIP_LEVEL, mtime=0)
        timeout = min(seconds or self._timeout_seconds, self._timeout_seconds)
        try:
            response, answer = self._exchange(body, timeout)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as failure:
            # The last is http.client's word for a connection that another thread closed.
            self.close()
            message = f"{self._url.netloc}: {type(failure).__name__}: {failure}"
            raise Unavailable(message) from failure
        return self._read(response, answer)

    def close(self) -> None:
        """Close the connection; a request that waits on it fails. May be called by any thread."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def forget(self) -> None:
        """Leave the connection to the process that forked: it is in use there."""
        self._connection = None

    def _exchange(self, body: bytes, timeout: float) -> tuple[http.client.HTTPResponse, bytes]:
        kept = self._connection
        if kept is not None:
            try:
                return self._ask(kept, body, timeout)
            except (ConnectionError, http.client.BadStatusLine):
                self.close()  # servers close connections that are idle: that is no failure
        return self._ask(self._connect(timeout), body, timeout)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        # Without a port http.client would look for one in an IPv6 address.
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            import ssl  # noqa: PLC0415  costs 20 ms, which most never need

            context = ssl.create_default_context(cafile=self._ca_file)
            port = port or http.client.HTTPS_PORT
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port or http.client.HTTP_PORT, timeout=timeout)

    def _ask(
        self, connection: http.client.HTTPConnection, body: bytes, timeout: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self._connection = connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        connection.request("POST", self._path, body, self._headers)
        until = self._clock.monotonic() + timeout

        def read(sock: Any, **options: Any) -> http.client.HTTPResponse:
            timed: Any = _TimedSocket(sock, until, self._clock)
            return http.client.HTTPResponse(timed, **options)

        calling: Any = read  # it wants a class, and only calls it
        connection.response_class = calling
        response = connection.getresponse()
        answer = response.read(_MAX_ANSWER_BYTES)
        if not response.isclosed() and response.read(1):
            self.close()  # more than an OTLP receiver says: not worth the reading
        return response, answer

    def _read(self, response: http.client.HTTPResponse, answer: bytes) -> str:
        status = response.status
        is_page = response.headers.get_content_type() == "text/html"
        if http.client.OK <= status < http.client.MULTIPLE_CHOICES and not is_page:
            return _partial_success(answer)
        message = f"{self._url.netloc} answered {status}: {_shortened(answer)}"
        if status in _RETRYABLE or status < http.client.MULTIPLE_CHOICES:
            told = response.headers.get("retry-after", "")
            raise Unavailable(message, read_retry_after(told, self._clock))
        if status in _HINTS:
            message = f"{message} ({_HINTS[status]})"
        raise Rejected(message, f"http_{status}")


def is_too_large(refusal: Rejected) -> bool:
    """Tell whether a smaller request might be taken."""
    return refusal.reason == f"http_{_TOO_LARGE}"


def _partial_success(answer: bytes) -> str:
    try:
        partial = json.loads(answer).get("partialSuccess") or {}
        rejected = int(partial.get("rejectedSpans") or 0)
        words = str(partial.get("errorMessage") or "")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ""
    return f"{rejected} spans were refused: {_shortened(words.encode())}" if rejected > 0 else ""


def _shortened(answer: bytes) -> str:
    text = answer[: 4 * _MAX_MESSAGE_LENGTH].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text)[:_MAX_MESSAGE_LENGTH].strip()

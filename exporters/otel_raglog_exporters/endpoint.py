"""What a user writes about an OTLP destination turned into checked addresses and headers."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.errors import ConfigError
from otel_raglog.model import Headers, Signal
from otel_raglog_exporters.sending import ExportOutcome

MAX_MESSAGE_LENGTH = 300
"""Characters of a destination's own words that are kept for logs."""
_GRPC_PORT = 4317
_RESPONSES: Mapping[Signal, tuple[Any, str]] = {
    Signal.TRACES: (ExportTraceServiceResponse, "rejected_spans"),
    Signal.METRICS: (ExportMetricsServiceResponse, "rejected_data_points"),
    Signal.LOGS: (ExportLogsServiceResponse, "rejected_log_records"),
}
_OF_THE_BODY = frozenset(
    {
        "connection", "content-encoding", "content-length", "expect", "keep-alive",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_OF_THE_TRANSPORT = _OF_THE_BODY | {
    "accept", "accept-encoding", "content-type", "host", "user-agent",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """PEM files: whom to trust (``None``: the system's roots), and who we are (mTLS)."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def __post_init__(self) -> None:
        if (self.cert_file is None) != (self.key_file is None):
            raise ConfigError("tls.cert_file, tls.key_file: one is of no use without the other")

    def context(self) -> ssl.SSLContext:
        """Return a context that verifies the server.

        Raises:
            ConfigError: a file cannot be read.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except OSError as failure:
            raise ConfigError(f"tls: {self._files()} cannot be loaded: {failure}") from failure
        return context

    def pem(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Return the content of the files: roots, key, certificate.

        Raises:
            ConfigError: a file cannot be read.
        """
        return (
            _read("tls.ca_file", self.ca_file),
            _read("tls.key_file", self.key_file),
            _read("tls.cert_file", self.cert_file),
        )

    def _files(self) -> str:
        files = (self.ca_file, self.cert_file, self.key_file)
        return ", ".join(str(file) for file in files if file is not None)


@dataclass(frozen=True, slots=True)
class GrpcTarget:
    """``host:port`` and whether to speak TLS to it."""

    address: str
    secure: bool


def grpc_target(endpoint: str, tls: TlsConfig | None) -> GrpcTarget:
    """Read a gRPC endpoint: ``host[:port]``, or with ``http://`` (plain), ``https://`` (TLS).

    Raises:
        ConfigError: it is neither, has a path, or asks for plain text together with ``tls``.
    """
    url = _split(endpoint, endpoint if "://" in endpoint else f"//{endpoint}")
    if url.scheme not in {"", "http", "https"}:
        raise ConfigError(f"endpoint: {endpoint!r}: scheme is none of http, https")
    if url.path not in {"", "/"} or url.query:
        raise ConfigError(f"endpoint: {endpoint!r}: a gRPC endpoint has no path")
    if url.scheme == "http" and tls is not None:
        raise ConfigError(f"endpoint: {endpoint!r} is plain text, but tls is set: write https://")
    host = _host(endpoint, url.hostname)
    port = _port(endpoint, lambda: url.port) or _GRPC_PORT
    return GrpcTarget(f"{host}:{port}", secure=url.scheme == "https" or tls is not None)


def http_urls(endpoint: str, tls: TlsConfig | None) -> Mapping[Signal, str]:
    """Return where to post each signal: ``endpoint`` with ``/v1/traces``, ``/v1/logs`` ...

    An endpoint that ends with one of these already is taken for its beginning.

    Raises:
        ConfigError: it is no http(s) URL, or asks for plain text together with ``tls``.
    """
    url = _split(endpoint, endpoint)
    if url.scheme not in {"http", "https"}:
        raise ConfigError(f"endpoint: {endpoint!r} does not begin with http:// or https://")
    if url.scheme == "http" and tls is not None:
        raise ConfigError(f"endpoint: {endpoint!r} is plain text, but tls is set: write https://")
    _host(endpoint, url.hostname)
    _port(endpoint, lambda: url.port)
    base = url.path.rstrip("/")
    for signal in Signal:
        base = base.removesuffix(f"/v1/{signal}")
    return {
        signal: url._replace(path=f"{base}/v1/{signal}", fragment="").geturl() for signal in Signal
    }


def checked_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return headers in lower case, fit for HTTP and gRPC metadata.

    Raises:
        ConfigError: a name or value cannot be sent; the value is not in the message.
    """
    for name, value in headers.items():
        if not _is_name(name):
            raise ConfigError(f"headers: {name!r} is no name of a header")
        if name.lower() in _OF_THE_BODY:
            raise ConfigError(
                f"headers: {name!r} belongs to the connection or the body, not to you"
            )
        if name.lower().endswith("-bin"):
            raise ConfigError(f"headers: {name!r}: binary headers cannot be configured")
        if not _is_printable(value):
            raise ConfigError(f"headers: the value of {name!r} is not printable ASCII")
    return tuple((name.lower(), value) for name, value in headers.items())


def headers_beside(own: Headers, passing: Headers) -> Headers:
    """Return those of ``passing`` that can go out beside ``own``, fit for HTTP and gRPC metadata.

    Left out are names that ``own`` has, those that belong to the connection or the body rather
    than to the request, and what cannot be sent: a header is worth less than the data.
    """
    taken = _OF_THE_TRANSPORT.union(name for name, _ in own)
    return tuple(
        (name, value.strip())
        for name, value in passing
        if name not in taken and _is_sendable(name) and _is_printable(value)
    )


def read_response(signal: Signal, body: bytes, sent: int) -> ExportOutcome:
    """Read a successful answer to ``sent`` items; an unreadable one rejects none."""
    response, rejected_items = _RESPONSES[signal]
    try:
        partial = response.FromString(body).partial_success
    except DecodeError:
        return ExportOutcome(sent, message=f"the answer is no {response.__name__}")
    rejected = min(max(getattr(partial, rejected_items), 0), sent)
    return ExportOutcome(sent - rejected, rejected, shortened(partial.error_message))


def shortened(message: str) -> str:
    """Return a foreign message fit for a log line."""
    printable = "".join(c if c.isprintable() else " " for c in message[: MAX_MESSAGE_LENGTH + 1])
    if len(printable) > MAX_MESSAGE_LENGTH:
        return printable[: MAX_MESSAGE_LENGTH - 1] + "…"
    return printable


def _is_name(name: str) -> bool:
    return bool(name) and all(c.isascii() and (c.isalnum() or c in "-_.") for c in name)


def _is_sendable(name: str) -> bool:
    return (
        _is_name(name) and name.islower() and not name.startswith("grpc-") and name[-4:] != "-bin"
    )


def _is_printable(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _read(option: str, file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as failure:
        raise ConfigError(f"{option}: {file} cannot be read: {failure.strerror}") from failure


def _split(endpoint: str, url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as failure:
        raise ConfigError(f"endpoint: {endpoint!r}: {failure}") from failure


def _host(endpoint: str, host: str | None) -> str:
    if not host:
        raise ConfigError(f"endpoint: {endpoint!r} names no host")
    return f"[{host}]" if ":" in host else host


def _port(endpoint: str, port: Callable[[], int | None]) -> int | None:
    try:
        return port()
    except ValueError as failure:
        raise ConfigError(f"endpoint: {endpoint!r}: {failure}") from failure

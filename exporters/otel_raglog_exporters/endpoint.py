"""What a user writes about an OTLP destination turned into checked addresses and headers."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.errors import ConfigError
from otel_raglog_exporters.sending import ExportOutcome

TRACES_PATH = "/v1/traces"
MAX_MESSAGE_LENGTH = 300
"""Characters of a destination's own words that are kept for logs."""
_GRPC_PORT = 4317


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
    url = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
    if url.scheme not in {"", "http", "https"}:
        raise ConfigError(f"endpoint: {endpoint!r}: scheme is none of http, https")
    if url.path not in {"", "/"} or url.query:
        raise ConfigError(f"endpoint: {endpoint!r}: a gRPC endpoint has no path")
    if url.scheme == "http" and tls is not None:
        raise ConfigError(f"endpoint: {endpoint!r} is plain text, but tls is set: write https://")
    host = _host(endpoint, url.hostname)
    port = _port(endpoint, lambda: url.port) or _GRPC_PORT
    return GrpcTarget(f"{host}:{port}", secure=url.scheme == "https" or tls is not None)


def http_url(endpoint: str, tls: TlsConfig | None) -> str:
    """Return where to post traces: ``endpoint`` with ``/v1/traces``, unless it ends so already.

    Raises:
        ConfigError: it is no http(s) URL, or asks for plain text together with ``tls``.
    """
    url = urlsplit(endpoint)
    if url.scheme not in {"http", "https"}:
        raise ConfigError(f"endpoint: {endpoint!r} does not begin with http:// or https://")
    if url.scheme == "http" and tls is not None:
        raise ConfigError(f"endpoint: {endpoint!r} is plain text, but tls is set: write https://")
    _host(endpoint, url.hostname)
    _port(endpoint, lambda: url.port)
    path = url.path.rstrip("/")
    if not path.endswith(TRACES_PATH):
        path += TRACES_PATH
    return url._replace(path=path, fragment="").geturl()


def checked_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return headers in lower case, fit for HTTP and gRPC metadata.

    Raises:
        ConfigError: a name or value cannot be sent; the value is not in the message.
    """
    for name, value in headers.items():
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
            raise ConfigError(f"headers: {name!r} is no name of a header")
        if name.lower().endswith("-bin"):
            raise ConfigError(f"headers: {name!r}: binary headers cannot be configured")
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"headers: the value of {name!r} is not printable ASCII")
    return tuple((name.lower(), value) for name, value in headers.items())


def read_response(body: bytes, sent: int) -> ExportOutcome:
    """Read a successful answer to ``sent`` spans; an unreadable one rejects none."""
    try:
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return ExportOutcome(sent, message="the answer is no ExportTraceServiceResponse")
    rejected = min(max(partial.rejected_spans, 0), sent)
    return ExportOutcome(sent - rejected, rejected, shortened(partial.error_message))


def shortened(message: str) -> str:
    """Return a foreign message fit for a log line."""
    printable = "".join(c if c.isprintable() else " " for c in message[: MAX_MESSAGE_LENGTH + 1])
    if len(printable) > MAX_MESSAGE_LENGTH:
        return printable[: MAX_MESSAGE_LENGTH - 1] + "…"
    return printable


def _read(option: str, file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as failure:
        raise ConfigError(f"{option}: {file} cannot be read: {failure.strerror}") from failure


def _host(endpoint: str, host: str | None) -> str:
    if not host:
        raise ConfigError(f"endpoint: {endpoint!r} names no host")
    return f"[{host}]" if ":" in host else host


def _port(endpoint: str, port: Callable[[], int | None]) -> int | None:
    try:
        return port()
    except ValueError as failure:
        raise ConfigError(f"endpoint: {endpoint!r}: {failure}") from failure

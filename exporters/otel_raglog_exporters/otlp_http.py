"""Payloads turned into OTLP/HTTP requests with protobuf bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import httpx2
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Payload
from otel_raglog_exporters.compressing import gzip_body
from otel_raglog_exporters.endpoint import (
    TlsConfig,
    checked_headers,
    headers_beside,
    http_urls,
    read_response,
    shortened,
)
from otel_raglog_exporters.http_answers import read_answer, retry_after_seconds
from otel_raglog_exporters.sending import ExportOutcome

_RETRYABLE = frozenset({429, 502, 503, 504})
"""Status codes that the OTLP specification calls retryable; no other is."""

_PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class OtlpHttpConfig:
    """An OTLP receiver; ``/v1/traces``, ``/v1/metrics``, ``/v1/logs`` are appended to ``endpoint``.

    An endpoint that ends with one of them is taken without it.
    """

    endpoint: str
    name: str = "otlp_http"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    compression: Literal["gzip", "none"] = "gzip"
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class OtlpHttpExporter:
    """Posts to one receiver over kept connections; follows no redirect.

    A receiver whose certificate cannot be verified, or that does not take ours, is unavailable
    rather than refusing: certificates are renewed.

    Raises:
        ConfigError: endpoint, headers or TLS files are wrong.
    """

    def __init__(self, config: OtlpHttpConfig, clock: Clock | None = None) -> None:
        self.name = config.name
        self._clock = clock or SystemClock()
        urls = http_urls(config.endpoint, config.tls)
        self._timeout_seconds = config.timeout_seconds
        self._gzip = config.compression == "gzip"
        headers = [
            *checked_headers(config.headers),
            ("content-type", _PROTOBUF),
            ("accept-encoding", "identity"),  # answers are small; a big one is not ours to inflate
        ]
        if self._gzip:
            headers.append(("content-encoding", "gzip"))
        self._own_headers = tuple(headers)
        self._client = httpx2.Client(
            headers=headers,
            timeout=config.timeout_seconds,
            follow_redirects=False,
            verify=(config.tls or TlsConfig()).context(),
            trust_env=config.proxy_from_environment,
        )
        try:
            self._urls = {signal: httpx2.URL(url) for signal, url in urls.items()}
        except httpx2.InvalidURL as failure:
            raise ConfigError(f"endpoint: {config.endpoint!r}: {failure}") from failure
        self._closed = False

    def export(self, payload: Payload) -> ExportOutcome:
        """Send ``payload`` as one request.

        Raises:
            Unavailable: no answer in time, or 429, 502, 503, 504, with their Retry-After.
            Rejected: any other status but 2xx; the reason is ``http_<status>``.
        """
        if self._closed:
            raise Unavailable("the exporter is closed")
        if not payload.body:
            return ExportOutcome(payload.items)
        body = gzip_body(payload.body) if self._gzip else payload.body
        beside = headers_beside(self._own_headers, payload.headers)
        try:
            with self._client.stream(
                "POST", self._urls[payload.signal], content=body, headers=[*beside]
            ) as response:
                answer = read_answer(response, self._clock, self._timeout_seconds)
        except httpx2.HTTPError as failure:
            raise Unavailable(f"{type(failure).__name__}: {failure}") from failure
        except RuntimeError as failure:  # the client's word for being closed meanwhile
            if self._closed:
                raise Unavailable("the exporter is closed") from failure
            raise
        if response.is_success:
            if response.headers.get("content-type", "").startswith("text/html"):
                # A proxy's login page, say: nothing tells that anybody took the batch.
                message = f"HTTP {response.status_code} with a web page: no OTLP receiver answered"
                raise Unavailable(message)
            return read_response(payload.signal, answer, payload.items)
        raise self._failure(response, answer)

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._client.close()

    def _failure(self, response: httpx2.Response, answer: bytes) -> Unavailable | Rejected:
        status = response.status_code
        message = f"HTTP {status}: {_status_message(response, answer)}"
        if status in _RETRYABLE:
            return Unavailable(message, retry_after_seconds(response, self._clock))
        return Rejected(message, f"http_{status}")


def _status_message(response: httpx2.Response, answer: bytes) -> str:
    if response.headers.get("content-type", "").startswith(_PROTOBUF):
        try:
            return shortened(status_pb2.Status.FromString(answer).message)
        except DecodeError:
            return "unreadable status"
    return shortened(answer.decode("utf-8", "replace"))

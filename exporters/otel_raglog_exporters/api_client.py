"""JSON posted to the API of a backend: one client for all exporters of verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import Payload
from otel_raglog_exporters.endpoint import TlsConfig, checked_headers, shortened
from otel_raglog_exporters.http_answers import read_answer, retry_after_seconds
from otel_raglog_exporters.sending import ExportOutcome

_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which the same request may be sent again: all of ours are idempotent."""


_OF_THE_CALLER = frozenset({"http_401", "http_403", "http_404", "http_405"})
"""Refusals that each further item would get as well."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status below 400, or one that the caller wanted to see, and the JSON beside it."""

    status: int
    body: Any


class ApiClient:
    """Sends requests to one API over kept connections; follows no redirect. For all threads.

    Raises:
        ConfigError: the endpoint, a header or a TLS file is wrong.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        *,
        timeout_seconds: float,
        tls: TlsConfig | None = None,
        proxy_from_environment: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._base = checked_endpoint(endpoint, tls)
        self._timeout_seconds = timeout_seconds
        self._clock = clock or SystemClock()
        self._client = httpx2.Client(
            headers=[*checked_headers(headers), ("accept", "application/json")],
            timeout=timeout_seconds,
            follow_redirects=False,
            verify=(tls or TlsConfig()).context(),
            trust_env=proxy_from_environment,
        )
        self._closed = False

    def post(self, path: str, body: object) -> Answer:
        """Post ``body`` as JSON; see :meth:`send`."""
        return self.send("POST", path, to_json(body), {"content-type": "application/json"})

    def send(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        expected: frozenset[int] = frozenset(),
    ) -> Answer:
        """Send one request; ``path`` is appended to the endpoint's.

        Args:
            method: of HTTP.
            path: begins with a slash, or is empty.
            content: the body.
            headers: beside those of the client.
            expected: statuses from 300 on that are answers like any other.

        Raises:
            Unavailable: no answer in time, or a status after which to try again, with Retry-After.
            Rejected: any other status from 300 on; the reason is ``http_<status>``.
        """
        self.check_open()
        url = self._base + path
        try:
            with self._client.stream(
                method, url, content=content, headers=dict(headers or {})
            ) as response:
                answer = read_answer(response, self._clock, self._timeout_seconds)
        except httpx2.HTTPError as failure:
            raise Unavailable(f"{type(failure).__name__}: {failure}") from failure
        except RuntimeError:  # the client's word for being closed meanwhile
            self.check_open()
            raise
        status = response.status_code
        if response.is_success and response.headers.get("content-type", "").startswith("text/html"):
            # A proxy's login page, say: nothing tells that anybody took it.
            raise Unavailable(f"HTTP {status} with a web page: no API answered")
        if response.is_success or status in expected:
            return Answer(status, from_json(answer))
        message = f"HTTP {status}: {shortened(answer.decode('utf-8', 'replace'))}"
        if status in _RETRYABLE:
            raise Unavailable(message, retry_after_seconds(response, self._clock))
        raise Rejected(message, f"http_{status}")

    def check_open(self) -> None:
        """Do nothing while the client is open.

        Raises:
            Unavailable: it is closed.
        """
        if self._closed:
            raise Unavailable("the exporter is closed")

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._client.close()


class ApiOptions(Protocol):
    """What the options of every kind of exporter to an API have in common."""

    @property
    def endpoint(self) -> str:
        """The API's address."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of every request."""
        ...

    @property
    def timeout_seconds(self) -> float:
        """How long to wait for an answer."""
        ...

    @property
    def tls(self) -> TlsConfig | None:
        """Whom to trust, and who we are."""
        ...

    @property
    def proxy_from_environment(self) -> bool:
        """Whether ``HTTPS_PROXY`` and its like count."""
        ...


def client_of(
    options: ApiOptions, own_headers: Mapping[str, str], clock: Clock | None
) -> ApiClient:
    """Return the client that an exporter's options ask for; ``own_headers`` win over theirs.

    Raises:
        ConfigError: an option is wrong.
    """
    return ApiClient(
        options.endpoint,
        {**options.headers, **own_headers},
        timeout_seconds=options.timeout_seconds,
        tls=options.tls,
        proxy_from_environment=options.proxy_from_environment,
        clock=clock,
    )


class Refusals:
    """What an API refused of a payload, item by item, while the others went on.

    A refusal of the caller rather than of an item (a wrong key) is none of these.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []

    def attempt(self, send: Callable[[], object]) -> bool:
        """Send an item; return whether it was taken.

        Raises:
            Unavailable: not now.
            Rejected: nothing would be taken.
        """
        try:
            send()
        except Rejected as refusal:
            if refusal.reason in _OF_THE_CALLER:
                raise
            self.messages.append(str(refusal))
            return False
        return True

    def outcome(self, payload: Payload) -> ExportOutcome:
        """Return what became of ``payload``: an item for each refusal is not sent again."""
        refused = min(len(self.messages), payload.items)
        message = f"{len(self.messages)} refused, first: {self.messages[0]}" if refused else ""
        return ExportOutcome(payload.items - refused, refused, message)


def checked_endpoint(endpoint: str, tls: TlsConfig | None) -> str:
    """Return the URL of an API without a slash at its end.

    Raises:
        ConfigError: it is no http(s) URL with a host, has a query, or asks for plain text together
            with ``tls``.
    """
    try:
        url = urlsplit(endpoint)
        parsed = httpx2.URL(endpoint)
        _ = url.port
    except (ValueError, httpx2.InvalidURL) as failure:
        raise ConfigError(f"endpoint: no URL that can be used: {failure}") from failure
    if url.scheme not in {"http", "https"} or not parsed.host:
        raise ConfigError("endpoint: it is no http:// or https:// URL with a host")
    if url.username is not None or url.password is not None:
        raise ConfigError("endpoint: a user or a password has an option of its own")
    # Only the host is quoted: the rest of an address may be its secret.
    if url.scheme == "http" and tls is not None:
        raise ConfigError(f"endpoint: {parsed.host!r}: plain text, but tls is set: write https://")
    if url.query:
        raise ConfigError(f"endpoint: {parsed.host!r}: an API's address has no query")
    if url.fragment:
        raise ConfigError(f"endpoint: {parsed.host!r}: an API's address has no fragment (#)")
    return endpoint.rstrip("/")


def secret_of(option: str, value: str, file: Path | None) -> str:
    """Return a secret that is given as text or in a file; empty where neither is.

    Raises:
        ConfigError: both are given, or the file cannot be read or is empty.
    """
    if file is None:
        return value.strip()
    if value:
        raise ConfigError(f"{option}, {option}_file: give one of them")
    try:
        found = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as failure:
        raise ConfigError(f"{option}_file: {file} cannot be read: {failure}") from failure
    if not found:
        raise ConfigError(f"{option}_file: {file} is empty")
    return found


def to_json(body: object) -> bytes:
    """Return compact JSON in UTF-8."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def from_json(answer: bytes) -> Any:
    """Return what an answer says; ``None`` where it is no JSON."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None

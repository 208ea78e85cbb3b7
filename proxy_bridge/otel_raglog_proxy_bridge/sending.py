"""Spans to a sidecar: OTLP over HTTP as JSON, from a thread that never holds anybody up."""

from __future__ import annotations

import gzip
import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

_LOG = logging.getLogger(__name__)
_PATH = "/v1/traces"
_TRY_AGAIN = frozenset({429, 502, 503, 504})
_MOST_ANSWER_BYTES = 64 * 1024
_LEAST_TIMEOUT = 0.05


@dataclass(frozen=True, slots=True)
class SendingOptions:
    """Limits and pauses of a sender; bytes are those of JSON before compression."""

    max_bytes: int = 64 * 1024 * 1024
    max_spans: int = 50_000
    batch_bytes: int = 2 * 1024 * 1024
    timeout_seconds: float = 10.0
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where spans go: parts of the endpoint, and headers for each request."""

    secure: bool
    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    content: bytes
    spans: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one request: how many spans were refused, or whether to try again, and why."""

    reason: str = ""
    again: bool = False
    refused: int = 0
    wait_seconds: float | None = None


def target_of(endpoint: str, headers: Sequence[tuple[str, str]] = ()) -> Target:
    """Return where an OTLP endpoint's traces go: its path ends in ``/v1/traces``.

    Raises:
        ValueError: The endpoint is no http or https URL.
    """
    parts = urlsplit(endpoint.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("not an http:// or https:// URL with a host")
    path = parts.path.rstrip("/")
    path = path if path.endswith(_PATH) else path + _PATH
    secure = parts.scheme == "https"
    # http.client would take the end of an IPv6 address for a port where none is given.
    port = parts.port if parts.port is not None else (443 if secure else 80)
    return Target(secure, parts.hostname, port, path, tuple(headers))


class SpanSender:
    """Sends what is put, in order; retries what may succeed later; counts everything.

    At any time ``counts["put"]`` equals ``sent`` + ``rejected`` + the ``dropped_…`` + ``pending``,
    all in spans. No method raises, and none but ``close`` waits.
    """

    def __init__(
        self,
        target: Target,
        options: SendingOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = lambda: time.time_ns() / 1e9,
    ) -> None:
        self._target = target
        self._options = options or SendingOptions()
        self._clock = clock
        self._now = now
        self._changed = threading.Condition()
        self._queue: deque[_Item] = deque()
        self._bytes = 0
        self._pending = 0
        self._counts: Counter[str] = Counter()
        self._deadline: float | None = None
        self._given_up = False
        self._failing: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="raglog-sender", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    @property
    def counts(self) -> Mapping[str, int]:
        """What became of the spans so far."""
        with self._changed:
            return {**self._counts, "pending": self._pending}

    def put(self, resource_spans: Mapping[str, object]) -> bool:
        """Queue one element of ``resourceSpans``; return whether there was room for it."""
        spans = _span_count(resource_spans)
        try:
            content = json.dumps(resource_spans, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            self._drop("not_json", spans)
            self._failed(f"spans that are no JSON ({type(error).__name__})")
            return False
        reason = self._queued(_Item(content, spans))
        if reason == "queue_full":
            self._failed("a full queue: the newest spans are dropped")
        return not reason

    def close(self, timeout_seconds: float) -> None:
        """Send what can be sent within the time; what remains is counted as dropped."""
        with self._changed:
            self._deadline = self._clock() + max(0.0, timeout_seconds)
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, timeout_seconds))
        with self._changed:
            self._given_up = True
            self._counts["dropped_shutdown"] += self._pending
            self._pending = 0
            self._queue.clear()

    # ------------------------------------------------------------------ the queue

    def _queued(self, item: _Item) -> str:
        """Take ``item`` in, or count it as dropped and return why."""
        with self._changed:
            self._counts["put"] += item.spans
            reason = ""
            if self._deadline is not None:
                reason = "shutdown"
            elif (
                self._bytes + len(item.content) > self._options.max_bytes
                or self._pending + item.spans > self._options.max_spans
            ):
                reason = "queue_full"
            if reason:
                self._counts[f"dropped_{reason}"] += item.spans
                return reason
            self._queue.append(item)
            self._bytes += len(item.content)
            self._pending += item.spans
            self._changed.notify_all()
            return ""

    def _drop(self, reason: str, spans: int) -> None:
        with self._changed:
            self._counts["put"] += spans
            self._counts[f"dropped_{reason}"] += spans

    def _batch(self) -> list[_Item]:
        """Wait for spans; return the oldest, an empty list when there will be no more."""
        with self._changed:
            while not self._queue and self._deadline is None:
                self._changed.wait()
            batch: list[_Item] = []
            size = 0
            for item in self._queue:
                if batch and size + len(item.content) > self._options.batch_bytes:
                    break
                batch.append(item)
                size += len(item.content)
            return batch

    def _settle(self, batch: Sequence[_Item], *, refused: int) -> None:
        spans = sum(item.spans for item in batch)
        with self._changed:
            if self._given_up:  # `close` has counted them
                return
            for item in batch:
                self._queue.popleft()
                self._bytes -= len(item.content)
            self._pending -= spans
            self._counts["rejected"] += min(refused, spans)
            self._counts["sent"] += spans - min(refused, spans)

    # ----------------------------------------------------------------- the thread

    def _run(self) -> None:
        pause = self._options.first_pause_seconds
        while batch := self._batch():
            outcome = self._post(batch)
            if not outcome.again:
                self._settle(batch, refused=outcome.refused)
                pause = self._options.first_pause_seconds
                if not outcome.reason:
                    self._recovered()
            if outcome.reason:
                self._failed(outcome.reason)
            if outcome.again:
                if self._is_closing():  # it was tried once more, and there is no time to wait
                    return
                longest = self._options.longest_pause_seconds
                self._pause(min(longest, max(pause, outcome.wait_seconds or 0.0)))
                pause = min(longest, pause * 2)

    def _is_closing(self) -> bool:
        with self._changed:
            return self._deadline is not None

    def _pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        with self._changed:
            while self._deadline is None and (left := until - self._clock()) > 0:
                self._changed.wait(left)

    def _post(self, batch: Sequence[_Item]) -> _Outcome:
        spans = sum(item.spans for item in batch)
        body = b'{"resourceSpans":[' + b",".join(item.content for item in batch) + b"]}"
        headers = {
            "content-type": "application/json",
            "content-encoding": "gzip",
            **dict(self._target.headers),
        }
        connection: HTTPConnection | None = None
        try:
            connection = self._connection()
            connection.request("POST", self._target.path, gzip.compress(body, 1, mtime=0), headers)
            answer = connection.getresponse()
            content = answer.read(_MOST_ANSWER_BYTES)
            return self._told(answer.status, content, answer.getheader("retry-after"), spans)
        except (OSError, HTTPException) as error:
            return _Outcome(f"no answer ({type(error).__name__})", again=True)
        except Exception as error:  # noqa: BLE001 - the sender outlives a batch that it cannot send
            return _Outcome(f"an unforeseen {type(error).__name__}", refused=spans)
        finally:
            if connection is not None:
                connection.close()

    def _connection(self) -> HTTPConnection:
        timeout = self._options.timeout_seconds
        with self._changed:
            if self._deadline is not None:
                timeout = min(timeout, max(_LEAST_TIMEOUT, self._deadline - self._clock()))
        kind = HTTPSConnection if self._target.secure else HTTPConnection
        return kind(self._target.host, self._target.port, timeout=timeout)

    def _told(self, status: int, content: bytes, retry_after: str | None, spans: int) -> _Outcome:
        if status in _TRY_AGAIN:
            wait = _seconds(retry_after, self._now)
            return _Outcome(f"status {status}", again=True, wait_seconds=wait)
        if 200 <= status < 300:  # noqa: PLR2004
            refused = _refused(content)
            return _Outcome("a partial success" if refused else "", refused=refused)
        return _Outcome(f"status {status}, for good", refused=spans)

    def _failed(self, reason: str) -> None:
        with self._changed:
            first = reason not in self._failing
            self._failing.add(reason)
        if first:
            _LOG.warning(
                "raglog: sending spans to %s:%d: %s", self._target.host, self._target.port, reason
            )

    def _recovered(self) -> None:
        with self._changed:
            failing, self._failing = self._failing, set()
        if failing:
            _LOG.warning(
                "raglog: spans are taken by %s:%d again", self._target.host, self._target.port
            )


def _span_count(resource_spans: Mapping[str, object]) -> int:
    scopes = resource_spans.get("scopeSpans")
    if not isinstance(scopes, Sequence):
        return 0
    found = (scope.get("spans") for scope in scopes if isinstance(scope, Mapping))
    return sum(len(spans) for spans in found if isinstance(spans, Sequence))


def _refused(content: bytes) -> int:
    """Return how many spans a success says that it refused; OTLP writes the number as a text."""
    try:
        return max(0, int(json.loads(content)["partialSuccess"]["rejectedSpans"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


def _seconds(retry_after: str | None, now: Callable[[], float]) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now())
    except (ValueError, OverflowError):
        return None

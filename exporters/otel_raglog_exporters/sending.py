"""Spans offered for a destination turned into exports that are repeated until they settle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Protocol, TypeAlias

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.model import WireSpan
from otel_raglog_exporters.grouping import MAX_REQUEST_BYTES
from otel_raglog_exporters.span_queue import Pull, SendingCounts, SpanQueue

_log = structlog.get_logger()
_LAST_JOIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """What the destination made of an export: ``rejected`` spans are not sent again."""

    accepted: int
    rejected: int = 0
    message: str = ""


class Exporter(Protocol):
    """A destination. One call of ``export`` is one request: all of it is taken, or none."""

    @property
    def name(self) -> str:
        """The destination's name, for metrics and logs."""
        ...

    def export(self, spans: Sequence[WireSpan]) -> ExportOutcome:
        """Send ``spans`` once, without retry; no spans are fine and send nothing.

        Raises:
            Unavailable: not now (also after ``close``).
            Rejected: refused for good.
        """
        ...

    def close(self) -> None:
        """Free what is held. May be called again, and while another thread exports."""
        ...


class SendingObserver(Protocol):
    """What a sender counts, by the exporter's name."""

    def forwarded(self, exporter: str, count: int) -> None:
        """The destination took spans."""
        ...

    def dropped(self, exporter: str, reason: str, count: int) -> None:
        """Spans were given up."""
        ...

    def backend_rejected(self, exporter: str, count: int) -> None:
        """The destination took a request and refused spans of it (partial success)."""
        ...

    def retried(self, exporter: str) -> None:
        """A request will be sent again."""
        ...

    def queue(self, exporter: str, spans: int, size_bytes: int) -> None:
        """So much is pending."""
        ...


@dataclass(frozen=True, slots=True)
class SendingConfig:
    """Queue, batches and retry of one destination.

    ``batch_seconds`` is the longest wait for a batch to fill. The back-off starts at
    ``initial_backoff_seconds`` and grows by ``backoff_multiplier`` up to
    ``max_backoff_seconds``, each time changed by up to ``jitter`` (a share) in either
    direction; a destination's own word (Retry-After, RetryInfo) goes before it, up to
    ``max_retry_after_seconds``. A batch that did not get through for ``max_elapsed_seconds``
    is dropped; 0 means never.

    Raises:
        ConfigError: a value is out of range.
    """

    queue_spans: int = 100_000
    queue_bytes: int = 128 * 1024 * 1024
    batch_spans: int = 512
    batch_bytes: int = MAX_REQUEST_BYTES
    batch_seconds: float = 0.2
    initial_backoff_seconds: float = 1.0
    max_backoff_seconds: float = 30.0
    backoff_multiplier: float = 1.5
    jitter: float = 0.2
    max_retry_after_seconds: float = 600.0
    max_elapsed_seconds: float = 0.0
    max_unexpected_errors: int = 3

    def __post_init__(self) -> None:
        positive = {"queue_spans", "queue_bytes", "batch_spans", "batch_bytes"}
        for option in fields(self):
            value = getattr(self, option.name)
            least = 1 if option.name in positive | {"backoff_multiplier"} else 0
            if not value >= least:
                raise ConfigError(f"{option.name}: {value!r} is less than {least}")
        if self.jitter > 1:
            raise ConfigError(f"jitter: {self.jitter!r} is more than 1")

    def backoff_seconds(self, failures: int, random: Random) -> float:
        """Return how long to wait after ``failures`` (1 or more) failures in a row."""
        grown = self.initial_backoff_seconds
        for _ in range(failures - 1):
            if grown >= self.max_backoff_seconds:
                break
            grown *= self.backoff_multiplier
        shift = 1 + self.jitter * (2 * random.random() - 1)
        return min(grown, self.max_backoff_seconds) * shift


Wait: TypeAlias = Callable[[threading.Event, float], object]
"""Waits until the event is set, at most so many seconds."""


def wait_for(event: threading.Event, seconds: float) -> bool:
    """Wait on the machine's time."""
    return event.wait(seconds)


class Sender:
    """A bounded queue and a thread that sends from it, in order, one request at a time.

    ``counts()`` balances at any moment: each offered span is forwarded, rejected by the
    backend, dropped for a reason, or pending. The retry loop is our own rather than
    stamina's, since a destination's Retry-After and a shutdown must both cut into its waits.
    """

    def __init__(
        self,
        exporter: Exporter,
        config: SendingConfig,
        observer: SendingObserver,
        clock: Clock,
        random: Random,
        *,
        wait: Wait = wait_for,
    ) -> None:
        self._exporter = exporter
        self._config = config
        self._observer = observer
        self._clock = clock
        self._random = random
        self._wait = wait
        self._queue = SpanQueue(config.queue_spans, config.queue_bytes)
        self._pull = Pull(config.batch_spans, config.batch_bytes, config.batch_seconds)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._failing = False
        self._logged: set[str] = set()
        self._thread = threading.Thread(target=self._run, name=f"send-{self.name}", daemon=True)

    @property
    def name(self) -> str:
        """The exporter's name."""
        return self._exporter.name

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def has_room(self, spans: Sequence[WireSpan]) -> bool:
        """Return whether ``offer`` would take ``spans`` now."""
        return self._queue.has_room(spans)

    def offer(self, spans: Sequence[WireSpan]) -> None:
        """Queue all of ``spans``.

        Raises:
            Unavailable: the queue is full, or the sender stopped; none was queued.
        """
        self._queue.offer(spans)
        self._tell_queue()

    def counts(self) -> SendingCounts:
        """Return the books, as of one moment."""
        return self._queue.counts()

    def stop(self, grace_seconds: float = 10.0) -> bool:
        """Send what is queued, then drop the rest as ``shutdown`` and close the exporter.

        A wait for a retry is cut short; further ones last while the grace does. Returns
        whether everything got through. May be called again.
        """
        self._queue.close()
        self._stopping.set()
        started = self._thread.ident is not None
        if started:
            self._thread.join(grace_seconds)
        self._abandoned.set()
        left = self._queue.abandon("shutdown")
        if left:
            self._observer.dropped(self.name, "shutdown", left)
        self._tell_queue()
        # Closing waits for the export in flight, which may hang in a file system or a peer.
        closing = threading.Thread(target=self._exporter.close, daemon=True)
        closing.start()
        closing.join(_LAST_JOIN_SECONDS)
        if started:
            self._thread.join(_LAST_JOIN_SECONDS)
        return not left

    def _run(self) -> None:
        while batch := self._queue.take(self._pull):
            self._deliver(batch)
            self._tell_queue()

    def _deliver(self, batch: tuple[WireSpan, ...]) -> None:
        """Send ``batch`` until it settles or is abandoned."""
        began = self._clock.monotonic()
        failures = unexpected = 0
        while not self._abandoned.is_set():
            told: float | None = None
            try:
                outcome = self._exporter.export(batch)
            except Rejected as refusal:
                self._drop(refusal.reason, str(refusal))
                return
            except Unavailable as failure:
                told = failure.retry_after_seconds
                self._note_outage(str(failure))
            except Exception as defect:  # noqa: BLE001  one exporter's defect stays its own
                unexpected += 1
                self._log_once("exporter_error", repr(defect))
                if unexpected > self._config.max_unexpected_errors:
                    self._drop("exporter_error", repr(defect))
                    return
            else:
                self._settle(len(batch), outcome)
                return
            failures += 1
            delay = self._delay(failures, told)
            limit = self._config.max_elapsed_seconds
            if limit and self._clock.monotonic() - began + delay > limit:
                self._drop("retry_expired", f"not delivered for {limit} seconds")
                return
            self._observer.retried(self.name)
            self._wait(self._abandoned if self._stopping.is_set() else self._stopping, delay)

    def _delay(self, failures: int, told: float | None) -> float:
        if told:
            return min(told, self._config.max_retry_after_seconds)
        return self._config.backoff_seconds(failures, self._random)

    def _settle(self, sent: int, outcome: ExportOutcome) -> None:
        rejected = min(max(outcome.rejected, 0), sent)
        forwarded = sent - rejected
        if self._queue.settle(forwarded=forwarded, rejected=rejected):
            if forwarded:
                self._observer.forwarded(self.name, forwarded)
            if rejected:
                self._observer.backend_rejected(self.name, rejected)
                self._log_once("backend_rejected", outcome.message)
        if self._failing:
            self._failing = False
            _log.info("destination is back", exporter=self.name)

    def _drop(self, reason: str, message: str) -> None:
        dropped = self._queue.settle(dropped=reason)
        if dropped:
            self._observer.dropped(self.name, reason, dropped)
            self._log_once(reason, message)

    def _tell_queue(self) -> None:
        counts = self._queue.counts()
        self._observer.queue(self.name, counts.pending, counts.pending_bytes)

    def _note_outage(self, message: str) -> None:
        if not self._failing:
            self._failing = True
            _log.warning("destination is unavailable", exporter=self.name, error=message)

    def _log_once(self, reason: str, message: str) -> None:
        if reason not in self._logged:
            self._logged.add(reason)
            _log.warning("spans refused", exporter=self.name, reason=reason, error=message)

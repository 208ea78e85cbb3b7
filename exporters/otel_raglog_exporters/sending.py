"""Payloads that a source hands out turned into exports that are repeated until they settle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, TypeAlias

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.batches import Payloads, apart, by_headers, halve, join
from otel_raglog_exporters.cutting import cut_payload
from otel_raglog_exporters.grouping import MAX_REQUEST_BYTES
from otel_raglog_exporters.via import with_via

_LAST_JOIN_SECONDS = 0.1
_BACKOFF_GROWTH = 1.5
_MOST_RETRY_AFTER_SECONDS = 600.0
_MOST_DEFECTS = 3
"""Unexpected exceptions of an exporter in one batch after which it is not just tried again."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """What the destination made of a request, in items: ``rejected`` are not sent again."""

    accepted: int
    rejected: int = 0
    message: str = ""


class Exporter(Protocol):
    """A destination, of any signal. One call of ``export`` is one request: taken whole, or not."""

    @property
    def name(self) -> str:
        """The destination's name, for metrics and logs."""
        ...

    def export(self, payload: Payload) -> ExportOutcome:
        """Send ``payload`` once, without retry; an empty body is fine and sends nothing.

        ``payload.headers`` go out with it; of a header that the exporter sends itself, its own
        value wins. May be called by several threads at once.

        Raises:
            Unavailable: not now (also after ``close``).
            Rejected: refused for good.
        """
        ...

    def close(self) -> None:
        """Free what is held. May be called again, and while another thread exports."""
        ...


@dataclass(frozen=True, slots=True)
class Pull:
    """How a batch is cut: at this many items or body bytes, or after this wait.

    A payload that is bigger than both goes alone.
    """

    items: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Taken:
    """Consecutive payloads, at least one, of any headers; ``last`` is the last one's number."""

    payloads: tuple[Payload, ...]
    last: int


class Source(Protocol):
    """Where one destination's payloads of one signal come from, in order.

    One thread takes and settles, one batch at a time; the rest may be called by others. What was
    taken stays pending until it is settled.
    """

    def take(self, pull: Pull) -> Taken | None:
        """Wait for a payload, then ``pull.seconds`` at most until the batch is full.

        Returns ``None`` when the source is closed and empty, and only then.
        """
        ...

    def settle(self, taken: Taken) -> None:
        """Never hand out ``taken``, or what came before it, again."""
        ...

    def close(self) -> None:
        """Wait no longer: ``take`` returns what is left at once, then ``None``."""
        ...

    @property
    def pending_items(self) -> int:
        """Items not settled."""
        ...


class DeadLetters(Protocol):
    """Where refused payloads are kept for people."""

    def put(self, exporter: str, payload: Payload, reason: str, message: str) -> bool:
        """Keep ``payload``; returns whether that worked. Never raises."""
        ...


class SendingObserver(Protocol):
    """What a sender counts, in items, by the exporter's name."""

    def forwarded(self, exporter: str, signal: Signal, count: int) -> None:
        """The destination took items."""
        ...

    def dropped(self, exporter: str, signal: Signal, reason: str, count: int) -> None:
        """Items were given up."""
        ...

    def backend_rejected(self, exporter: str, signal: Signal, count: int) -> None:
        """The destination took a request and refused items of it (partial success)."""
        ...

    def retried(self, exporter: str, signal: Signal) -> None:
        """A request will be sent again."""
        ...


@dataclass(frozen=True, slots=True)
class SendingConfig:
    """Batches and retry of one destination.

    ``batch_seconds`` is the longest wait for a batch to fill. The back-off starts at
    ``initial_backoff_seconds`` and grows by half up to ``max_backoff_seconds``, each time changed by
    up to ``jitter`` (a share) in either direction; a destination's own word (Retry-After,
    RetryInfo) goes before it, up to ten minutes. A request that did not get through for
    ``max_elapsed_seconds`` is dropped; 0 means never.
    """

    batch_items: int = 4_096
    batch_bytes: int = MAX_REQUEST_BYTES
    batch_seconds: float = 0.2
    initial_backoff_seconds: float = 1.0
    max_backoff_seconds: float = 30.0
    jitter: float = 0.2
    max_elapsed_seconds: float = 0.0

    def backoff_seconds(self, failures: int, random: Random) -> float:
        """Return how long to wait after ``failures`` (1 or more) failures in a row."""
        grown = self.initial_backoff_seconds
        for _ in range(failures - 1):
            if grown >= self.max_backoff_seconds:
                break
            grown *= _BACKOFF_GROWTH
        shift = 1 + self.jitter * (2 * random.random() - 1)
        return min(grown, self.max_backoff_seconds) * shift


Wait: TypeAlias = Callable[[threading.Event, float], object]
"""Waits until the event is set, at most so many seconds."""


def wait_for(event: threading.Event, seconds: float) -> bool:
    """Wait on the machine's time."""
    return event.wait(seconds)


def close_in_time(exporter: Exporter, seconds: float = 1.0) -> None:
    """Close ``exporter``, waiting ``seconds`` at most: an export that hangs may hold it up."""
    closing = threading.Thread(target=exporter.close, daemon=True)
    closing.start()
    closing.join(seconds)


@dataclass(slots=True)
class _Books:
    """What became of the parts of one batch."""

    forwarded: int = 0
    rejected: int = 0
    refused: list[tuple[Payload, Rejected]] = field(default_factory=list)
    defects_left: int = _MOST_DEFECTS


class Sender:
    """A thread that sends what a source hands out, one request at a time.

    Of each batch, payloads of equal headers leave together, in their order, and those of other
    headers in requests of their own.
    Each payload is settled once it was forwarded, rejected by the backend, or dropped, which is
    then in the dead letters; a batch that is cut off by :meth:`stop` stays in the source whole.
    The retry loop is our own rather than stamina's, since a destination's Retry-After and a
    shutdown must both cut into its waits. The exporter, which several signals share, is not ours
    to close.

    ``instance_id`` goes into the header that tells sidecars where a request came by.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        exporter: Exporter,
        source: Source,
        signal: Signal,
        config: SendingConfig,
        observer: SendingObserver,
        dead_letters: DeadLetters,
        clock: Clock,
        random: Random,
        *,
        instance_id: str = "",
        wait: Wait = wait_for,
    ) -> None:
        self.signal = signal
        self._exporter = exporter
        self._source = source
        self._config = config
        self._observer = observer
        self._dead_letters = dead_letters
        self._clock = clock
        self._random = random
        self._instance_id = instance_id
        self._wait = wait
        self._pull = Pull(config.batch_items, config.batch_bytes, config.batch_seconds)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._settling = threading.Lock()
        self._failing = False
        self._logged: set[str] = set()
        name = f"send-{self.name}-{signal}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def name(self) -> str:
        """The exporter's name."""
        return self._exporter.name

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, grace_seconds: float = 10.0) -> int:
        """Send what is in the source for ``grace_seconds`` at most; return the items left there.

        A wait for a retry is cut short; further ones last while the grace does. Afterwards the
        source is touched no more, also by an export that still hangs. May be called again, from
        another thread also to cut the first call short.
        """
        self._source.close()
        self._stopping.set()
        started = self._thread.ident is not None
        if started:
            self._thread.join(grace_seconds)
        with self._settling:
            self._abandoned.set()
        if started:
            self._thread.join(_LAST_JOIN_SECONDS)
        return self._source.pending_items

    def _run(self) -> None:
        failures = 0
        while not self._abandoned.is_set():
            try:
                taken = self._source.take(self._pull)
                if taken is None:
                    return
                self._pass_on(taken)
            except Exception as defect:  # noqa: BLE001  without the thread nothing would leave
                self._log_first(type(defect).__name__, "sending failed", error=repr(defect))
                failures += 1
                self._pause(self._config.backoff_seconds(failures, self._random))
            else:
                failures = 0

    def _pass_on(self, taken: Taken) -> None:
        books = _Books()
        if self._deliver(taken, books):
            with self._settling:
                if not self._abandoned.is_set():
                    self._settle(taken, books)

    def _deliver(self, taken: Taken, books: _Books) -> bool:
        """Send a batch until all of it has settled; returns whether it has."""
        todo: list[Payloads] = []
        for payloads in reversed(by_headers(taken.payloads)):
            if len(payloads) == 1:
                todo.extend(apart(cut_payload(payloads[0], self._config.batch_bytes)))
            else:
                todo.append(payloads)
        while todo:
            payloads = todo.pop()
            payload = join(payloads)
            answer = self._send(payload, books)
            if answer is None:
                return False
            if isinstance(answer, ExportOutcome):
                rejected = min(max(answer.rejected, 0), payload.items)
                books.rejected += rejected
                books.forwarded += payload.items - rejected
                if rejected:
                    self._log_once("backend_rejected", answer.message)
            elif halves := halve(payloads, answer.reason):
                todo.extend(halves)
            else:
                books.refused.append((payload, answer))
        return True

    def _send(self, payload: Payload, books: _Books) -> ExportOutcome | Rejected | None:
        """Send one request until it is answered; ``None`` when that was abandoned."""
        passing = replace(payload, headers=with_via(payload.headers, self._instance_id))
        began = self._clock.monotonic()
        failures = 0
        while not self._abandoned.is_set():
            told: float | None = None
            try:
                outcome = self._exporter.export(passing)
            except Rejected as refusal:
                return refusal
            except Unavailable as failure:
                told = failure.retry_after_seconds
                self._note_outage(str(failure))
            except Exception as defect:  # noqa: BLE001  one exporter's defect stays its own
                self._log_once("exporter_error", repr(defect))
                if books.defects_left <= 0:
                    return Rejected(repr(defect), "exporter_error")
                books.defects_left -= 1
            else:
                self._note_return()
                return outcome
            failures += 1
            delay = self._delay(failures, told)
            limit = self._config.max_elapsed_seconds
            if limit and self._clock.monotonic() - began + delay > limit:
                return Rejected(f"not delivered for {limit} seconds", "retry_expired")
            self._observer.retried(self.name, self.signal)
            self._pause(delay)
        return None

    def _pause(self, seconds: float) -> None:
        """Wait; a shutdown cuts that short once, and its end for good."""
        self._wait(self._abandoned if self._stopping.is_set() else self._stopping, seconds)

    def _delay(self, failures: int, told: float | None) -> float:
        if told:
            return min(told, _MOST_RETRY_AFTER_SECONDS)
        return self._config.backoff_seconds(failures, self._random)

    def _settle(self, taken: Taken, books: _Books) -> None:
        for payload, refusal in books.refused:
            self._log_once(refusal.reason, str(refusal))
            if not self._dead_letters.put(self.name, payload, refusal.reason, str(refusal)):
                self._log_once("no_dead_letter", "refused items could not be kept")
        self._source.settle(taken)
        if books.forwarded:
            self._observer.forwarded(self.name, self.signal, books.forwarded)
        if books.rejected:
            self._observer.backend_rejected(self.name, self.signal, books.rejected)
        for payload, refusal in books.refused:
            self._observer.dropped(self.name, self.signal, refusal.reason, payload.items)

    def _note_outage(self, message: str) -> None:
        if not self._failing:
            self._failing = True
            self._log_warning("destination is unavailable", error=message)

    def _note_return(self) -> None:
        if self._failing:
            self._failing = False
            _log.info("destination is back", exporter=self.name, signal=str(self.signal))

    def _log_once(self, reason: str, message: str) -> None:
        self._log_first(reason, "items refused", reason=reason, error=message)

    def _log_first(self, kind: str, event: str, **what: str) -> None:
        if kind not in self._logged:
            self._logged.add(kind)
            self._log_warning(event, **what)

    def _log_warning(self, event: str, **what: str) -> None:
        _log.warning(event, exporter=self.name, signal=str(self.signal), **what)

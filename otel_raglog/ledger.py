"""Accepted and delivered items to counters that prove that nothing is lost."""

from __future__ import annotations

import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge

from otel_raglog.model import Signal

_NOUNS = {
    Signal.TRACES: ("spans", "spans"),
    Signal.METRICS: ("metric_points", "data points"),
    Signal.LOGS: ("log_records", "log records"),
}
"""Per signal, the items' name in metrics and in words."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The books of one destination for one signal, at one moment, in items.

    ``recovered`` are those that the journal owed to it when the process started.
    """

    received: int
    rejected: int
    recovered: int
    forwarded: int
    dropped: int
    backend_rejected: int

    @property
    def pending(self) -> int:
        """Accepted items that have not left yet."""
        owed = self.received - self.rejected + self.recovered
        return owed - self.forwarded - self.dropped - self.backend_rejected


class _Column:
    """What became of one signal's items: received once, then settled per destination."""

    def __init__(self) -> None:
        self.received = 0
        self.rejected = 0
        self.by_exporter: dict[str, Tally[str]] = {}

    def balance(self, exporter: str) -> Balance:
        entries = self.by_exporter[exporter]
        return Balance(
            self.received,
            self.rejected,
            entries["recovered"],
            entries["forwarded"],
            entries["dropped"],
            entries["backend_rejected"],
        )


class _Counters:
    """The metrics of one signal."""

    def __init__(self, registry: CollectorRegistry, signal: Signal) -> None:
        noun, words = _NOUNS[signal]

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"raglog_{noun}_{name}", text, labels, registry=registry)

        self.received = counter(
            "received", f"{words.capitalize()} that arrived; an unreadable request counts as one."
        )
        self.rejected = counter(
            "rejected",
            f"Received {words} that were not accepted: invalid, or (unavailable) without room.",
            "reason",
        )
        self.recovered = counter(
            "recovered", f"Undelivered {words} that the journal held at the start.", "exporter"
        )
        self.forwarded = counter("forwarded", f"{words.capitalize()} delivered.", "exporter")
        self.dropped = counter(
            "dropped", f"Accepted {words} that were not delivered.", "exporter", "reason"
        )
        self.pending = Gauge(
            f"raglog_{noun}_pending",
            f"Accepted {words} that have not reached every destination.",
            registry=registry,
        )


class Ledger:
    """Counts every item of every signal once at each border.

    Per destination and signal: received + recovered = forwarded + rejected + dropped + pending.
    ``received`` counts all items, those of refused requests included; a request that cannot be
    read counts as one. Thread-safe.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lock = threading.Lock()
        self._columns = {signal: _Column() for signal in Signal}
        self._counters = {signal: _Counters(registry, signal) for signal in Signal}
        for signal in Signal:
            self._counters[signal].pending.set_function(self._reader(signal))
        self._retries = Counter(
            "raglog_export_retries",
            "Requests that a destination did not take at once.",
            ["exporter", "signal"],
            registry=registry,
        )
        self._damaged = Counter(
            "raglog_journal_damaged_records",
            "Records of the journal that could not be read; what they held is lost.",
            registry=registry,
        )
        self._redaction_failures = Counter(
            "raglog_redaction_failures",
            "Items, resources and scopes that could not be redacted and left without content.",
            ["exporter", "signal"],
            registry=registry,
        )
        self._queue_items = Gauge(
            "raglog_queue_items",
            "Items decided and not yet delivered to a destination.",
            ["exporter", "signal"],
            registry=registry,
        )

    def received(self, signal: Signal, items: int) -> None:
        """Count what arrived, the refused items among it included."""
        with self._lock:
            self._columns[signal].received += items
        self._counters[signal].received.inc(items)

    def rejected(self, signal: Signal, reason: str, items: int) -> None:
        """Count items refused at the door."""
        with self._lock:
            self._columns[signal].rejected += items
        self._counters[signal].rejected.labels(reason).inc(items)

    def add_exporter(self, exporter: str, signals: Iterable[Signal] = Signal) -> None:
        """Begin the books of ``exporter``: every accepted item is owed to it from now on."""
        with self._lock:
            for signal in signals:
                self._columns[signal].by_exporter[exporter] = Tally()

    def watch_queue(self, exporter: str, signal: Signal, items: Callable[[], float]) -> None:
        """Show what is queued for ``exporter``, read when metrics are scraped."""
        self._queue_items.labels(exporter, signal.value).set_function(items)

    def recovered(self, exporter: str, signal: Signal, items: int) -> None:
        """Count items that an earlier process accepted and still owes to ``exporter``."""
        self._book(exporter, signal, "recovered", items)
        self._counters[signal].recovered.labels(exporter).inc(items)

    def forwarded(self, exporter: str, signal: Signal, items: int) -> None:
        """Count items that the destination took."""
        self._book(exporter, signal, "forwarded", items)
        self._counters[signal].forwarded.labels(exporter).inc(items)

    def dropped(self, exporter: str, signal: Signal, reason: str, items: int) -> None:
        """Count items given up for ``exporter``."""
        self._book(exporter, signal, "dropped", items)
        self._counters[signal].dropped.labels(exporter, reason).inc(items)

    def backend_rejected(self, exporter: str, signal: Signal, items: int) -> None:
        """Count items that the destination refused in a partial success."""
        self._book(exporter, signal, "backend_rejected", items)
        self._counters[signal].dropped.labels(exporter, "backend_rejected").inc(items)

    def retried(self, exporter: str, signal: Signal) -> None:
        """Count one failed try."""
        self._retries.labels(exporter, signal.value).inc()

    def redaction_failed(self, exporter: str, signal: Signal, count: int) -> None:
        """Count what left without its content, since it could not be redacted."""
        self._redaction_failures.labels(exporter, signal.value).inc(count)

    def damaged(self, count: int) -> None:
        """Count journal records that cannot be read; what they held may be unknown."""
        self._damaged.inc(count)

    def balances(self) -> dict[tuple[str, Signal], Balance]:
        """Return all books, as of one moment."""
        with self._lock:
            return {
                (exporter, signal): column.balance(exporter)
                for signal, column in self._columns.items()
                for exporter in column.by_exporter
            }

    def _reader(self, signal: Signal) -> Callable[[], float]:
        def pending() -> float:
            return max(
                (balance.pending for (_, own), balance in self.balances().items() if own is signal),
                default=0,
            )

        return pending

    def _book(self, exporter: str, signal: Signal, entry: str, items: int) -> None:
        with self._lock:
            self._columns[signal].by_exporter.setdefault(exporter, Tally())[entry] += items

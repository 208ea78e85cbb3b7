"""A configuration to the way out: the journal, and a sender for each destination and signal."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import ConfigError
from otel_raglog.journal.cursors import CursorFolder, MemoryCursors
from otel_raglog.journal.dead_letters import DeadLetterFile
from otel_raglog.journal.feed import Feed
from otel_raglog.journal.journal import Journal, JournalLimits, Recovered
from otel_raglog.journal.memory import MemoryStore
from otel_raglog.journal.reserve import ReserveFile
from otel_raglog.journal.segments import SegmentStore
from otel_raglog.journal.store import Store
from otel_raglog.ledger import Ledger
from otel_raglog.model import Payload, Signal
from otel_raglog.options import Config, Destination, Sending
from otel_raglog.redaction.recent import Recent
from otel_raglog.redaction.redaction import Redaction
from otel_raglog.redaction.source import RedactedSource
from otel_raglog_exporters.registry import build_exporter, exporter_kind
from otel_raglog_exporters.sending import (
    DeadLetters,
    Exporter,
    Sender,
    SendingConfig,
    Source,
    close_in_time,
)

_MIB = 1024 * 1024
_SEGMENTS = 16
"""Parts into which the journal is cut: space comes back a part at a time."""
_SMALLEST_SEGMENT = 64 * 1024
_LARGEST_SEGMENT = 64 * _MIB
_REMEMBER_SHARE = 16
"""The part of the journal that may hold decisions for the sake of late spans alone."""
_RESERVE_SHARE = 10
"""The part of a file system that is left to others at most."""
_RING_SHARE = 4
_LARGEST_RESERVE_FILE = 64 * _MIB
_TICK_SECONDS = 0.5
_PRIVATE_FOLDER = 0o700
_LAST_SECONDS = 1.0
_log = structlog.get_logger()


def build_exporters(config: Config) -> dict[str, Exporter]:
    """Return the exporters that ``config`` names, by name.

    Raises:
        ConfigError: a kind or an option is unknown, or a value is wrong.
    """
    exporters: dict[str, Exporter] = {}
    for name, destination in config.exporters.items():
        try:
            exporters[name] = build_exporter(
                destination.kind, {**destination.options, "name": name}
            )
        except ConfigError as error:
            # Exporters name their options after their kind, or alone.
            problem = str(error).removeprefix(f"{destination.kind}.")
            problem = problem.replace(f"; {destination.kind}.", f"; exporters.{name}.")
            raise ConfigError(f"exporters.{name}.{problem}") from None
    return exporters


def signals_of(name: str, destination: Destination) -> frozenset[Signal]:
    """Return what a destination takes: what is asked for, else all that its kind takes.

    Raises:
        ConfigError: its kind does not take what is asked for.
    """
    possible = exporter_kind(destination.kind).signals
    if destination.signals is None:
        return possible
    refused = sorted(set(destination.signals) - possible)
    if refused:
        raise ConfigError(
            f"exporters.{name}.signals: {destination.kind} takes {', '.join(sorted(possible))}, "
            f"not {refused[0]}"
        )
    return frozenset(destination.signals)


class Delivery:
    """Everything behind the acknowledgement: what is accepted is kept until it is delivered.

    With ``redaction``, what leaves the journal is redacted before anything else sees it.

    Raises:
        ConfigError: an exporter is wrong, or the journal's folder cannot be had.
    """

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        clock: Clock,
        instance_id: str,
        redaction: Redaction | None = None,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._durable = config.journal.enabled
        self._exporters = build_exporters(config)
        self._destinations = {
            name: signals_of(name, destination) for name, destination in config.exporters.items()
        }
        self.journal = _build_journal(config, ledger, clock)
        self._feeds = self.journal.open(self._destinations)
        for name, signals in self._destinations.items():
            ledger.add_exporter(name, signals)
        recent = Recent(redaction) if redaction is not None else None
        sending, dead_letters = _sending(config.sending), _dead_letters(config, clock)
        self._senders = [
            Sender(
                self._exporters[feed.destination],
                _source(feed, recent, ledger),
                feed.signal,
                sending,
                ledger,
                dead_letters,
                clock,
                random.Random(),  # noqa: S311  jitter
                instance_id=instance_id,
            )
            for feed in self._feeds
        ]
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="journal", daemon=True)

    @property
    def signals(self) -> frozenset[Signal]:
        """The signals that some destination takes."""
        return frozenset().union(*self._destinations.values())

    @property
    def memory_bytes(self) -> int:
        """Bytes of accepted data that are kept in memory for want of a journal on disk."""
        return 0 if self._durable else self.journal.size_bytes

    def recover(self) -> Recovered:
        """Return what an earlier process accepted; what it owes is in the ledger from now on."""
        recovered = self.journal.recover()
        for (name, signal), items in recovered.owed.items():
            self._ledger.recovered(name, signal, items)
        return recovered

    def owe(self, signal: Signal, items: int) -> None:
        """Enter recovered items that were not decided yet: every destination will get them."""
        for feed in self._feeds:
            if feed.signal is signal:
                self._ledger.recovered(feed.destination, signal, items)

    def start(self) -> None:
        """Begin to send."""
        for feed in self._feeds:
            self._watch(feed)
        for sender in self._senders:
            sender.start()
        self._ticker.start()

    def stop(self, grace_seconds: float) -> None:
        """Deliver for ``grace_seconds`` at most; the rest stays in the journal, if it is on disk.

        May be called again, from another thread also, to cut it short. Without a journal on disk
        the rest is lost, and counted as dropped.
        """
        # Side by side: none may use up the time of another.
        threads = [
            threading.Thread(target=sender.stop, args=(grace_seconds,), daemon=True)
            for sender in self._senders
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(grace_seconds + 2 * _LAST_SECONDS)

    def close(self) -> None:
        """Close journal and exporters. Call it once, after :meth:`stop`."""
        self._ended.set()
        if self._ticker.ident is not None:
            self._ticker.join(_LAST_SECONDS)
        for exporter in self._exporters.values():
            close_in_time(exporter)
        self.journal.close()
        if not self._durable:
            for (name, signal), balance in self._ledger.balances().items():
                if balance.pending:
                    self._ledger.dropped(name, signal, "shutdown", balance.pending)

    def _watch(self, feed: Feed) -> None:
        self._ledger.watch_queue(feed.destination, feed.signal, lambda: feed.pending_items)

    def _tick(self) -> None:
        logged: set[type[Exception]] = set()
        while not self._ended.wait(_TICK_SECONDS):
            try:
                self.journal.tick()
            except Exception as defect:  # noqa: BLE001  without ticks no space would be freed again
                if type(defect) not in logged:
                    logged.add(type(defect))
                    _log.exception("tidying the journal failed")


def _source(feed: Feed, redact: Recent | None, ledger: Ledger) -> Source:
    """Return what a sender takes from: it never meets what is redacted."""
    if redact is None:
        return feed
    return RedactedSource(feed.destination, feed.signal, feed, redact, ledger)


def _build_journal(config: Config, ledger: Ledger, clock: Clock) -> Journal:
    options = config.journal
    ring_bytes = int(config.memory.budget_mib * _MIB / _RING_SHARE)
    if not options.enabled:
        max_bytes = int(config.memory.budget_mib * _MIB / 2)
        segment_bytes = _segment_bytes(max_bytes)
        return Journal(
            MemoryStore(segment_bytes=segment_bytes, clock=clock),
            MemoryStore(segment_bytes=segment_bytes, clock=clock),
            MemoryCursors(),
            JournalLimits(
                max_bytes=max_bytes,
                max_age_seconds=options.max_age_hours * 3600,
                reserve_bytes=0,
                ring_bytes=ring_bytes,
                remember_bytes=0,
            ),
            ledger,
            clock,
            lambda: None,
        )
    folder = options.path
    if folder is None:
        raise ConfigError("journal.path: name a folder, or set journal.enabled to false")
    _make_private(folder)
    max_bytes = int(options.max_mib * _MIB)

    def store(name: str) -> Store:
        return SegmentStore(folder / name, _segment_bytes(max_bytes), options.fsync, clock)

    requests, decisions = store("requests"), store("decisions")
    total = _total_bytes(folder)
    return Journal(
        requests,
        decisions,
        CursorFolder(folder / "cursors", options.fsync),
        JournalLimits(
            max_bytes=max_bytes,
            max_age_seconds=options.max_age_hours * 3600,
            reserve_bytes=min(int(options.reserve_mib * _MIB), total // _RESERVE_SHARE),
            ring_bytes=ring_bytes,
            remember_bytes=max_bytes // _REMEMBER_SHARE,
        ),
        ledger,
        clock,
        lambda: _free_bytes(folder),
        ReserveFile(folder / "reserve", min(_LARGEST_RESERVE_FILE, max_bytes, total) // _SEGMENTS),
    )


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"journal.path: {folder} cannot be made: {error.strerror}") from None


def _segment_bytes(max_bytes: int) -> int:
    return min(_LARGEST_SEGMENT, max(_SMALLEST_SEGMENT, max_bytes // _SEGMENTS))


def _free_bytes(folder: Path) -> int | None:
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def _total_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_blocks * status.f_frsize


class _NoDeadLetters:
    """Keeps nothing: no folder was named."""

    def put(self, exporter: str, payload: Payload, reason: str, message: str) -> bool:
        del exporter, payload, reason, message
        return False


def _dead_letters(config: Config, clock: Clock) -> DeadLetters:
    options = config.dead_letters
    if options.path is None:
        return _NoDeadLetters()
    return DeadLetterFile(options.path, int(options.max_mib * _MIB), clock)


def _sending(options: Sending) -> SendingConfig:
    return SendingConfig(
        batch_items=options.batch_items,
        batch_seconds=options.batch_seconds,
        initial_backoff_seconds=options.initial_backoff_seconds,
        max_backoff_seconds=options.max_backoff_seconds,
        max_elapsed_seconds=options.max_elapsed_seconds,
    )

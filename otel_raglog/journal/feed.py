"""What was decided for one destination and signal turned into batches for its sender, in order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import structlog

from otel_raglog.errors import Unavailable
from otel_raglog.journal.backlog import Backlog, Place, Slot
from otel_raglog.journal.cursors import Cursor, Mark
from otel_raglog.journal.damage import Damage, Record
from otel_raglog.journal.resolving import Resolver
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.sending import Pull, Taken

_RETRY_SECONDS = 1.0
_log = structlog.get_logger()


class JournalObserver(Protocol):
    """What the journal counts."""

    def dropped(self, exporter: str, signal: Signal, reason: str, count: int) -> None:
        """Items will not reach a destination."""
        ...

    def damaged(self, count: int) -> None:
        """Records could not be read; what they held, and how much, may be unknown."""
        ...


class Feed:
    """The exporters' ``Source``: payloads as they were decided, from memory or made again.

    A payload that cannot be made again is counted as ``journal_damaged`` and passed over. What a
    sender has in hand while the journal gives it up (it is full, or too old) stays pending until
    it is settled.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        destination: str,
        signal: Signal,
        backlog: Backlog,
        resolver: Resolver,
        cursor: Cursor,
        damage: Damage,
        observer: JournalObserver,
    ) -> None:
        self.destination = destination
        self.signal = signal
        self.mark = cursor.read()
        """Where the cursor was when the journal was opened; ``None`` when it is not known."""
        self._backlog = backlog
        self._place: Place = backlog.subscribe(signal)
        self._resolver = resolver
        self._cursor = cursor
        self._damage = damage
        self._observer = observer
        self._written: Mark | None = None
        self._writing = threading.Lock()
        self._counted = 0
        self._logged: set[str] = set()

    # ---------------------------------------------------------------- for the sender

    def take(self, pull: Pull) -> Taken | None:
        """Return the next batch; ``None`` when closed and empty. See ``Source.take``.

        Closed, it returns ``None`` as well when the log cannot be read at the moment.
        """
        while True:
            slots = self._backlog.wait(self._place, pull)
            if slots is None or isinstance(slots, Taken):
                return slots
            try:
                payloads = self._payloads(slots)
            except Unavailable as failure:
                self._log_once("journal cannot be read", failure)
                if self._backlog.pause(self._place, _RETRY_SECONDS):
                    return None
                continue
            if payloads:
                taken = self._backlog.lend(self._place, payloads)
                if taken is not None:
                    return taken
            elif slots:  # none of them can be made again
                self._backlog.settle(self._place, slots[-1].number)
                self.flush()

    def settle(self, taken: Taken) -> None:
        """Never hand out ``taken``, or what came before it, again."""
        self._backlog.settle(self._place, taken.last)
        self.flush()

    def close(self) -> None:
        """Wait no longer: ``take`` returns what is left at once, then ``None``."""
        self._backlog.close(self._place)

    @property
    def pending_items(self) -> int:
        """Items not settled."""
        return self._place.items

    @property
    def pending_bytes(self) -> int:
        """Body bytes not settled."""
        return self._place.size

    # --------------------------------------------------------------- for the journal

    @property
    def reached(self) -> int:
        """The last decision before the first that is owed here."""
        return self._backlog.reached(self._place)

    @property
    def delivered(self) -> int:
        """The last decision that was settled."""
        return self._place.delivered

    def start_after(self, number: int) -> None:
        """Begin behind decision ``number``: once, when the backlog was restored."""
        self._backlog.put_back(self._place, number)

    def give_up(self, through: int, reason: str) -> None:
        """Drop what is owed up to decision ``through``, and count it."""
        lost = self._backlog.give_up(self._place, through)
        if lost:
            self._log_once(f"items given up: {reason}")
            self._observer.dropped(self.destination, self.signal, reason, lost)

    def expire(self, unix_seconds: float) -> None:
        """Drop what is owed since ``unix_seconds`` or before, and count it."""
        through = self._backlog.expired(self._place, unix_seconds)
        if through:
            self.give_up(through, "expired")

    def count_lost(self, items: int) -> None:
        """Count items that a sender had when the process before this one ended."""
        self._observer.dropped(self.destination, self.signal, "journal_full", items)

    def flush(self) -> bool:
        """Write the cursor where it moved; return whether the disk has it.

        One that refuses is tried again next time.
        """
        with self._writing:
            mark = self._backlog.passed(self._place)
            if mark == self._written:
                return True
            try:
                self._cursor.write(mark)
            except Unavailable as failure:
                self._log_once("cursor cannot be written", failure)
                return False
            self._written = mark
            return True

    def sync(self) -> bool:
        """Write the cursor, and make it outlive a loss of power where that is asked for.

        Returns whether that worked.
        """
        if not self.flush():
            return False
        try:
            self._cursor.sync()
        except Unavailable as failure:
            self._log_once("cursor cannot be written", failure)
            return False
        return True

    def release(self) -> None:
        """Write the cursor for the last time."""
        self.close()
        self.sync()
        self._cursor.close()

    def _payloads(self, slots: Sequence[Slot]) -> list[tuple[int, Payload]]:
        """Return the payloads of ``slots`` that can be made."""
        payloads: list[tuple[int, Payload]] = []
        for slot in slots:
            payload = slot.payload
            if payload is None:
                made = self._resolver.make(slot.number, slot.items)
                if made.unreadable:
                    self._count_damage(slot.number, made.lost, made.unreadable)
                payload = made.payload
            if payload is not None:
                payloads.append((slot.number, payload))
        return payloads

    def _count_damage(self, number: int, items: int, records: Sequence[Record]) -> None:
        """Count once what is lost of a decision, unless it was given up while it was read."""
        if number <= self._counted or not self._backlog.is_owed(self._place, number):
            return
        self._counted = number
        self._log_once("items lost: the journal is damaged")
        self._damage.note(records)
        if items:
            self._observer.dropped(self.destination, self.signal, "journal_damaged", items)

    def _log_once(self, event: str, failure: Unavailable | None = None) -> None:
        if event in self._logged:
            return
        self._logged.add(event)
        where = {"destination": self.destination, "signal": self.signal.value}
        _log.warning(event, **where, **({"error": str(failure)} if failure else {}))


def cursor_name(destination: str, signal: Signal) -> str:
    """Return the name under which the cursor of a feed is kept."""
    return f"{destination}.{signal.value}"

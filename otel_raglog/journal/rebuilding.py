"""The two logs of a journal that was closed, or killed, turned back into its state."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from otel_raglog.errors import BadInput
from otel_raglog.journal.backlog import Backlog, Entry
from otel_raglog.journal.books import Books
from otel_raglog.journal.cursors import Mark
from otel_raglog.journal.damage import Damage, Log, Record
from otel_raglog.journal.decisions import (
    StoredDecision,
    StoredRequest,
    decode_request,
    decode_stored_decision,
)
from otel_raglog.journal.feed import Feed
from otel_raglog.journal.store import Store, Unreadable
from otel_raglog.model import Decision, Signal

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an earlier process left to do.

    ``requests`` yields each request of which something is undecided: its number, itself, and the
    ordinals of its spans that are decided. ``traces`` yields trace ids and the bytes that late
    spans of them get, oldest first. Both read the log as they go. ``owed`` are the items in
    decisions that a destination does not have, by destination and signal.
    """

    requests: Iterator[tuple[int, StoredRequest, frozenset[int]]]
    traces: Iterator[tuple[bytes, bytes]]
    owed: Mapping[tuple[str, Signal], int]


@dataclass(slots=True)
class Forgotten:
    """A cursor whose destination is configured no more, and the decided items not delivered."""

    name: str
    mark: Mark | None
    items: int = 0

    def note(self, number: int, decision: Decision) -> None:
        """Count a decision that it owes."""
        if self.mark and number > self.mark.number and self.name.endswith(f".{decision.signal}"):
            self.items += decision.items

    def tell(self) -> None:
        """Log what nobody will get."""
        owed = {"items": self.items + self.mark.lent} if self.mark else {}
        _log.warning("a destination is configured no more", destination=self.name, **owed)


class Rebuilding:
    """Reads each decision, and each request that may be undecided, once; keeps no bodies."""

    def __init__(  # noqa: PLR0917  these are the parts that it fills
        self,
        requests: Store,
        decisions: Store,
        books: Books,
        backlog: Backlog,
        feeds: Sequence[Feed],
        forgotten: Sequence[Forgotten],
        damage: Damage,
    ) -> None:
        self._requests = requests
        self._decisions = decisions
        self._books = books
        self._backlog = backlog
        self._feeds = feeds
        self._forgotten = forgotten
        self._damage = damage
        self._damaged: list[Record] = []
        self._decided: dict[int, int] = {}  # a bit for each ordinal
        self._whole: set[int] = set()
        self._traces = array("Q")
        self._last_incomplete = 0
        self._last_reference = 0

    def run(self) -> Recovered:
        """Fill books, backlog and feeds.

        Raises:
            Unavailable: a log cannot be read at the moment (out of file descriptors or memory).
        """
        marks = [feed.mark.number for feed in self._feeds if feed.mark is not None]
        self._decisions.skip_to(max(marks, default=0) + 1)
        self._backlog.restore(self._entries(), self._decisions.next)
        self._requests.skip_to(self._last_reference + 1)
        self._place_feeds()
        undecided = self._book_undecided()
        if self._damaged:
            _log.warning("records of the journal are damaged", records=len(self._damaged))
            self._damage.note(self._damaged)
        for cursor in self._forgotten:
            cursor.tell()
        owed: dict[tuple[str, Signal], int] = {}
        for feed in self._feeds:
            lent = feed.mark.lent if feed.mark is not None else 0
            owed[feed.destination, feed.signal] = feed.pending_items + lent
            if lent:
                feed.count_lost(lent)
        return Recovered(self._read_undecided(undecided), self._read_traces(), owed)

    def _entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield every readable decision, and note what it says about requests."""
        first_request = self._requests.first
        for number, stored in self._read_decisions():
            decision = stored.decision
            complete = True
            for piece in decision.pieces:
                self._last_reference = max(self._last_reference, piece.request)
                complete = complete and piece.request >= first_request
                if piece.request < first_request:
                    continue
                if piece.ordinals:
                    bits = self._decided.get(piece.request, 0) | _to_bits(piece.ordinals)
                    self._decided[piece.request] = bits
                else:
                    self._whole.add(piece.request)
            if not complete:
                self._last_incomplete = number
            if decision.trace_id:
                self._traces.append(number)
            self._books.refer(number, decision)
            for cursor in self._forgotten:
                cursor.note(number, decision)
            size = stored.payload_bytes
            yield number, Entry(decision.signal, decision.items, size, stored.unix_seconds)

    def _read_decisions(self) -> Iterator[tuple[int, StoredDecision]]:
        for number in self._decisions.numbers():
            try:
                yield number, decode_stored_decision(self._decisions.read(number))
            except (Unreadable, BadInput):
                self._damaged.append(Record(Log.DECISIONS, number))

    def _place_feeds(self) -> None:
        # Requests go when every feed has passed the last decision about them: one whose cursor is
        # lost had passed all that are incomplete, and misses nothing.
        for feed in self._feeds:
            feed.start_after(self._last_incomplete if feed.mark is None else feed.mark.number)
            feed.flush()

    def _book_undecided(self) -> dict[int, int]:
        """Book what is undecided of each request; return these with a bit for each ordinal done."""
        undecided: dict[int, int] = {}
        for number in self._requests.numbers():
            if number in self._whole:
                continue
            try:
                items = decode_request(self._requests.read(number)).items
            except (Unreadable, BadInput):
                self._damaged.append(Record(Log.REQUESTS, number))
                continue
            decided = self._decided.get(number, 0)
            left = items - decided.bit_count()
            if left > 0:
                self._books.set_undecided(number, left)
                undecided[number] = decided
        self._decided.clear()
        self._whole.clear()
        return undecided

    def _read_undecided(
        self, undecided: dict[int, int]
    ) -> Iterator[tuple[int, StoredRequest, frozenset[int]]]:
        while undecided:
            number = next(iter(undecided))
            decided = undecided.pop(number)
            try:
                request = decode_request(self._requests.read(number))
            except (Unreadable, BadInput):  # readable a moment ago
                self._books.set_undecided(number, 0)
                self._damage.note([Record(Log.REQUESTS, number)])
                continue
            yield number, request, _to_ordinals(decided)

    def _read_traces(self) -> Iterator[tuple[bytes, bytes]]:
        for number in self._traces:
            try:
                decision = decode_stored_decision(self._decisions.read(number)).decision
            except (Unreadable, BadInput):
                continue
            yield decision.trace_id, decision.late_addition


def _to_bits(ordinals: Sequence[int]) -> int:
    bits = bytearray(max(ordinals) // 8 + 1)
    for ordinal in ordinals:
        bits[ordinal // 8] |= 1 << ordinal % 8
    return int.from_bytes(bits, "little")


def _to_ordinals(bits: int) -> frozenset[int]:
    return frozenset(at for at in range(bits.bit_length()) if bits >> at & 1)

"""Decisions as they are written turned into what each destination still has to get, in order."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from otel_raglog.journal.cursors import Mark
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.sending import Pull, Taken


class Entry(NamedTuple):
    """A decision as feeds see it; ``payload`` is at hand when it was just made."""

    signal: Signal
    items: int
    size: int
    unix_seconds: int
    payload: Payload | None = None


class Slot(NamedTuple):
    """One decision of a batch: its number, what it counts, and its payload if it is in memory."""

    number: int
    items: int
    payload: Payload | None


class _Line:
    """The decisions of one signal that some destination has yet to pass.

    Positions are counts of all decisions that ever were in the line.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.begin = 0
        self._cleared = 0
        self._numbers = array("Q")
        self._items = array("Q")
        self._sizes = array("Q")
        self._seconds = array("Q")

    @property
    def end(self) -> int:
        return self.begin + len(self._numbers)

    def append(self, number: int, entry: Entry) -> None:
        self._numbers.append(number)
        self._items.append(entry.items)
        self._sizes.append(entry.size)
        self._seconds.append(entry.unix_seconds)

    def number(self, position: int) -> int:
        return self._numbers[position - self.begin]

    def items(self, position: int) -> int:
        return self._items[position - self.begin]

    def size(self, position: int) -> int:
        return self._sizes[position - self.begin]

    def after(self, number: int) -> int:
        """Return the position after all decisions up to ``number``."""
        return self.begin + bisect_right(self._numbers, number)

    def after_seconds(self, position: int, unix_seconds: float) -> int:
        """Return the first position from ``position`` on of a decision taken after that time."""
        while position < self.end and self._seconds[position - self.begin] <= unix_seconds:
            position += 1
        return position

    def sums(self, start: int, end: int) -> tuple[int, int]:
        """Return the items and bytes of the positions from ``start`` to before ``end``."""
        there = slice(start - self.begin, end - self.begin)
        return sum(self._items[there]), sum(self._sizes[there])

    def clear(self) -> Sequence[int]:
        """Return the numbers that all places have passed, each once."""
        passed = min((place.position for place in self.places), default=self.end)
        numbers = self._numbers[self._cleared - self.begin : passed - self.begin]
        self._cleared = passed
        gone = passed - self.begin
        if gone * 2 > len(self._numbers):  # seldom enough that moving the rest costs little
            for column in (self._numbers, self._items, self._sizes, self._seconds):
                del column[:gone]
            self.begin = passed
        return numbers


@dataclass(slots=True)
class _Loan:
    """What a sender has at the moment. Adrift: the journal moved on without it."""

    taken: Taken
    items: int
    size: int
    adrift: bool = False


class Place:
    """Where one destination is in a line. All but the condition belongs to the backlog."""

    def __init__(self, line: _Line, lock: threading.Lock) -> None:
        self.condition = threading.Condition(lock)
        self.line = line
        self.position = line.end
        self.items = 0
        self.size = 0
        self.passed = 0
        """Number of the last decision settled or given up."""
        self.delivered = 0
        """Number of the last decision settled."""
        self.loan: _Loan | None = None
        self.wanted: tuple[int, int] | None = None
        self.closed = False


class Backlog:
    """Shows decisions to feeds in the order of their numbers. Safe for threads.

    Decisions may be published in any order: those behind one that is still being written are not
    shown before it. Payloads stay in memory until all feeds of their signal have settled them,
    at most ``ring_bytes`` of them: beyond that the oldest go.
    """

    def __init__(self, ring_bytes: int) -> None:
        self._lock = threading.Lock()
        self._written = threading.Condition(self._lock)
        self._lines = {signal: _Line() for signal in Signal}
        self._ring_limit = ring_bytes
        self._ring: OrderedDict[int, Payload] = OrderedDict()
        self._ring_bytes = 0
        self._next = 1
        self._early: dict[int, Entry] = {}
        self._writing = 0
        self._gap = False

    @property
    def ring_bytes(self) -> int:
        """Bytes of the payloads in memory."""
        return self._ring_bytes

    @property
    def last_shown(self) -> int:
        """Number of the last decision that feeds can see."""
        return self._next - 1

    # ------------------------------------------------------------------- publishing

    def subscribe(self, signal: Signal) -> Place:
        """Return a new place in the line of ``signal``, at its end."""
        with self._lock:
            line = self._lines[signal]
            place = Place(line, self._lock)
            line.places.append(place)
            return place

    def restore(self, entries: Iterable[tuple[int, Entry]], end: int) -> None:
        """Fill the lines anew; ``end`` is the number of the next decision to be written."""
        with self._lock:
            for number, entry in entries:
                line = self._lines[entry.signal]
                if line.places:
                    line.append(number, entry)
            self._next = end

    def put_back(self, place: Place, number: int) -> None:
        """Put ``place`` behind decision ``number``: once, when the lines were restored."""
        with self._lock:
            line = place.line
            place.passed = place.delivered = number
            place.position = line.after(number)
            place.items, place.size = line.sums(place.position, line.end)

    def begin(self) -> None:
        """Announce that decisions are being written."""
        with self._lock:
            # After a failure numbers may be missing for good: let all who write come to an end.
            while self._gap and self._writing:
                self._written.wait()
            self._gap = False
            self._writing += 1

    def fail(self) -> None:
        """End what :meth:`begin` began: nothing was written."""
        with self._lock:
            self._gap = True
            self._end_writing()

    def publish(self, first: int, entries: Sequence[Entry]) -> None:
        """End what :meth:`begin` began: decisions from number ``first`` on were written."""
        with self._lock:
            if first == self._next and not self._early:
                for entry in entries:
                    self._show(entry)
            else:
                self._early.update(enumerate(entries, first))
            self._end_writing()

    def _end_writing(self) -> None:
        self._writing -= 1
        while self._early:
            if self._next in self._early:
                self._show(self._early.pop(self._next))
            elif self._writing:
                break
            else:  # nobody is left who could publish what is missing
                self._next = min(self._early)
        if self._gap and not self._writing:
            self._written.notify_all()

    def _show(self, entry: Entry) -> None:
        number = self._next
        self._next += 1
        line = self._lines[entry.signal]
        if not line.places:
            return
        line.append(number, entry)
        if entry.payload is not None:
            self._keep(number, entry.payload)
        for place in line.places:
            place.items += entry.items
            place.size += entry.size
            wanted = place.wanted
            if wanted and (place.items >= wanted[0] or place.size >= wanted[1]):
                place.condition.notify_all()

    def _keep(self, number: int, payload: Payload) -> None:
        size = len(payload.body)
        self._ring[number] = payload
        self._ring_bytes += size
        while self._ring_bytes > self._ring_limit:
            _, oldest = self._ring.popitem(last=False)
            self._ring_bytes -= len(oldest.body)

    def _drop_from_ring(self, number: int) -> None:
        payload = self._ring.pop(number, None)
        if payload is not None:
            self._ring_bytes -= len(payload.body)

    # ------------------------------------------------------------------------ taking

    def wait(self, place: Place, pull: Pull) -> list[Slot] | Taken | None:
        """Wait for a batch as ``Source.take`` says; what is adrift is handed out again first."""
        with place.condition:
            if place.loan is not None and place.loan.adrift:
                return place.loan.taken
            while place.position == place.line.end and not place.closed:
                place.wanted = (1, 1)
                place.condition.wait()
            place.wanted = (pull.items, pull.bytes)
            place.condition.wait_for(lambda: _is_due(place, pull), pull.seconds)
            place.wanted = None
            slots = list(self._cut(place, pull))
            return slots or (None if place.closed else [])

    def _cut(self, place: Place, pull: Pull) -> Iterator[Slot]:
        line = place.line
        items = size = 0
        for position in range(place.position, line.end):
            items += line.items(position)
            size += line.size(position)
            if position > place.position and (items > pull.items or size > pull.bytes):
                return
            number = line.number(position)
            yield Slot(number, line.items(position), self._ring.get(number))

    def pause(self, place: Place, seconds: float) -> bool:
        """Wait until ``place`` is closed, ``seconds`` at most; returns whether it is."""
        with place.condition:
            return place.condition.wait_for(lambda: place.closed, seconds)

    def lend(self, place: Place, payloads: Sequence[tuple[int, Payload]]) -> Taken | None:
        """Hand out payloads, except those given up meanwhile; ``None`` when none is left."""
        with self._lock:
            left = [(number, payload) for number, payload in payloads if number > place.passed]
            if not left:
                return None
            taken = Taken(tuple(payload for _, payload in left), left[-1][0])
            items, size = place.line.sums(place.position, place.line.after(taken.last))
            place.loan = _Loan(taken, items, size)
            return taken

    def is_owed(self, place: Place, number: int) -> bool:
        """Return whether decision ``number`` was neither settled nor given up."""
        with self._lock:
            return number > place.passed

    def settle(self, place: Place, last: int) -> None:
        """Move ``place`` past decision ``last``, or end the loan that is adrift."""
        with self._lock:
            loan, place.loan = place.loan, None
            if loan is not None and loan.adrift and loan.taken.last == last:
                place.items -= loan.items
                place.size -= loan.size
                return
            if last > place.passed:
                self._move(place, place.line.after(last))
                place.passed = place.delivered = last

    def give_up(self, place: Place, through: int) -> int:
        """Move ``place`` past decision ``through``; return the items that are lost by it.

        What a sender has at the moment is not among them: it stays pending until settled.
        """
        with self._lock:
            through = min(through, self._next - 1)
            position = place.line.after(through)
            if position <= place.position:
                return 0
            loan = place.loan
            kept_items = kept_size = 0
            if loan is not None and not loan.adrift:
                loan.adrift = True
                kept_items, kept_size = loan.items, loan.size
                through = max(through, loan.taken.last)
                position = place.line.after(through)
            before = place.items
            self._move(place, position)
            place.items += kept_items
            place.size += kept_size
            place.passed = through
            return before - place.items

    def _move(self, place: Place, position: int) -> None:
        items, size = place.line.sums(place.position, position)
        place.items -= items
        place.size -= size
        place.position = position
        for number in place.line.clear():
            self._drop_from_ring(number)

    # ------------------------------------------------------------------------ asking

    def close(self, place: Place) -> None:
        """Let nobody wait at ``place`` any more."""
        with place.condition:
            place.closed = True
            place.condition.notify_all()

    def passed(self, place: Place) -> Mark:
        """Return how far ``place`` is with what was decided for it."""
        with self._lock:
            loan = place.loan
            if loan is None or not loan.adrift:
                return Mark(place.passed, 0)
            return Mark(place.passed, sum(payload.items for payload in loan.taken.payloads))

    def reached(self, place: Place) -> int:
        """Return the last decision before the first that ``place`` owes, of whatever signal."""
        with self._lock:
            if place.position == place.line.end:
                return self._next - 1
            return place.line.number(place.position) - 1

    def expired(self, place: Place, unix_seconds: float) -> int:
        """Return the last of the decisions that ``place`` owes and were taken by then; 0: none."""
        with self._lock:
            position = place.line.after_seconds(place.position, unix_seconds)
            return place.line.number(position - 1) if position > place.position else 0


def _is_due(place: Place, pull: Pull) -> bool:
    return place.closed or place.items >= pull.items or place.size >= pull.bytes

"""Which requests are still undecided, and which decisions refer to them, as columns of integers."""

from __future__ import annotations

import threading
from array import array

from otel_raglog.model import Decision


class Column:
    """An integer for each record number from ``base`` on; 0 where none was put."""

    def __init__(self, base: int) -> None:
        self.base = base
        self._values = array("Q")

    @property
    def end(self) -> int:
        """First number beyond those that were put."""
        return self.base + len(self._values)

    def get(self, number: int) -> int:
        """Return the value of ``number``."""
        if self.base <= number < self.end:
            return self._values[number - self.base]
        return 0

    def put(self, number: int, value: int) -> None:
        """Set the value of ``number``; nothing is kept for those before ``base``."""
        if number < self.base:
            return
        missing = number - self.end + 1
        if missing > 0:
            self._values.frombytes(bytes(missing * self._values.itemsize))
        self._values[number - self.base] = value

    def greatest(self, start: int, end: int) -> int:
        """Return the greatest value of the numbers from ``start`` to before ``end``; 0 for none."""
        begin = max(0, start - self.base)
        return max(self._values[begin : max(0, end - self.base)], default=0)

    def forget_before(self, number: int) -> None:
        """Keep nothing of the numbers before ``number``."""
        gone = number - self.base
        if gone > 0:
            del self._values[:gone]
            self.base = number


class Books:
    """What the journal must know of each record to tell when it may go. Safe for threads.

    A request may go when nothing of it is undecided and every feed has passed the last decision
    that refers to it; a decision when, besides, no request is left that it refers to.
    """

    def __init__(self, first_request: int, first_decision: int) -> None:
        self._lock = threading.Lock()
        self._undecided = Column(first_request)
        self._last_decision = Column(first_request)
        self._last_request = Column(first_decision)
        self._undecided_items = 0
        self._accepting: dict[int, int] = {}
        self._tickets = 0

    @property
    def undecided_items(self) -> int:
        """Accepted items about which nothing was decided yet."""
        return self._undecided_items

    def begin(self, least: int) -> int:
        """Keep all requests from ``least`` on until the ticket that is returned is handed back."""
        with self._lock:
            self._tickets += 1
            self._accepting[self._tickets] = least
            return self._tickets

    def finish(self, ticket: int, number: int, undecided: int) -> None:
        """Book the request that the ticket was for; number 0: it was not written."""
        with self._lock:
            del self._accepting[ticket]
            if number:
                self._set_undecided(number, undecided)

    def set_undecided(self, number: int, items: int) -> None:
        """Book that ``items`` of a request are undecided, whatever was booked before."""
        with self._lock:
            self._set_undecided(number, items)

    def decide(self, number: int, decision: Decision) -> None:
        """Book decision ``number``."""
        with self._lock:
            for piece in decision.pieces:
                self._refer(piece.request, number)
                before = self._undecided.get(piece.request)
                if before:
                    left = max(0, before - len(piece.ordinals)) if piece.ordinals else 0
                    self._set_undecided(piece.request, left)

    def refer(self, number: int, decision: Decision) -> None:
        """Book only that decision ``number`` refers to requests: for rebuilding."""
        with self._lock:
            for piece in decision.pieces:
                self._refer(piece.request, number)

    def has_undecided(self, start: int, end: int) -> bool:
        """Return whether a request from ``start`` to before ``end`` has undecided items."""
        with self._lock:
            return self._undecided.greatest(start, end) > 0 or any(
                least < end for least in self._accepting.values()
            )

    def last_decision(self, start: int, end: int) -> int:
        """Return the last decision that refers to a request from ``start`` to before ``end``."""
        with self._lock:
            return self._last_decision.greatest(start, end)

    def last_request(self, start: int, end: int) -> int:
        """Return the last request that a decision from ``start`` to before ``end`` refers to."""
        with self._lock:
            return self._last_request.greatest(start, end)

    def forget_before(self, request: int, decision: int) -> None:
        """Keep nothing of the records before these."""
        with self._lock:
            self._undecided.forget_before(request)
            self._last_decision.forget_before(request)
            self._last_request.forget_before(decision)

    def _refer(self, request: int, decision: int) -> None:
        if decision > self._last_decision.get(request):
            self._last_decision.put(request, decision)
        if request > self._last_request.get(decision):
            self._last_request.put(decision, request)

    def _set_undecided(self, number: int, items: int) -> None:
        before = self._undecided.get(number)
        if items != before:
            self._undecided.put(number, items)
            self._undecided_items += self._undecided.get(number) - before

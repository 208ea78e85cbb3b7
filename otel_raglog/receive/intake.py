"""A request's body to an arrival in the inbox: what both doors do, counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.model import Headers, Signal
from otel_raglog.receive.counting import count_logs, count_metrics
from otel_raglog.receive.headers import has_passed
from otel_raglog.receive.inbox import Arrival, Inbox
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.sifting import Sifter

ToProtobuf: TypeAlias = Callable[[bytes, Limits], bytes]
"""Turns a body as it was sent into a protobuf one, or raises BadInput."""

_LARGE_BYTES = 256 * 1024
_LARGE_AT_ONCE = 2
"""Large requests read at once: it holds the interpreter, and hostile ones become 50 times their size."""

DEFAULT_RETRY_SECONDS = 1.0
"""What a client is told when nobody says when to come back."""


class ReceiveObserver(Protocol):
    """Counts items at the doors: received = accepted + rejected.

    Items are spans, data points or log records. A request that is not read counts as one.
    """

    def received(self, signal: Signal, items: int) -> None:
        """Count items that arrived, whatever became of them."""
        ...

    def rejected(self, signal: Signal, reason: str, items: int) -> None:
        """Count items among those received that were refused, for a snake_case reason."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """What of a request was accepted, and what refused, by reason. In items."""

    accepted: int
    rejected: Mapping[str, int] = field(default_factory=dict)

    @property
    def rejected_count(self) -> int:
        """Items refused, over all reasons."""
        return sum(self.rejected.values())

    def describe_rejections(self) -> str:
        """Return one line for the client on what was rejected and why."""
        return ", ".join(f"{reason}: {items}" for reason, items in sorted(self.rejected.items()))


@dataclass(frozen=True, slots=True)
class Intake:
    """Reads requests, puts them into the inbox and counts their items.

    ``instance_id`` is what our senders write into the via header. ``why_refuse`` is asked with
    the size of a request before it is read, and returns why there is no memory for it now.
    """

    inbox: Inbox
    observer: ReceiveObserver
    limits: Limits
    sifter: Sifter
    instance_id: str = ""
    why_refuse: Callable[[int], str | None] | None = None
    _reading_large: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_LARGE_AT_ONCE), init=False, repr=False
    )

    def take(
        self,
        signal: Signal,
        body: bytes,
        headers: Headers = (),
        to_protobuf: ToProtobuf | None = None,
    ) -> Receipt:
        """Accept a request; when this returns, it is in the inbox. An empty one is not put there.

        Raises:
            TooLarge: beyond the limits.
            BadInput: not readable, of another signal, or sent by ourselves.
            Unavailable: there is no room now; nothing of it was kept.
        """
        if self.instance_id and has_passed(headers, self.instance_id):
            self.turn_away(signal, "loop")
            raise BadInput("loop: this request went through this service before")
        self.admit(signal, len(body))
        try:
            if to_protobuf is not None:
                body = to_protobuf(body, self.limits)
            with self._reading_large if len(body) > _LARGE_BYTES else nullcontext():
                arrival, rejected = self._read(signal, body, headers)
        except BadInput as error:
            self.refuse(signal, error)
            raise
        self.observer.received(signal, arrival.items + sum(rejected.values()))
        for reason, items in rejected.items():
            self.observer.rejected(signal, reason, items)
        if arrival.items:
            try:
                self.inbox.accept(arrival)
            except Unavailable:
                self.observer.rejected(signal, "unavailable", arrival.items)
                raise
            except TooLarge:
                self.observer.rejected(signal, "too_large", arrival.items)
                raise
        return Receipt(arrival.items, rejected)

    def admit(self, signal: Signal, size: int) -> None:
        """Raise Unavailable, and count it, when there is no memory for ``size`` bytes now."""
        why = None if self.why_refuse is None else self.why_refuse(size)
        if why is not None:
            self.turn_away(signal, "unavailable")
            raise Unavailable(why, DEFAULT_RETRY_SECONDS)

    def refuse(self, signal: Signal, error: BadInput) -> None:
        """Count a request that cannot be read, as one item."""
        self.turn_away(signal, "too_large" if isinstance(error, TooLarge) else "malformed")

    def turn_away(self, signal: Signal, reason: str) -> None:
        """Count a request that is refused unread, as one item."""
        self.observer.received(signal, 1)
        self.observer.rejected(signal, reason, 1)

    def _read(
        self, signal: Signal, body: bytes, headers: Headers
    ) -> tuple[Arrival, Mapping[str, int]]:
        if signal is Signal.TRACES:
            sifted = self.sifter.sift(body)
            return Arrival(signal, body, headers, sifted.accepted, sifted), sifted.rejected
        count = count_logs if signal is Signal.LOGS else count_metrics
        return Arrival(signal, body, headers, count(body, self.limits)), {}

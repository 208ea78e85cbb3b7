"""Offered spans turned into batches, with books in which every span stands exactly once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from otel_raglog.errors import Unavailable
from otel_raglog.model import WireSpan
from otel_raglog_exporters.grouping import RequestSize

_RETRY_WHEN_FULL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SendingCounts:
    """Where the spans are: ``offered == forwarded + backend_rejected + dropped + pending``.

    ``dropped`` is by reason; ``pending`` are those waiting or being sent.
    """

    offered: int = 0
    forwarded: int = 0
    backend_rejected: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    pending: int = 0
    pending_bytes: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every offered span is accounted for."""
        settled = self.forwarded + self.backend_rejected + sum(self.dropped.values())
        return self.offered == settled + self.pending


@dataclass(frozen=True, slots=True)
class Pull:
    """How batches are cut: at this many spans or bytes, or after this wait."""

    spans: int
    bytes: int
    seconds: float


class SpanQueue:
    """A bounded queue between threads; what was taken stays pending until it is settled."""

    def __init__(self, max_spans: int, max_bytes: int) -> None:
        self._max_spans = max_spans
        self._max_bytes = max_bytes
        self._changed = threading.Condition()
        self._waiting: deque[WireSpan] = deque()
        self._waiting_bytes = 0
        self._taken = 0
        self._taken_bytes = 0
        self._closed = False
        self._offered = 0
        self._forwarded = 0
        self._backend_rejected = 0
        self._dropped: dict[str, int] = {}

    def has_room(self, spans: Sequence[WireSpan]) -> bool:
        """Return whether ``offer`` would take ``spans`` now.

        An empty queue takes any offer: one bigger than the queue would else never be taken.
        """
        with self._changed:
            return not self._closed and self._has_room(spans)

    def offer(self, spans: Sequence[WireSpan]) -> None:
        """Take all of ``spans``.

        Raises:
            Unavailable: there is no room, or the queue is closed; none was taken.
        """
        with self._changed:
            if self._closed:
                raise Unavailable("the destination's queue is closed", _RETRY_WHEN_FULL_SECONDS)
            if not self._has_room(spans):
                raise Unavailable("the destination's queue is full", _RETRY_WHEN_FULL_SECONDS)
            self._waiting.extend(spans)
            self._waiting_bytes += _size(spans)
            self._offered += len(spans)
            self._changed.notify_all()

    def take(self, pull: Pull) -> tuple[WireSpan, ...]:
        """Return the next batch, waiting for it; empty when the queue is closed and empty.

        A batch holds at least one span. It is pending until :meth:`settle`.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._changed.wait_for(lambda: self._fills(pull) or self._closed, pull.seconds)
            size, batch = RequestSize(), list[WireSpan]()
            while self._waiting and len(batch) < pull.spans:
                if batch and size.with_span(self._waiting[0]) > pull.bytes:
                    break
                size.add(self._waiting[0])
                batch.append(self._waiting.popleft())
            self._taken, self._taken_bytes = len(batch), _size(batch)
            self._waiting_bytes -= self._taken_bytes
            return tuple(batch)

    def settle(self, *, forwarded: int = 0, rejected: int = 0, dropped: str = "") -> int:
        """Enter what became of the batch that was taken; the rest of it was dropped.

        Returns the spans of the batch that were entered: 0 when :meth:`abandon` came first.
        """
        with self._changed:
            settled = self._taken
            if settled:
                self._forwarded += forwarded
                self._backend_rejected += rejected
                self._drop(dropped, settled - forwarded - rejected)
            self._taken = self._taken_bytes = 0
            return settled

    def close(self) -> None:
        """Take no more; batches need not fill up any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self, reason: str) -> int:
        """Drop all that is pending; returns how many spans that were."""
        with self._changed:
            count = len(self._waiting) + self._taken
            self._drop(reason, count)
            self._waiting.clear()
            self._waiting_bytes = self._taken = self._taken_bytes = 0
            self._changed.notify_all()
            return count

    def counts(self) -> SendingCounts:
        """Return the books, as of one moment."""
        with self._changed:
            return SendingCounts(
                offered=self._offered,
                forwarded=self._forwarded,
                backend_rejected=self._backend_rejected,
                dropped=dict(self._dropped),
                pending=len(self._waiting) + self._taken,
                pending_bytes=self._waiting_bytes + self._taken_bytes,
            )

    def _has_room(self, spans: Sequence[WireSpan]) -> bool:
        pending = len(self._waiting) + self._taken
        if not pending:
            return True
        size = self._waiting_bytes + self._taken_bytes + _size(spans)
        return pending + len(spans) <= self._max_spans and size <= self._max_bytes

    def _fills(self, pull: Pull) -> bool:
        return len(self._waiting) >= pull.spans or self._waiting_bytes >= pull.bytes

    def _drop(self, reason: str, count: int) -> None:
        if count:
            self._dropped[reason] = self._dropped.get(reason, 0) + count


def _size(spans: Sequence[WireSpan]) -> int:
    """Return the bytes of ``spans``; each is charged for the envelopes that it keeps alive."""
    return sum(len(s.raw) + len(s.origin.resource) + len(s.origin.scope) for s in spans)

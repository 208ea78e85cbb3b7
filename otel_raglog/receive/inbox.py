"""Requests that were read to whoever accepts them, and their held spans to the assembler."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from otel_raglog.model import Headers, Signal, WireSpan
from otel_raglog.receive.sifting import Sifted


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that was read: its protobuf body, and how many items of it are accepted.

    ``sifted`` tells what becomes of its spans; ``None`` for logs and metrics, which pass whole.
    """

    signal: Signal
    body: bytes
    headers: Headers
    items: int
    sifted: Sifted | None = None


class Inbox(Protocol):
    """Where the doors put what they accept."""

    def accept(self, arrival: Arrival) -> None:
        """Take a request; it is accepted once this returns.

        Raises:
            TooLarge: it can never be taken.
            Unavailable: not now; nothing of it was kept.
        """
        ...


class HeldQueue:
    """Spans that wait, on their way from the doors to the assembler. Safe for several threads.

    It has no limit, since what is journalled cannot be refused any more: the doors refuse before,
    while ``bytes`` and what comes behind take too much memory.
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[tuple[WireSpan, ...], int]] = deque()
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def bytes(self) -> int:
        """Bytes of memory that these spans take, roughly."""
        return self._bytes

    def put(self, spans: tuple[WireSpan, ...]) -> None:
        """Append the held spans of one request, also after :meth:`close`."""
        size = sum(span.size_bytes for span in spans)
        with self._changed:
            self._batches.append((spans, size))
            self._bytes += size
            self._changed.notify()

    def get(self, timeout_seconds: float) -> tuple[WireSpan, ...] | None:
        """Return the spans put first; ``None`` when none came in time or the queue is closed.

        What is in a closed queue can still be got.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._closed, timeout_seconds)
            if not self._batches:
                return None
            spans, size = self._batches.popleft()
            self._bytes -= size
            return spans

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

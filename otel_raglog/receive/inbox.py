"""Accepted batches to the assembler, one after the other, bounded in spans and bytes."""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

from otel_raglog.errors import Unavailable
from otel_raglog.model import Batch

_SPAN_OVERHEAD_BYTES = 500
"""What a span costs in memory beside its bytes: objects, header fields, queue entry."""


class Inbox(Protocol):
    """Where the doors put what they accept. A span is accepted once ``put`` returns."""

    def put(self, batch: Batch) -> None:
        """Take a batch, or raise ``Unavailable(retry_after_seconds)`` and take nothing of it."""
        ...


class MemoryInbox:
    """An inbox in memory, safe for use by several threads, first in first out.

    It is full when it holds ``max_spans`` spans or ``max_bytes`` bytes. An empty inbox takes
    any batch, so that a large request is not refused for ever.
    """

    def __init__(self, max_spans: int, max_bytes: int, retry_after_seconds: float = 1.0) -> None:
        self._max_spans = max_spans
        self._max_bytes = max_bytes
        self._retry_after_seconds = retry_after_seconds
        self._batches: deque[tuple[Batch, int]] = deque()
        self._spans = 0
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def spans(self) -> int:
        """Spans that wait."""
        return self._spans

    @property
    def bytes(self) -> int:
        """Bytes of memory that the waiting spans take, roughly."""
        return self._bytes

    def put(self, batch: Batch) -> None:
        """Append a batch.

        Raises:
            Unavailable: the inbox is full or closed.
        """
        size = _size_bytes(batch)
        with self._changed:
            if self._closed:
                raise Unavailable("shutting down", self._retry_after_seconds)
            full = (
                self._spans + len(batch.spans) > self._max_spans
                or self._bytes + size > self._max_bytes
            )
            if full and self._batches:
                raise Unavailable("the inbox is full", self._retry_after_seconds)
            self._batches.append((batch, size))
            self._spans += len(batch.spans)
            self._bytes += size
            self._changed.notify()

    def get(self, timeout_seconds: float) -> Batch | None:
        """Return the oldest batch; ``None`` when none came in time or the inbox is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._closed, timeout_seconds)
            if not self._batches:
                return None
            batch, size = self._batches.popleft()
            self._spans -= len(batch.spans)
            self._bytes -= size
            return batch

    def close(self) -> None:
        """Take nothing more; what waits can still be got."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _size_bytes(batch: Batch) -> int:
    origins = {span.origin for span in batch.spans}
    return sum(len(span.raw) + _SPAN_OVERHEAD_BYTES for span in batch.spans) + sum(
        len(origin.resource) + len(origin.scope) for origin in origins
    )

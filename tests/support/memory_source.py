"""Payloads put into memory turned into the batches that a sender takes, with books."""

from __future__ import annotations

import threading
from collections import deque

from otel_raglog.model import Headers, Payload, Signal
from otel_raglog_exporters.sending import Pull, Taken


class MemorySource:
    """A source without a journal: what the exporters' ``Source`` asks for, and no more."""

    def __init__(self, *payloads: Payload) -> None:
        self._changed = threading.Condition()
        self._numbered: deque[tuple[int, Payload]] = deque(enumerate(payloads, 1))
        self._last = len(payloads)
        self._closed = False
        self.settled = 0

    def put(self, *payloads: Payload) -> None:
        with self._changed:
            for payload in payloads:
                self._last += 1
                self._numbered.append((self._last, payload))
            self._changed.notify_all()

    def take(self, pull: Pull) -> Taken | None:
        with self._changed:
            self._changed.wait_for(lambda: self._numbered or self._closed)
            self._changed.wait_for(lambda: self._closed or self._is_full(pull), pull.seconds)
            batch = self._batch(pull)
            if not batch:
                return None
            return Taken(tuple(payload for _, payload in batch), batch[-1][0])

    def settle(self, taken: Taken) -> None:
        with self._changed:
            while self._numbered and self._numbered[0][0] <= taken.last:
                self.settled += self._numbered.popleft()[1].items

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def pending_items(self) -> int:
        with self._changed:
            return sum(payload.items for _, payload in self._numbered)

    def _is_full(self, pull: Pull) -> bool:
        waiting = [payload for _, payload in self._numbered]
        return (
            sum(payload.items for payload in waiting) >= pull.items
            or sum(len(payload.body) for payload in waiting) >= pull.bytes
        )

    def _batch(self, pull: Pull) -> list[tuple[int, Payload]]:
        batch: list[tuple[int, Payload]] = []
        items = size = 0
        for number, payload in self._numbered:
            items, size = items + payload.items, size + len(payload.body)
            if batch and (items > pull.items or size > pull.bytes):
                break
            batch.append((number, payload))
        return batch


class Books:
    """Adds up what a sender tells, and keeps its dead letters."""

    def __init__(self) -> None:
        self.forwards = self.rejections = self.retries = 0
        self.drops: dict[str, int] = {}
        self.names: set[tuple[str, Signal]] = set()
        self.letters: list[tuple[str, Payload, str, str]] = []
        self.keeps = True
        self.retried_once = threading.Event()

    @property
    def settled(self) -> int:
        """Items whose end was told."""
        return self.forwards + self.rejections + sum(self.drops.values())

    def forwarded(self, exporter: str, signal: Signal, count: int) -> None:
        self.names.add((exporter, signal))
        self.forwards += count

    def dropped(self, exporter: str, signal: Signal, reason: str, count: int) -> None:
        self.names.add((exporter, signal))
        self.drops[reason] = self.drops.get(reason, 0) + count

    def backend_rejected(self, exporter: str, signal: Signal, count: int) -> None:
        self.names.add((exporter, signal))
        self.rejections += count

    def retried(self, exporter: str, signal: Signal) -> None:
        self.names.add((exporter, signal))
        self.retries += 1
        self.retried_once.set()

    def put(self, exporter: str, payload: Payload, reason: str, message: str) -> bool:
        if self.keeps:
            self.letters.append((exporter, payload, reason, message))
        return self.keeps


def make_payload(
    *numbers: int, headers: Headers = (), size: int = 0, signal: Signal = Signal.LOGS
) -> Payload:
    """Return a payload of opaque items: as many as there are numbers, told by their bytes."""
    body = b"".join(b"%d;" % number + b"." * size for number in numbers)
    return Payload(signal, body, len(numbers), headers)

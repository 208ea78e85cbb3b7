"""Payloads to redacted ones, each once for all destinations that take it at about the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from otel_raglog.model import Payload, Signal
from otel_raglog.redaction.redaction import Redacted, Redaction

_MOST_BYTES = 16 * 1024 * 1024


class Recent:
    """Redacts, and remembers the latest results, of 16 MiB at most. For all threads."""

    def __init__(self, redaction: Redaction, max_bytes: int = _MOST_BYTES) -> None:
        self._redaction = redaction
        self._max_bytes = max_bytes
        self._known: OrderedDict[tuple[Signal, bytes], tuple[bytes, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __call__(self, payload: Payload) -> Redacted:
        """Return ``payload`` as it may leave. Raises ``BadInput``: nothing of it may."""
        key = (payload.signal, payload.body)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            redacted = self._redaction.payload(payload)
            self._remember(key, (redacted.payload.body, redacted.stripped))
            return redacted
        body, stripped = known
        return Redacted(replace(payload, body=body), stripped)

    def _remember(self, key: tuple[Signal, bytes], value: tuple[bytes, int]) -> None:
        with self._lock:
            if key in self._known:
                return
            self._known[key] = value
            self._bytes += _size(key, value)
            while self._bytes > self._max_bytes:
                self._bytes -= _size(*self._known.popitem(last=False))


def _size(key: tuple[Signal, bytes], value: tuple[bytes, int]) -> int:
    return len(key[1]) + len(value[0])

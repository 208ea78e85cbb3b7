"""Requests in memory to whether there is room for one more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Room:
    """Room for requests of ``max_bytes`` together, for several threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used = 0
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, size: int) -> Iterator[bool]:
        """Tell whether a request fits beside the others; while inside, it takes its room.

        One alone always fits.
        """
        with self._lock:
            fits = not self._used or self._used + size <= self._max_bytes
            self._used += size if fits else 0
        try:
            yield fits
        finally:
            with self._lock:
                self._used -= size if fits else 0

"""Threads that wait for their clients to threads that are free again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from otel_raglog.clock import Clock, SystemClock

_LEAST_SECONDS = 1.0
"""What a client is given even when all threads wait."""
_JOIN_SECONDS = 5.0


class Patience:
    """Ends waits that last longer than ``seconds``, by calling what cancels them.

    When as many wait as there are ``threads``, a second is enough: otherwise a few clients that
    send nothing would keep everybody else out.
    """

    def __init__(self, seconds: float, threads: int, clock: Clock | None = None) -> None:
        self._seconds = seconds
        self._threads = threads
        self._clock = clock or SystemClock()
        self._waits: dict[int, tuple[float, Callable[[], object]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="patience", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)

    @contextmanager
    def waiting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Watch over what is done inside; ``cancel``, called on another thread, must end it."""
        with self._lock:
            number = next(self._numbers)
            self._waits[number] = (self._clock.monotonic(), cancel)
        try:
            yield
        finally:
            with self._lock:
                self._waits.pop(number, None)

    def end_long_waits(self) -> None:
        """Cancel what lasts too long by now."""
        with self._lock:
            crowded = len(self._waits) >= self._threads
            longest = min(self._seconds, _LEAST_SECONDS) if crowded else self._seconds
            latest = self._clock.monotonic() - longest
            over = [number for number, (since, _) in self._waits.items() if since <= latest]
            cancels = [self._waits.pop(number)[1] for number in over]
        for cancel in cancels:
            cancel()

    def _watch(self) -> None:
        while not self._stopped.wait(min(self._seconds, _LEAST_SECONDS) / 2):
            self.end_long_waits()

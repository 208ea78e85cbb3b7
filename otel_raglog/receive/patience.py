"""Threads that wait for their clients to threads that are free again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from otel_raglog.clock import Clock, SystemClock

_CROWDED_SECONDS = 1.0
"""What a client is given when all threads wait."""
_LEAST_SECONDS = 0.02
"""What it is given however many calls wait for a thread."""
_JOIN_SECONDS = 5.0


class Patience:
    """Ends waits that last longer than ``seconds``, by calling what cancels them.

    When as many wait as there are ``threads``, a second is enough: otherwise a few clients that
    send nothing would keep everybody else out. The more calls are ``queued`` for a thread, the
    shorter it gets, so that all of them get one within seconds.
    """

    def __init__(
        self,
        seconds: float,
        threads: int,
        clock: Clock | None = None,
        queued: Callable[[], int] = lambda: 0,
    ) -> None:
        self._seconds = seconds
        self._threads = threads
        self._clock = clock or SystemClock()
        self._queued = queued
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
            longest = self._when_crowded() if crowded else self._seconds
            latest = self._clock.monotonic() - longest
            over = [number for number, (since, _) in self._waits.items() if since <= latest]
            cancels = [self._waits.pop(number)[1] for number in over]
        for cancel in cancels:
            cancel()

    def _when_crowded(self) -> float:
        """Return how long a wait may be while all threads wait."""
        share = self._threads / (self._threads + self._queued())
        return min(self._seconds, max(_LEAST_SECONDS, _CROWDED_SECONDS * share))

    def _watch(self) -> None:
        while not self._stopped.wait(self._when_crowded() / 2):
            self.end_long_waits()

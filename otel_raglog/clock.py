"""Time as an argument: the system's clock for the service, a manual one for tests."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the service needs to know about time."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes backwards."""
        ...

    def unix_nano(self) -> int:
        """Return wall-clock nanoseconds since the epoch."""
        ...

    def perf_counter(self) -> float:
        """Return seconds of a clock fine enough to time an analysis."""
        ...


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def unix_nano(self) -> int:
        return time.time_ns()

    def perf_counter(self) -> float:
        return time.perf_counter()


class ManualClock:
    """A clock that moves only when told."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def monotonic(self) -> float:
        return self.seconds

    def unix_nano(self) -> int:
        return int(self.seconds * 1e9)

    def perf_counter(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> float:
        """Move on by ``seconds`` and return the new time."""
        self.seconds += seconds
        return self.seconds

"""One call that may fail for a while to its result, or to the failure that is to be reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from otel_raglog.clock import Clock
from otel_raglog.errors import Unavailable

T = TypeVar("T")

_GROWTH = 2.0


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """How often a call is tried, and how long.

    ``seconds`` are for all tries together, waits included. The back-off starts at
    ``first_seconds`` and doubles up to ``most_seconds``; of each wait a random share of up to half
    is left out, so that calls that failed together do not come back together.
    """

    tries: int = 3
    seconds: float = 30.0
    first_seconds: float = 0.5
    most_seconds: float = 8.0

    def backoff_seconds(self, failures: int, random: Random) -> float:
        """Return how long to wait after ``failures`` (1 or more) failures in a row."""
        grown = min(self.first_seconds * _GROWTH ** (failures - 1), self.most_seconds)
        return grown * (1 - random.random() / 2)


class Retrier:
    """Tries calls again that may work later. For all threads.

    The loop is our own rather than stamina's: a wait must end when ``wait`` says so, and a
    provider's Retry-After that does not fit in the time left ends the tries at once.

    ``wait`` waits so many seconds, and returns whether it was cut short for good.
    """

    def __init__(
        self, config: RetryConfig, clock: Clock, random: Random, wait: Callable[[float], bool]
    ) -> None:
        self._config = config
        self._clock = clock
        self._random = random
        self._wait = wait

    @property
    def seconds(self) -> float:
        """The longest time of all tries together."""
        return self._config.seconds

    def deadline(self, latest: float | None) -> float:
        """Return the monotonic time at which tries that begin now end: ``latest`` at most."""
        own = self._clock.monotonic() + self._config.seconds
        return own if latest is None else min(own, latest)

    def call(
        self,
        once: Callable[[float], T],
        deadline: float,
        *,
        may_retry: Callable[[], bool],
    ) -> T:
        """Return what ``once`` returns; it is given the seconds that are left, above 0.

        ``deadline`` is monotonic time. ``may_retry`` is asked before and after each wait.

        Raises:
            Unavailable: every try failed, or there is no time for another one.
            Rejected: as ``once`` raises it.
        """
        failures = 0
        while True:
            try:
                return once(deadline - self._clock.monotonic())
            except Unavailable as failure:
                failures += 1
                delay = failure.retry_after_seconds
                if delay is None:
                    delay = self._config.backoff_seconds(failures, self._random)
                if failures >= self._config.tries or not may_retry():
                    raise
                if delay >= deadline - self._clock.monotonic() or self._wait(delay):
                    raise
                if deadline <= self._clock.monotonic() or not may_retry():
                    raise

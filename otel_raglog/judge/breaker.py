"""Failures of a provider to whether it is asked now."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.clock import Clock

_GROWTH = 2.0


class BreakerState(StrEnum):
    """Whether calls go out: all, none, or those of one run to see whether the provider is back."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """When a breaker opens, and for how many seconds.

    It opens after ``failures`` failed calls in a row. The back-off starts at ``first_seconds`` and
    doubles up to ``most_seconds`` with each try that fails. A key that is refused will not be taken
    soon: ``unauthorized_seconds``.
    """

    failures: int = 5
    first_seconds: float = 30.0
    most_seconds: float = 300.0
    unauthorized_seconds: float = 900.0


class Breaker:
    """Lets nothing through for a while once calls have failed in a row. For all threads.

    A call counts once, when its retries are over: the calls of one run go out together, and all
    of them meet the same short outage.
    """

    def __init__(self, clock: Clock, config: BreakerConfig = BreakerConfig()) -> None:
        self._clock = clock
        self._config = config
        self._lock = threading.Lock()
        self._failures = 0
        self._seconds = 0.0
        self._until: float | None = None
        self._probing = False

    @property
    def state(self) -> BreakerState:
        """What is let through now."""
        with self._lock:
            return self._state()

    def admit(self) -> bool:
        """Tell whether a run's calls may go out.

        After the back-off that is one run, and another one each time as long again passed without
        a word of what became of it.
        """
        with self._lock:
            if self._until is None:
                return True
            now = self._clock.monotonic()
            if now < self._until:
                return False
            self._probing = True
            self._until = now + self._seconds
            return True

    def succeeded(self) -> None:
        """The provider answered: let everything through."""
        with self._lock:
            self._failures = 0
            self._until = None
            self._probing = False

    def failed(self, at_least_seconds: float = 0.0) -> None:
        """A call failed; should that open the breaker, then for ``at_least_seconds``, within limits.

        Failures of calls that were already out when it opened do not make the back-off grow.
        """
        config = self._config
        with self._lock:
            self._failures += 1
            if self._probing:
                seconds = min(self._seconds * _GROWTH, config.most_seconds)
            elif self._until is None and self._failures >= config.failures:
                seconds = config.first_seconds
            else:
                return
            self._open(max(seconds, min(at_least_seconds, config.most_seconds)))

    def unauthorized(self) -> None:
        """The provider refused the key: open at once."""
        with self._lock:
            self._failures += 1
            self._open(self._config.unauthorized_seconds)

    def _open(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = self._clock.monotonic() + seconds
        self._probing = False

    def _state(self) -> BreakerState:
        if self._until is None:
            return BreakerState.CLOSED
        if self._probing or self._clock.monotonic() >= self._until:
            return BreakerState.HALF_OPEN
        return BreakerState.OPEN

"""What is in memory to whether another request may come in."""

from __future__ import annotations

from collections.abc import Callable

from otel_raglog.clock import Clock

_REFUSING_SECONDS = 1.0
_REASON = "the memory budget is used up (memory.budget_mib)"


class MemoryBudget:
    """Refuses requests while what cannot leave memory takes all of the budget.

    ``used_bytes`` tells how much that is at the moment.
    """

    def __init__(self, budget_bytes: int, used_bytes: Callable[[], int], clock: Clock) -> None:
        self._budget_bytes = budget_bytes
        self._used_bytes = used_bytes
        self._clock = clock
        self._refused_at = float("-inf")

    def why_refuse(self, size: int) -> str | None:
        """Return why a request of ``size`` bytes is refused now, if it is.

        With nothing in memory any request is taken: a large one is not refused for ever.
        """
        used = self._used_bytes()
        if not used or used + size <= self._budget_bytes:
            return None
        self._refused_at = self._clock.monotonic()
        return _REASON

    def why_refusing(self) -> str | None:
        """Return why requests are refused these days, if one was within the last second."""
        recent = self._clock.monotonic() - self._refused_at < _REFUSING_SECONDS
        return _REASON if recent else None

"""Runs to whether an LLM is asked about them."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.clock import Clock

_SECONDS_PER_MINUTE = 60.0
_HASH_BYTES = 6


class When(StrEnum):
    """Which runs are chosen: all, those whose verdict may change, a share of them, or none."""

    ALWAYS = "always"
    ESCALATE = "escalate"
    SAMPLE = "sample"
    NEVER = "never"


class Choice(StrEnum):
    """Whether a run is asked about, and if not, why."""

    ASKED = "asked"
    NEVER = "never"
    NOT_UNCERTAIN = "not_uncertain"
    NOT_SAMPLED = "not_sampled"
    NOT_SCHEDULED = "not_scheduled"


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """Which runs are asked about, and how many of these at most.

    ``sample`` is a share. Of the chosen runs one in ``every_runs``, and one in ``every_minutes``
    (0: any), is asked about. With ``feedback``, what users marked as bad is asked about in any case
    but ``never``.
    """

    when: When = When.ESCALATE
    sample: float = 0.1
    every_runs: int = 1
    every_minutes: float = 0.0
    feedback: bool = True


class Schedule:
    """Chooses among the runs of a service. For all threads."""

    def __init__(self, config: ScheduleConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._passed_over: int | None = None
        self._asked_at: float | None = None

    @property
    def when(self) -> When:
        """Which runs are chosen."""
        return self._config.when

    def choose(self, key: str, *, uncertain: bool, disliked: bool) -> Choice:
        """Return whether the run of the id ``key`` is asked about.

        ``uncertain`` tells that a probability lies in its stage's band, ``disliked`` that a user
        marked the run as bad. The same run is always in the sample, or never, with any process.
        """
        config = self._config
        if config.when is When.NEVER:
            return Choice.NEVER
        if disliked and config.feedback:
            return Choice.ASKED
        if config.when is When.ESCALATE and not uncertain:
            return Choice.NOT_UNCERTAIN
        if config.when is When.SAMPLE and _place(key) >= config.sample:
            return Choice.NOT_SAMPLED
        return Choice.ASKED if self._is_due() else Choice.NOT_SCHEDULED

    def _is_due(self) -> bool:
        """Tell whether it is the turn of a run that was chosen, which begins the next wait."""
        config = self._config
        with self._lock:
            now = self._clock.monotonic()
            passed_over, asked_at = self._passed_over, self._asked_at
            if passed_over is not None and asked_at is not None:
                too_few = passed_over + 1 < config.every_runs
                too_soon = now - asked_at < config.every_minutes * _SECONDS_PER_MINUTE
                if too_few or too_soon:
                    self._passed_over = passed_over + 1
                    return False
            self._passed_over, self._asked_at = 0, now
            return True


def _place(key: str) -> float:
    """Return where ``key`` falls in [0, 1), evenly over keys."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return float(int.from_bytes(digest[:_HASH_BYTES], "big") / 256**_HASH_BYTES)

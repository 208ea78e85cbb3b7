"""Recent traces to what of each service's set-up is captured and what is not."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from otel_raglog.clock import Clock
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.explaining.explained_trace import explain_trace
from otel_raglog.explaining.setup import ServiceSetup, SetupSummary
from otel_raglog.model import Run, Span

_MOST_SERVICES = 20
_WINDOW = 100
_SECONDS = 1.0


@dataclass(slots=True)
class _Window:
    """Two summaries of a service, the newer of which began half a window later."""

    older: SetupSummary = field(default_factory=SetupSummary)
    newer: SetupSummary = field(default_factory=SetupSummary)
    in_newer: int = 0
    passed: int = 0
    seen_at: float = 0.0
    next_at: float = 0.0


class RecentSetups:
    """Sums up the last 100 to 200 traces of each of the last 20 services, as ``explain --setup``.

    Reading a trace so closely costs more than keeping its reports (tests/bench/recent_reports.py), so
    beyond the first 100 of a service only one trace a second of it is read. A service of which nothing came for
    ``max_age_seconds`` is forgotten. No texts are kept. For any thread.
    """

    def __init__(self, conventions: ConventionSet, clock: Clock, *, max_age_seconds: float) -> None:
        self._conventions = conventions
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, runs: Sequence[Run], spans: Iterable[Span], traces: int = 1) -> None:
        """Count a trace, or several that were joined, with the runs that were made of it."""
        if not runs:
            return
        now = self._clock.monotonic()
        shown = [run.shown for run in runs]
        service = shown[0].service
        with self._lock:
            window = self._windows.setdefault(service, _Window())
            self._windows.move_to_end(service)
            window.seen_at = now
            if window.passed >= _WINDOW and now < window.next_at:
                return
            window.next_at = now + _SECONDS
        explained = explain_trace(spans, runs, self._conventions).spans
        with self._lock:
            if window.in_newer >= _WINDOW:
                window.older, window.newer, window.in_newer = window.newer, SetupSummary(), 0
            window.older.add(shown, explained, traces)
            # The first of all traces would be counted in both until the first turn of the window.
            if window.passed >= _WINDOW:
                window.newer.add(shown, explained, traces)
                window.in_newer += 1
            window.passed += 1
            self._forget(now)

    def services(self) -> tuple[ServiceSetup, ...]:
        """Return the summary of each service, in order of names."""
        with self._lock:
            self._forget(self._clock.monotonic())
            found = [item for window in self._windows.values() for item in window.older.services()]
        return tuple(sorted(found, key=lambda item: item.service))

    def _forget(self, now: float) -> None:
        while self._windows:
            name, oldest = next(iter(self._windows.items()))
            if len(self._windows) <= _MOST_SERVICES and (
                now - oldest.seen_at <= self._max_age_seconds
            ):
                return
            del self._windows[name]

"""Reports of the pipeline to the recent ones, on a thread beside it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from otel_raglog.clock import Clock
from otel_raglog.model import Report, Span
from otel_raglog.report.annotations import may_be_rag
from otel_raglog.web.recent.runs import RecentRuns, keep
from otel_raglog.web.recent.setups import RecentSetups

_STOP_SECONDS = 2.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Waiting:
    reports: tuple[Report, ...]
    spans: Mapping[bytes, Span]
    traces: int
    size_bytes: int


class Keeping:
    """Takes reports in constant time and keeps them on a thread of its own.

    Reports that wait take at most ``max_waiting_bytes``: beyond it, and when one cannot be kept,
    they are counted in :attr:`dropped` and that is all. Reports that are of no RAG run count for the
    set-up alone.
    """

    def __init__(
        self,
        runs: RecentRuns,
        setups: RecentSetups,
        clock: Clock,
        *,
        content: bool,
        max_waiting_bytes: int,
    ) -> None:
        self._runs = runs
        self._setups = setups
        self._clock = clock
        self._content = content
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._ending = False
        self._failed: set[type[Exception]] = set()
        self.dropped = 0
        """Reports that were not kept."""
        self._thread = threading.Thread(target=self._work, name="raglog-recent", daemon=True)

    @property
    def waiting_bytes(self) -> int:
        """Memory that reports take that wait to be kept, roughly."""
        return self._waiting_bytes

    def start(self) -> None:
        """Begin to keep."""
        self._thread.start()

    def stop(self) -> None:
        """Keep nothing more."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)

    def add(
        self,
        reports: Sequence[Report],
        spans: Mapping[bytes, Span],
        *,
        traces: int = 1,
        size_bytes: int = 0,
    ) -> None:
        """Take the reports of traces that leave together, or, without ``spans``, later ones of them.

        ``size_bytes`` is what all of this takes in memory.
        """
        if not reports:
            return
        with self._changed:
            if self._waiting and self._waiting_bytes + size_bytes > self._max_waiting_bytes:
                self.dropped += len(reports)
                return
            self._waiting.append(_Waiting(tuple(reports), spans, traces, size_bytes))
            self._waiting_bytes += size_bytes
            self._changed.notify()

    def _work(self) -> None:
        while (item := self._next()) is not None:
            for report in item.reports:
                if may_be_rag(report):
                    self._keep(report)
            if item.spans:
                self._sum_up(item)
            with self._changed:
                self._waiting_bytes -= item.size_bytes

    def _next(self) -> _Waiting | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ending)
            return None if self._ending else self._waiting.popleft()

    def _keep(self, report: Report) -> None:
        try:
            self._runs.add(keep(report, self._clock, content=self._content))
        except Exception as error:  # noqa: BLE001  one report costs no other
            self.dropped += 1
            self._note(error)

    def _sum_up(self, item: _Waiting) -> None:
        try:
            runs = [report.run for report in item.reports]
            self._setups.add(runs, item.spans.values(), item.traces)
        except Exception as error:  # noqa: BLE001  nor does a trace that cannot be explained
            self._note(error)

    def _note(self, error: Exception) -> None:
        if type(error) not in self._failed:
            self._failed.add(type(error))
            # Its message and its frames may hold texts of the run.
            _log.error("a report could not be kept for the JSON API", error=type(error).__name__)

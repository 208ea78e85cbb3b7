"""Reports to the most recent ones, bounded by number, bytes and age."""

from __future__ import annotations

import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from otel_raglog.clock import Clock
from otel_raglog.model import Report, RunVerdict, Stage, StageVerdict
from otel_raglog.report.json_report import to_json
from otel_raglog.web.recent.conversation import Told, told_of

_OVERHEAD_BYTES = 2_048
"""What a kept run takes beside its report: about 1.5 kB of Python objects measured, and its keys."""

_FAST = 1
"""The level of compression: the next ones save a twentieth and take twice the time."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KeptStage:
    """What is counted of a stage of a kept run. Words, as in the JSON of reports."""

    verdict: StageVerdict
    reason: str | None
    fault_types: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A report as it is kept: what is searched and counted, and its JSON, compressed.

    ``sequence`` grows with every run that is new, and stays when a run is judged again. Times are
    nanoseconds since the epoch: ``judged_unix_nano`` by our clock, ``started_unix_nano`` by the
    spans' (0 when unknown). ``kept_at`` is monotonic, in seconds.
    """

    sequence: int
    run_id: str
    trace_ids: tuple[str, ...]
    service: str
    session_id: str | None
    turn: int | None
    verdict: RunVerdict
    stages: Mapping[Stage, KeptStage]
    started_unix_nano: int
    judged_unix_nano: int
    kept_at: float
    told: Told
    body: bytes

    @property
    def size_bytes(self) -> int:
        """Memory that it takes, roughly."""
        texts = (self.run_id, self.service, self.session_id or "", *self.trace_ids)
        said = (text for pair in self.told.said for text in pair)
        names = self.told.referent.names if self.told.referent else ()
        return _OVERHEAD_BYTES + len(self.body) + sum(map(len, (*texts, *said, *names)))

    @property
    def first_faulty(self) -> Stage | None:
        """The first faulty stage in pipeline order."""
        return next((s for s in Stage if self.stages[s].verdict is StageVerdict.FAULTY), None)

    def report(self) -> Json:
        """Return the report's JSON-ready values."""
        values: Json = json.loads(zlib.decompress(self.body))
        return values


def keep(report: Report, clock: Clock, *, content: bool) -> KeptRun:
    """Return ``report`` as it is kept, not numbered yet; without texts when not ``content``."""
    run = report.run
    values = to_json(report, content=content)
    steps = [step.origin.start_unix_nano for stage in Stage for step in run.steps(stage)]
    return KeptRun(
        sequence=0,
        run_id=run.run_id,
        trace_ids=tuple(t.hex() for t in dict.fromkeys((run.trace_id, *run.joined_traces)) if t),
        service=run.shown.service,
        session_id=run.shown.session_id,
        turn=run.turn,
        verdict=report.verdict,
        stages={
            stage: KeptStage(
                verdict.verdict,
                verdict.reason and verdict.reason.value,
                tuple(fault.value for fault in verdict.fault_types),
                tuple(warning.value for warning in verdict.warnings),
            )
            for stage, verdict in report.verdicts.items()
        },
        started_unix_nano=min((start for start in steps if start), default=0),
        judged_unix_nano=clock.unix_nano(),
        kept_at=clock.monotonic(),
        told=told_of(report, content=content),
        body=zlib.compress(json.dumps(values, allow_nan=False).encode("ascii"), _FAST),
    )


class RecentRuns:
    """The most recent runs: at most ``max_runs``, ``max_bytes`` and ``max_age_seconds`` old.

    A run that is judged again, by an LLM's later answers, replaces its report and keeps its place
    and its age. A run larger than all that may be kept is not kept. For any thread.
    """

    def __init__(
        self, *, max_runs: int, max_bytes: int, max_age_seconds: float, clock: Clock
    ) -> None:
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._runs: OrderedDict[int, KeptRun] = OrderedDict()
        self._sequences: dict[str, int] = {}
        self._next = 1
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def size_bytes(self) -> int:
        """Memory that the runs take, roughly."""
        return self._bytes

    def add(self, run: KeptRun) -> None:
        """Keep a run; those that have been kept for longest go where it needs their room."""
        with self._lock:
            known = self._sequences.get(run.run_id)
            if known is None:
                sequence, self._next = self._next, self._next + 1
                kept = replace(run, sequence=sequence)
            else:
                old = self._runs[known]
                self._bytes -= old.size_bytes
                kept = replace(run, sequence=known, kept_at=old.kept_at)
            self._sequences[kept.run_id] = kept.sequence
            self._runs[kept.sequence] = kept
            self._bytes += kept.size_bytes
            self._make_room()

    def newest_first(self, wanted: Callable[[KeptRun], bool] = lambda _: True) -> list[KeptRun]:
        """Return the runs that are ``wanted``, the newest first."""
        with self._lock:
            self._make_room()
            runs: Sequence[KeptRun] = list(reversed(self._runs.values()))
        return [run for run in runs if wanted(run)]

    def _make_room(self) -> None:
        oldest_allowed = self._clock.monotonic() - self._max_age_seconds
        while self._runs:
            oldest = next(iter(self._runs.values()))
            if (
                len(self._runs) <= self._max_runs
                and self._bytes <= self._max_bytes
                and oldest.kept_at >= oldest_allowed
            ):
                return
            del self._runs[oldest.sequence]
            del self._sequences[oldest.run_id]
            self._bytes -= oldest.size_bytes

"""Runs, and those that redacted spans map to, to runs that know what may be shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from otel_raglog.model import FieldStatus, Run, Stage, StageState, UnknownReason, missing

REDACTED = "redacted"
"""The skip reason of a run of which nothing can be shown."""


def with_views(runs: Sequence[Run], seen: Sequence[Run]) -> Iterator[Run]:
    """Yield each run with its view among ``seen``, the runs that its redacted spans map to.

    Where these do not map to the same runs (a question by which they were told apart is hidden),
    nothing is shown of a run that is not found again.
    """
    same = [run.top_span_id for run in runs] == [run.top_span_id for run in seen]
    for index, run in enumerate(runs):
        yield replace(run, view=seen[index] if same else _nothing_of(run))


def _nothing_of(run: Run) -> Run:
    hidden = missing(FieldStatus.REDACTED)
    return Run(
        run_id=run.run_id,
        trace_id=run.trace_id,
        top_span_id=run.top_span_id,
        service="",
        question=hidden,
        answer=hidden,
        stages={stage: StageState(0, reason=UnknownReason.REDACTED) for stage in Stage},
        turn=run.turn,
        completion=run.completion,
        span_ids=run.span_ids,
        skip_reason=REDACTED,
    )

"""Runs as the JSON API keeps them, and an API over them."""

from __future__ import annotations

from dataclasses import replace

from samples import make_report, make_run
from starlette.testclient import TestClient

from otel_raglog.clock import ManualClock
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.model import (
    NOT_CAPTURED,
    FaultType,
    Message,
    Report,
    RewriteKind,
    RewriteStep,
    Stage,
    StageState,
    StepOrigin,
    present,
)
from otel_raglog.receive.auth import Tokens
from otel_raglog.web.api.application import api_app
from otel_raglog.web.recent.runs import KeptRun, RecentRuns, keep
from otel_raglog.web.recent.setups import RecentSetups

EPOCH = "ab12"


def report(number: int = 1, faulty: dict[Stage, FaultType] | None = None, **run: object) -> Report:
    """Return the report of run ``number``, whose trace id is that number."""
    trace_id = number.to_bytes(16, "big")
    fields = {"run_id": trace_id.hex(), "trace_id": trace_id} | run
    return make_report(faulty, make_run(**fields))


def follow_up(
    number: int,
    question: str,
    rewrite: str | None,
    history: tuple[tuple[str, str], ...] = (),
    faulty: dict[Stage, FaultType] | None = None,
    **run: object,
) -> Report:
    """Return the report of a turn of the session ``s1``, rewritten when there is a ``rewrite``."""
    origin = StepOrigin(start_unix_nano=number * 1_000_000_000)
    step = RewriteStep(origin, RewriteKind.CONDENSE, present(question), present((rewrite or "",)))
    fields: dict[str, object] = {
        "question": present(question),
        "session_id": "s1",
        "history": present(tuple(Message(*said) for said in history)) if history else NOT_CAPTURED,
        "rewriters": (step,) if rewrite else (),
        "retrievers": (replace(make_run().retrievers[0], origin=origin),),
    }
    made = make_run()
    stages = {**made.stages, Stage.REWRITER: StageState(1 if rewrite else 0, absent=not rewrite)}
    return report(number, faulty, **(fields | {"stages": stages} | run))


def kept(made: Report, clock: ManualClock | None = None, *, content: bool = True) -> KeptRun:
    """Return a report as it is kept, not numbered yet."""
    return keep(made, clock or ManualClock(1_000.0), content=content)


def store(clock: ManualClock | None = None, **limits: object) -> RecentRuns:
    """Return a store of wide limits, unless told."""
    usual = {"max_runs": 1_000, "max_bytes": 10_000_000, "max_age_seconds": 3_600}
    return RecentRuns(**{**usual, **limits}, clock=clock or ManualClock(1_000.0))


def client_of(
    runs: RecentRuns, tokens: Tokens | None = None, setups: RecentSetups | None = None
) -> TestClient:
    """Return a client of an API over ``runs``, as one on this machine."""
    setups = setups or RecentSetups(BUILT_IN, ManualClock(), max_age_seconds=3_600)
    app = api_app(runs, setups, tokens or Tokens(), EPOCH)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)

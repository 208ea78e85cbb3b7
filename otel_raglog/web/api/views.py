"""Kept runs to what the API shows of them: rows of a list, and counts of stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from otel_raglog.model import RunVerdict, Stage, StageVerdict
from otel_raglog.web.api.parameters import RunsQuery, Window
from otel_raglog.web.recent.runs import KeptRun, KeptStage

Json = dict[str, Any]

_NANOS = 1_000_000_000
_DIGITS = 4


def iso(unix_nano: int) -> str | None:
    """Return a time as in ``2026-11-30T08:00:00.000Z``; ``None`` for 0 and what no calendar has."""
    try:
        time = datetime.fromtimestamp(unix_nano / _NANOS, UTC) if unix_nano > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None


def is_in(run: KeptRun, window: Window) -> bool:
    """Tell whether a run is of the service and the time: since, and before until."""
    return (
        (window.service is None or run.service == window.service)
        and (window.since is None or run.judged_unix_nano >= window.since)
        and (window.until is None or run.judged_unix_nano < window.until)
    )


def matches(run: KeptRun, query: RunsQuery) -> bool:
    """Tell whether a run is one of those that are asked for."""
    return (
        is_in(run, query)
        and (query.verdict is None or run.verdict is query.verdict)
        and (query.session is None or run.session_id == query.session)
        and _has_fault(run, query)
    )


def _has_fault(run: KeptRun, query: RunsQuery) -> bool:
    if query.stage is None and query.fault_type is None:
        return True
    stages = run.stages.values() if query.stage is None else (run.stages[query.stage],)
    faulty = [stage for stage in stages if stage.verdict is StageVerdict.FAULTY]
    return any(query.fault_type is None or query.fault_type in each.fault_types for each in faulty)


def row(run: KeptRun) -> Json:
    """Return a run's row in a list: what tells whether to look at its report."""
    report = run.report()
    return {
        "run_id": run.run_id,
        "trace_id": report["trace_id"],
        "service": run.service,
        "session_id": run.session_id,
        "turn": run.turn,
        "judged_at": iso(run.judged_unix_nano),
        "started_at": iso(run.started_unix_nano),
        "question": report["question"],
        "verdict": run.verdict.value,
        "faulty_stages": report["faulty_stages"],
        "first_faulty_stage": report["first_faulty_stage"],
        "fault_types": {
            stage.value: list(kept.fault_types)
            for stage, kept in run.stages.items()
            if kept.verdict is StageVerdict.FAULTY
        },
        "complete": report["complete"],
        "tier": report["tier"],
        "skip_reason": report["skip_reason"],
    }


def stage_counts(runs: Iterable[KeptRun]) -> list[Json]:
    """Return, for each service, its runs by verdict and what was found of each stage."""
    services: dict[str, list[KeptRun]] = {}
    for run in runs:
        services.setdefault(run.service, []).append(run)
    return [_service(name, services[name]) for name in sorted(services)]


def _service(name: str, runs: Sequence[KeptRun]) -> Json:
    verdicts = Counter(run.verdict for run in runs)
    first = Counter(run.first_faulty for run in runs)
    times = [run.judged_unix_nano for run in runs]
    return {
        "service": name,
        "runs": len(runs),
        "verdicts": {verdict.value: verdicts[verdict] for verdict in RunVerdict},
        "fault_rate": _rate(verdicts[RunVerdict.FAULTY], verdicts[RunVerdict.OK]),
        "oldest": iso(min(times)),
        "newest": iso(max(times)),
        "stages": {
            stage.value: _stage([run.stages[stage] for run in runs], first[stage])
            for stage in Stage
        },
    }


def _stage(kept: Sequence[KeptStage], first: int) -> Json:
    verdicts = Counter(each.verdict for each in kept)
    faulty, ok = verdicts[StageVerdict.FAULTY], verdicts[StageVerdict.OK]
    return {
        **{verdict.value: verdicts[verdict] for verdict in StageVerdict},
        "fault_rate": _rate(faulty, ok),
        "first_faulty": first,
        "fault_types": _counted(fault for each in kept for fault in each.fault_types),
        "warnings": _counted(warning for each in kept for warning in each.warnings),
        "unknown_reasons": _counted(
            each.reason or "unknown" for each in kept if each.verdict is StageVerdict.UNKNOWN
        ),
    }


def _rate(faulty: int, ok: int) -> float | None:
    """Return the share of faulty among those that were judged; ``None`` where none was."""
    return round(faulty / (faulty + ok), _DIGITS) if faulty + ok else None


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))

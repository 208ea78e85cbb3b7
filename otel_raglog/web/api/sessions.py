"""The runs of a conversation to its timeline, with the faults that only several turns show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from otel_raglog.model import Stage, StageVerdict
from otel_raglog.web.api.views import iso
from otel_raglog.web.recent.runs import KeptRun

Json = dict[str, Any]

_LASTING = 2
"""Turns in a row with one fault, from which on it is said to last."""


def in_order(runs: Sequence[KeptRun]) -> list[KeptRun]:
    """Return runs in the order of their turns: as told where all tell it, else by their time."""
    turns = [run.turn for run in runs]
    if None not in turns and len(set(turns)) == len(turns):
        return sorted(runs, key=lambda run: run.turn or 0)
    timed = all(run.started_unix_nano for run in runs)
    return sorted(runs, key=lambda r: (r.started_unix_nano if timed else 0, r.sequence))


def timeline(session_id: str, runs: Sequence[KeptRun]) -> Json:
    """Return the timeline of a session of which ``runs`` are kept, in any order.

    ``position`` counts the runs that are kept. ``turn`` is the number that a run tells by its
    history, or that follows from those of the others, else ``null``. Texts are ``null`` where
    content is not kept.
    """
    ordered = in_order(runs)
    ahead = _turns_before(ordered)
    return {
        "session_id": session_id,
        "services": sorted({run.service for run in ordered}),
        "runs": len(ordered),
        "faulty_runs": sum(run.verdict == "faulty" for run in ordered),
        "turns": [_turn(position, run, ahead) for position, run in enumerate(ordered, 1)],
        "faults_over_turns": [*_of_rewriters(ordered), *_lasting(ordered)],
    }


def _turns_before(ordered: Sequence[KeptRun]) -> int | None:
    """Return how many turns there were before the first that is kept; ``None`` if nothing tells."""
    told = {run.turn - at for at, run in enumerate(ordered, 1) if run.turn is not None}
    return told.pop() if len(told) == 1 and min(told) >= 0 else None


def _turn(position: int, run: KeptRun, ahead: int | None) -> Json:
    report = run.report()
    rewriter = report["stages"]["rewriter"]
    outputs = rewriter.get("outputs")  # none without content
    referent = run.told.referent
    return {
        "position": position,
        "turn": run.turn if ahead is None else position + ahead,
        "run_id": run.run_id,
        "trace_id": report["trace_id"],
        "started_at": iso(run.started_unix_nano),
        "question": report["question"],
        "rewrites": None if outputs is None else outputs.get("rewrites") or [],
        "answer": report["answer"],
        "verdict": report["verdict"],
        "skip_reason": report["skip_reason"],
        "first_faulty_stage": report["first_faulty_stage"],
        "faults": {
            stage: {
                "probability": report["stages"][stage]["probability"],
                "fault_types": report["stages"][stage]["fault_types"],
                "explanation": report["stages"][stage]["explanation"],
            }
            for stage in report["faulty_stages"]
        },
        "referent": referent
        and {
            "leans_on_earlier_turns": referent.leans,
            "named_before": referent.named,
            "kept_by_rewrites": referent.kept,
            "not_kept": list(referent.names) or None,
            "lost": referent.lost,
        },
    }


def _of_rewriters(ordered: Sequence[KeptRun]) -> Iterator[Json]:
    """Yield the faults of rewriters in follow-ups, and what they lost."""
    for position, run in enumerate(ordered, 1):
        rewriter = run.stages[Stage.REWRITER]
        follows = position > 1 or (run.turn or 1) > 1 or run.told.referent is not None
        if rewriter.verdict is not StageVerdict.FAULTY or not follows:
            continue
        referent = run.told.referent
        lost = referent is not None and referent.lost
        yield {
            "kind": "referent_lost" if lost else "follow_up_altered",
            "what": _what_was_lost(run)
            if lost
            else "the rewrite of a follow-up changes what is asked",
            "stage": Stage.REWRITER.value,
            "fault_types": list(rewriter.fault_types),
            "positions": [position],
            "run_ids": [run.run_id],
            "measured": [{"name": name, "evidence": text} for name, text in run.told.said],
        }


def _what_was_lost(run: KeptRun) -> str:
    referent = run.told.referent
    names = f": {', '.join(referent.names)}" if referent is not None and referent.names else ""
    return f"the question leans on earlier turns, and no rewrite names what they were about{names}"


def _lasting(ordered: Sequence[KeptRun]) -> Iterator[Json]:
    """Yield the faults of a stage, by type, that last for turns in a row."""
    for stage in Stage:
        types = list(dict.fromkeys(t for run in ordered for t in _types(run, stage)))
        for fault_type in types:
            having = [fault_type in _types(run, stage) for run in ordered]
            for first, last in _stretches(having):
                positions = list(range(first + 1, last + 2))
                yield {
                    "kind": "lasting",
                    "what": f"{stage.value}: {fault_type} in {len(positions)} turns in a row",
                    "stage": stage.value,
                    "fault_types": [fault_type],
                    "positions": positions,
                    "run_ids": [ordered[position - 1].run_id for position in positions],
                    "measured": [],
                }


def _types(run: KeptRun, stage: Stage) -> tuple[str, ...]:
    kept = run.stages[stage]
    return kept.fault_types if kept.verdict is StageVerdict.FAULTY else ()


def _stretches(having: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each stretch of at least two."""
    start: int | None = None
    for index, value in enumerate([*having, False]):
        if value and start is None:
            start = index
        elif not value and start is not None:
            if index - start >= _LASTING:
                yield start, index - 1
            start = None

"""Golden traces of `tests/golden/conventions`: the files, their runs, and what to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_markers
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import read_files
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Run, Span, Stage

FOLDER = Path(__file__).parents[1] / "golden" / "conventions"


def traces(folder: Path = FOLDER) -> list[Path]:
    """Return the trace files, sorted."""
    return sorted(folder.rglob("*.otlp.jsonl"))


def expected_of(path: Path) -> dict[str, Any]:
    """Return what a reader wrote down about a trace file."""
    beside = path.with_name(path.name.replace(".otlp.jsonl", ".expected.yaml"))
    expected: dict[str, Any] = yaml.safe_load(beside.read_text(encoding="utf-8"))
    return expected


def read_runs(path: Path, conventions: ConventionSet = BUILT_IN) -> list[Run]:
    """Return the runs of a trace file, in order of time."""
    analyser = Analyser((), Rules1(), SystemClock())
    mapped = [
        (min(span.start_unix_nano for span in trace.spans), map_trace(trace, conventions))
        for held in read_files([path], markers=build_markers(conventions)).traces()
        for trace in [analyser.decode(held)]
    ]
    return [run for _, runs in sorted(mapped, key=lambda item: item[0]) for run in runs]


def spans_in(path: Path) -> list[Span]:
    """Return the spans of a trace file that are held."""
    analyser = Analyser((), Rules1(), SystemClock())
    held = read_files([path], markers=build_markers()).traces()
    return [span for trace in held for span in analyser.decode(trace).spans]


def seen_in(run: Run, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return of a run what ``wanted`` speaks of, in the same form."""
    return {key: _SEEN[key](run, value) for key, value in wanted.items()}


def stage_word(run: Run, stage: Stage) -> str:
    """Return ``seen``, ``absent`` or the reason for which a stage is unknown."""
    state = run.stages[stage]
    if state.steps:
        return "seen"
    if state.absent:
        return "absent"
    return state.reason.value if state.reason is not None else "unknown"


def _beginnings(texts: list[str], wanted: list[str]) -> list[str]:
    """Return each text, shortened to what was written down of it where it begins so."""
    shown = [
        short if text.startswith(short) else text
        for text, short in zip(texts, wanted, strict=False)
    ]
    return shown + texts[len(wanted) :]


def _retrieved(run: Run, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, step in enumerate(run.retrievers):
        like = wanted[at] if at < len(wanted) else {"query": "", "chunks": []}
        chunks = step.chunks.value or ()
        full: dict[str, Any] = {
            "query": step.query.value,
            "chunks": _beginnings([chunk.text for chunk in chunks], like.get("chunks") or []),
            "ids": [chunk.id for chunk in chunks],
            "scores": [None if c.score is None else round(c.score, 2) for c in chunks],
            "score_kind": next((chunk.score_kind.value for chunk in chunks), None),
            "top_k": step.top_k,
            "filters": step.filters,
            "fused": step.fused,
            "status": step.chunks.status.value,
        }
        found.append({key: full[key] for key in like})
    return found


def _reranked(run: Run, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, step in enumerate(run.rerankers):
        like = wanted[at] if at < len(wanted) else {"selected": []}
        selected = [chunk.text for chunk in step.selected.value or ()]
        full: dict[str, Any] = {
            "query": step.query.value,
            "candidates": len(step.candidates.value or ()),
            "selected": _beginnings(selected, like.get("selected") or []),
            "model": step.model,
        }
        found.append({key: full[key] for key in like})
    return found


def _generator(run: Run, name: str) -> Any:
    return getattr(run.generators[-1], name) if run.generators else None


def _tokens(run: Run, _: Any) -> list[int | None]:
    tokens = _generator(run, "tokens")
    return [tokens.prompt, tokens.completion] if tokens else []


def _context_has(run: Run, wanted: list[str]) -> list[str]:
    prompt = "\n".join(step.prompt.value or "" for step in run.assemblies)
    return [piece for piece in wanted if piece in prompt]


_SEEN = {
    "question": lambda run, _: run.question.value,
    "answer": lambda run, _: run.answer.value,
    "skip_reason": lambda run, _: run.skip_reason,
    "session": lambda run, _: run.session_id,
    "turn": lambda run, _: run.turn,
    "history": lambda run, _: [[m.role, m.content] for m in run.history.value or ()],
    "rewrites": lambda run, _: [t for step in run.rewriters for t in step.rewrites.value or ()],
    "embedded": lambda run, _: [t for step in run.embedders for t in step.texts.value or ()],
    "retrieved": _retrieved,
    "reranked": _reranked,
    "context_has": _context_has,
    "model": lambda run, _: _generator(run, "model"),
    "tokens": _tokens,
    "finish_reason": lambda run, _: _generator(run, "finish_reason"),
    "stages": lambda run, wanted: {name: stage_word(run, Stage(name)) for name in wanted},
}

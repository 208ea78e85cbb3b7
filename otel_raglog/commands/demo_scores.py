"""Annotated spans and planted faults to outcomes: what was found, missed, or flagged in vain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from otel_raglog.commands.tables import plain_console, shorten
from otel_raglog.errors import BadInput
from otel_raglog.model import RunVerdict, Span, Stage, StageVerdict, WireSpan
from otel_raglog.receive.markers import EVALUATION_EVENT
from otel_raglog.receive.span import decode_span
from otel_raglog.report.annotations import EVALUATION_NAME, NAMESPACE

_QUESTION_WIDTH = 44
_FAULTS_WIDTH = 38
_OUTCOME_WIDTH = 24
_TABLE_WIDTH = 190


class Hit(StrEnum):
    """How a verdict on a stage compares with the truth."""

    HIT = "hit"
    MISS = "miss"
    FALSE_ALARM = "false alarm"
    QUIET = "rightly quiet"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """One stage of one run: its verdict as it stood on the span, and the truth."""

    stage: Stage
    verdict: StageVerdict | None
    explanation: str
    fault_types: tuple[str, ...]
    planted: tuple[str, ...] | None
    """The true fault types; empty for a clean stage, ``None`` where the truth is not known."""

    @property
    def hit(self) -> Hit | None:
        """The comparison, ``None`` without a truth."""
        if self.planted is None:
            return None
        if self.verdict not in {StageVerdict.FAULTY, StageVerdict.OK}:
            return Hit.UNJUDGED
        flagged = self.verdict is StageVerdict.FAULTY
        if self.planted:
            return Hit.HIT if flagged else Hit.MISS
        return Hit.FALSE_ALARM if flagged else Hit.QUIET


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run as it arrived at the backend, beside what is known about it."""

    trace_id: bytes
    run_id: str
    question: str
    pipeline: str
    verdict: RunVerdict
    stages: Mapping[Stage, StageOutcome]

    @property
    def planted(self) -> bool:
        """Whether any stage is truly faulty."""
        return any(outcome.planted for outcome in self.stages.values())


def read_outcomes(spans: Sequence[WireSpan], planted: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcome of each run whose verdict is on ``spans``, in order of arrival."""
    truths: dict[str, list[Mapping[str, Any]]] = {}
    for run in planted["runs"]:
        truths.setdefault(run["trace_id"], []).append(run)
    decoded = [decode_span(span) for span in spans]
    by_trace: dict[bytes, list[Span]] = {}
    for span in decoded:
        by_trace.setdefault(span.trace_id, []).append(span)
    outcomes = []
    for trace_id, members in by_trace.items():
        tops = [span for span in members if "raglog.run.id" in span.attributes and _is_top(span)]
        for top in tops:
            truth = _truth(top, truths.get(trace_id.hex(), []), alone=len(tops) == 1)
            if truth is not None:
                outcomes.append(_outcome(top, _below(top, members, tops), truth))
    return outcomes


def _is_top(span: Span) -> bool:
    return "raglog.detector.version" in span.attributes


def _truth(
    top: Span, candidates: Sequence[Mapping[str, Any]], *, alone: bool
) -> Mapping[str, Any] | None:
    """Two runs may share a trace: then the question, which is in the top span, tells which."""
    if alone and len(candidates) == 1:
        return candidates[0]
    texts = " ".join(str(value) for value in top.attributes.values())
    return next((run for run in candidates if run["question"] in texts), None)


def _below(top: Span, members: Iterable[Span], tops: Sequence[Span]) -> list[Span]:
    """Return the spans of the run of ``top``: all of a trace with one run, else its subtree."""
    if len(tops) == 1:
        return list(members)
    parents = {span.span_id: span.parent_id for span in members}

    def inside(span_id: bytes) -> bool:
        seen = set()
        while span_id and span_id not in seen:
            if span_id == top.span_id:
                return True
            seen.add(span_id)
            span_id = parents.get(span_id, b"")
        return False

    return [span for span in members if inside(span.span_id)]


def _outcome(top: Span, spans: Sequence[Span], truth: Mapping[str, Any]) -> Outcome:
    found: dict[Stage, StageOutcome] = {}
    for span in spans:
        for event in span.events:
            name = str(event.attributes.get(EVALUATION_NAME, ""))
            if event.name.encode() == EVALUATION_EVENT and name.startswith(NAMESPACE):
                stage = Stage(name.removeprefix(NAMESPACE))
                outcome = _stage_outcome(stage, event.attributes, span, truth)
                known = found.get(stage)
                if known is None or outcome.verdict is StageVerdict.FAULTY:
                    found[stage] = outcome
    for stage in Stage:
        if stage not in found:
            found[stage] = StageOutcome(stage, None, "", (), _labels(truth, stage))
    return Outcome(
        trace_id=top.trace_id,
        run_id=str(top.attributes["raglog.run.id"]),
        question=truth["question"],
        pipeline=truth["pipeline"],
        verdict=RunVerdict(str(top.attributes["raglog.run.verdict"])),
        stages={stage: found[stage] for stage in Stage},
    )


def _stage_outcome(
    stage: Stage, attributes: Mapping[str, object], span: Span, truth: Mapping[str, Any]
) -> StageOutcome:
    types: object = ()
    if span.attributes.get("raglog.stage") == stage.value:
        types = span.attributes.get("raglog.fault.types") or ()
    if not isinstance(types, tuple):
        raise BadInput(f"raglog.fault.types of span {span.span_id.hex()} is no list")
    return StageOutcome(
        stage,
        StageVerdict(str(attributes["gen_ai.evaluation.score.label"])),
        str(attributes.get("gen_ai.evaluation.explanation", "")),
        tuple(map(str, types)),
        _labels(truth, stage),
    )


def _labels(truth: Mapping[str, Any], stage: Stage) -> tuple[str, ...] | None:
    label = truth["labels"].get(stage.value)
    if label is None:
        return None
    return tuple(label.get("types") or ("faulty",)) if label["faulty"] else ()


def print_outcomes(outcomes: Sequence[Outcome], console: Console, *, explanations: bool) -> None:
    """Print the table of runs: verdicts, and the truth beside them."""
    table = Table(show_lines=False)
    widths = {"flagged": _FAULTS_WIDTH, "planted": _FAULTS_WIDTH, "outcome": _OUTCOME_WIDTH}
    for column in ("pipeline", "question", "verdict", "flagged", "planted", "outcome"):
        table.add_column(column, no_wrap=column not in widths, max_width=widths.get(column))
    for outcome in outcomes:
        table.add_row(*_row(outcome))
    wide = plain_console(
        file=console.file,
        width=max(console.width, _TABLE_WIDTH),
        force_terminal=console.is_terminal,
    )
    wide.print(table)
    if not explanations:
        return
    for outcome in outcomes:
        title = Text(f"\n{outcome.pipeline}: {outcome.question}", style="bold")
        console.print(title, soft_wrap=True)
        for stage in outcome.stages.values():
            if stage.verdict is not None:
                mark = {Hit.FALSE_ALARM: "  [false alarm]", Hit.MISS: "  [missed]"}.get(
                    stage.hit or Hit.QUIET, ""
                )
                console.print(
                    Text(
                        f"  {stage.stage.value}: {stage.verdict.value}{mark}: {stage.explanation}"
                    ),
                    soft_wrap=True,
                )


def _row(outcome: Outcome) -> tuple[Text | str, ...]:
    flagged = ", ".join(
        f"{stage.stage.value} ({', '.join(stage.fault_types) or 'fault'})"
        for stage in outcome.stages.values()
        if stage.verdict is StageVerdict.FAULTY
    )
    planted = ", ".join(
        f"{stage.stage.value} ({', '.join(stage.planted)})"
        for stage in outcome.stages.values()
        if stage.planted
    )
    notable = [
        f"{hit.value}: {stage.value}"
        for stage, judged in outcome.stages.items()
        if (hit := judged.hit) in {Hit.MISS, Hit.FALSE_ALARM}
        or (hit is Hit.UNJUDGED and judged.planted)
    ]
    style = "red" if outcome.verdict is RunVerdict.FAULTY else "green"
    return (
        Text(outcome.pipeline),
        Text(shorten(outcome.question, _QUESTION_WIDTH)),
        Text(outcome.verdict.value, style=style),
        Text(flagged or "-"),
        Text(planted or "-"),
        Text("; ".join(notable) or ("hit" if planted else "rightly quiet")),
    )


def print_scores(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print how many faults were found, missed, or flagged in vain, per stage and per run."""
    table = Table(title="stages, against what is known about the runs")
    for column in (
        "stage",
        "faulty",
        "hits",
        "misses",
        "false alarms",
        "rightly quiet",
        "unjudged",
    ):
        table.add_column(column, justify="left" if column == "stage" else "right")
    totals = dict.fromkeys(Hit, 0)
    for stage in Stage:
        judged = [outcome.stages[stage] for outcome in outcomes]
        counts = {hit: sum(item.hit is hit for item in judged) for hit in Hit}
        faulty = sum(bool(item.planted) for item in judged)
        table.add_row(stage.value, str(faulty), *_cells(counts))
        for hit, count in counts.items():
            totals[hit] += count
    faulty = sum(bool(s.planted) for outcome in outcomes for s in outcome.stages.values())
    table.add_row("all", str(faulty), *_cells(totals), style="bold")
    console.print(table)
    planted = [outcome for outcome in outcomes if outcome.planted]
    clean = [outcome for outcome in outcomes if not outcome.planted]
    found = sum(outcome.verdict is RunVerdict.FAULTY for outcome in planted)
    alarms = sum(outcome.verdict is RunVerdict.FAULTY for outcome in clean)
    console.print(
        f"runs: {len(outcomes)}; {found} of {len(planted)} faulty runs were flagged, "
        f"{alarms} of {len(clean)} clean runs were flagged in vain",
        soft_wrap=True,
    )


def _cells(counts: Mapping[Hit, int]) -> tuple[str, ...]:
    order = (Hit.HIT, Hit.MISS, Hit.FALSE_ALARM, Hit.QUIET, Hit.UNJUDGED)
    return tuple(str(counts[hit]) for hit in order)

"""``otel-raglog explain``: a file of traces to the words that say which span became which step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import Files, judge_all, report_problems
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.tables import printable, shorten
from otel_raglog.errors import BadInput
from otel_raglog.model import (
    AssemblyStep,
    EmbedStep,
    Field,
    GenerateStep,
    Measurement,
    Report,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Stage,
    Step,
    Verdict,
)
from otel_raglog.options import Analysis

_WIDTH = 100
_LONGEST_LINE = 2_500


def explain(
    files: Files,
    trace: Annotated[
        str | None, typer.Option("--trace", help="Only the trace with this id (hex, or its start).")
    ] = None,
    measurements: Annotated[
        bool, typer.Option("--measurements", help="Also print every measurement.")
    ] = False,
) -> None:
    """Print which span became which step and why, what was read where, and the verdicts.

    Where nothing was judged, print why.
    """
    problems, reports = _reports(files)
    console = Console(highlight=False)
    if not console.is_terminal:
        # Away from a terminal lines stay whole: somebody may search them.
        console = Console(highlight=False, width=_LONGEST_LINE)
    wanted = [
        report
        for report in reports
        if trace is None or report.run.trace_id.hex().startswith(trace.lower())
    ]
    if not wanted and not problems:
        console.print(
            f"No trace whose id starts with {trace} in these files."
            if trace and reports
            else "No span in these files may belong to a run."
        )
    for report in wanted:
        console.print(_tree(report, measurements=measurements))
        console.print()
    report_problems(problems)
    if problems or not wanted:
        raise typer.Exit(BAD_INPUT if problems or trace else 0)


def _reports(files: list[Path]) -> tuple[list[str], list[Report]]:
    """Read each file by itself: one that cannot be read does not cost the others."""
    analyser = build_analyser(Analysis(), quote_text=False, failures=LoggingFailures())
    problems: list[str] = []
    reports: list[Report] = []
    for path in files:
        try:
            reading = read_files([path])
        except BadInput as error:
            problems.append(str(error))
            continue
        problems.extend(reading.problems)
        groups = judge_all(reading.traces(), reading.runs, analyser)
        reports.extend(report for group in groups for report in group)
    return problems, reports


def _tree(report: Report, *, measurements: bool) -> Tree:
    run = report.run
    tree = Tree(_text(f"run {run.run_id}  service {run.service or '-'}  verdict {report.verdict}"))
    tree.add(_text(f"question: {shorten(run.question.value, _WIDTH)}{_place(run.question)}"))
    tree.add(_text(f"answer: {shorten(run.answer.value, _WIDTH)}{_place(run.answer)}"))
    if run.session_id:
        tree.add(_text(f"session {run.session_id}, turn {run.turn or 'unknown'}"))
    tree.add(
        _text(
            f"released: {run.completion.value}; conventions: {', '.join(run.conventions) or 'none'}"
        )
    )
    loss = run.loss
    if loss.dropped_attributes or loss.gaps or loss.redacted or loss.truncated:
        tree.add(
            _text(
                f"lost on the way: {loss.dropped_attributes} attributes dropped by the SDK; "
                f"gaps in {', '.join(loss.gaps) or 'none'}; redacted {', '.join(loss.redacted) or 'none'}; "
                f"cut {', '.join(loss.truncated) or 'none'}"
            )
        )
    if report.skip_reason:
        tree.add(_text(f"not judged: {report.skip_reason}"))
    for note in run.notes:
        tree.add(_text(note))
    if any(state.steps for state in run.stages.values()):
        for stage in Stage:
            _add_stage(tree, report, stage, measurements=measurements)
    return tree


def _add_stage(tree: Tree, report: Report, stage: Stage, *, measurements: bool) -> None:
    verdict = report.verdicts[stage]
    branch = tree.add(_text(_headline(verdict)))
    if verdict.explanation:
        branch.add(_text(verdict.explanation))
    for step in report.run.steps(stage):
        origin = step.origin
        spans = f" span {origin.span_id.hex()}" if origin.span_id else ""
        more = f" (+{len(origin.span_ids) - 1} collapsed)" if len(origin.span_ids) > 1 else ""
        leaf = branch.add(_text(f"{origin.name or 'step'}{spans}{more}: {origin.why}"))
        for line in _fields(step):
            leaf.add(_text(line))
    own = [item for item in report.measurements if item.stage is stage] if measurements else []
    for item in own:
        branch.add(_text(_measurement_line(item)))


def _text(line: str) -> Text:
    return Text(printable(line))


def _headline(verdict: Verdict) -> str:
    head = f"{verdict.stage.value}: {verdict.verdict.value}"
    if verdict.probability is not None:
        head += f" (probability {verdict.probability:.2f}, threshold {verdict.threshold:.2f})"
    if verdict.reason is not None:
        head += f" ({verdict.reason.value})"
    if verdict.fault_types:
        head += f" {', '.join(verdict.fault_types)}"
    if verdict.warnings:
        head += f"; warnings {', '.join(verdict.warnings)}"
    return head


def _measurement_line(item: Measurement) -> str:
    if item.value is not None:
        return f"{item.name} = {item.value:.4g}"
    return f"{item.name}: {item.status.value}" + (f" ({item.reason})" if item.reason else "")


def _fields(step: Step) -> list[str]:
    match step:
        case RewriteStep():
            return [
                _text_line("question", step.input),
                f"{step.kind.value}: " + _list_line("rewrites", step.rewrites),
            ]
        case EmbedStep():
            return [_list_line("texts", step.texts)]
        case RetrieveStep():
            return [_text_line("query", step.query), _count_line("chunks", step.chunks)]
        case RerankStep():
            return [
                _text_line("query", step.query),
                _count_line("candidates", step.candidates),
                _count_line("selected", step.selected),
            ]
        case AssemblyStep():
            return [
                _count_line("selected", step.selected),
                _text_line("context", step.context),
                _text_line("prompt", step.prompt),
            ]
        case GenerateStep():
            tokens = step.tokens
            model = f"model {step.model or 'unknown'}"
            finish = f"finish reason {step.finish_reason or 'unknown'}"
            usage = f"tokens {tokens.prompt} in, {tokens.completion} out"
            return [
                _count_line("messages", step.messages),
                _text_line("answer", step.answer),
                f"{model}, {finish}, {usage}",
            ]


def _text_line(name: str, field: Field[str]) -> str:
    value = f'"{shorten(field.value, _WIDTH)}"' if field.usable else field.status.value
    return f"{name}: {value}{_place(field)}"


def _list_line(name: str, field: Field[tuple[str, ...]]) -> str:
    if not field.usable:
        return f"{name}: {field.status.value}{_place(field)}"
    return (
        f"{name}: " + "; ".join(f'"{shorten(item)}"' for item in field.value or ()) + _place(field)
    )


def _count_line(name: str, field: Field[tuple[object, ...]] | Field[tuple[str, ...]]) -> str:
    if not field.usable:
        return f"{name}: {field.status.value}{_place(field)}"
    return f"{name}: {len(field.value or ())} ({field.status.value}){_place(field)}"


def _place(field: Field[str] | Field[tuple[str, ...]] | Field[tuple[object, ...]]) -> str:
    source = field.source
    return f"  [{source.key} of {source.span_id.hex()}]" if source else ""

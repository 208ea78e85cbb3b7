"""``otel-raglog explain``: files of traces to what was read of which span, and what to do about it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser, build_conventions, build_markers
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import (
    Files,
    JoinFlag,
    joining,
    judge_all,
    report_problems,
    with_progress,
    with_turns,
)
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.commands.run_tree import run_tree
from otel_raglog.commands.setup_summary import print_setup, setup_json
from otel_raglog.commands.span_tree import span_tree
from otel_raglog.config import load_config
from otel_raglog.errors import BadInput
from otel_raglog.explaining.explained_trace import ExplainedTrace, explain_trace
from otel_raglog.explaining.setup import SetupSummary
from otel_raglog.model import HeldTrace, Report, Span
from otel_raglog.options import Join
from otel_raglog.receive.markers import Markers

_LONGEST_LINE = 2_500


class SetupFormat(StrEnum):
    """How the summary of the set-up is printed."""

    TABLE = "table"
    JSON = "json"


def explain(
    files: Files,
    trace: Annotated[
        str | None, typer.Option("--trace", help="Only the trace with this id (hex, or its start).")
    ] = None,
    measurements: Annotated[
        bool, typer.Option("--measurements", help="Also print every measurement.")
    ] = False,
    setup: Annotated[
        bool,
        typer.Option(
            "--setup",
            help="Sum up all traces: which stages are captured, how often, from which spans, and "
            "what to do about the others.",
        ),
    ] = False,
    setup_format: Annotated[
        SetupFormat, typer.Option("--format", help="How --setup prints.")
    ] = SetupFormat.TABLE,
    join: JoinFlag = False,
    config: ConfigFile = None,
) -> None:
    """Print which span became which step and why, what was read where, and the verdicts.

    For each trace: its runs, then the tree of its spans, with the keys that were used and those
    that were looked for in vain, what was lost, and what to do about it. Where nothing was judged,
    print why. docs/connecting.md tells how to read it.
    """
    if setup_format is SetupFormat.JSON and not setup:
        raise typer.BadParameter("json is a form of --setup alone", param_hint="--format")
    loaded = load_config(config)
    conventions = build_conventions(loaded.conventions)
    # What is captured does not depend on verdicts, and many traces are soon mapped.
    options = loaded.analysis.model_copy(update={"checks": ()}) if setup else loaded.analysis
    analyser = build_analyser(
        options, quote_text=False, failures=LoggingFailures(), conventions=conventions
    )
    problems, readings = _read(files, build_markers(conventions), together=setup)
    groups = _judged(readings, analyser, joining(loaded.join, wanted=join))
    wanted = [group for group in groups if trace is None or group.is_of(trace.lower())]
    if setup:
        _print_setup(wanted, analyser, setup_format)
    else:
        _print_traces(wanted, analyser, measurements=measurements)
    if not wanted and not problems and not setup:
        sys.stdout.write(
            f"No trace whose id starts with {trace} in these files.\n"
            if trace and groups
            else "No span in these files may belong to a run.\n"
        )
    report_problems(problems)
    if problems or not wanted:
        raise typer.Exit(BAD_INPUT if problems or trace else 0)


@dataclass(frozen=True, slots=True)
class _Group:
    """The reports of a trace, or of several that were joined, with what was received of these.

    A run record has no trace. ``passed`` counts the spans that nobody reads.
    """

    reports: tuple[Report, ...]
    traces: tuple[HeldTrace, ...]
    passed: int

    def is_of(self, beginning: str) -> bool:
        """Tell whether the id of one of the traces begins so."""
        ids = {trace.trace_id for trace in self.traces}
        ids |= {report.run.trace_id for report in self.reports}
        return any(trace_id.hex().startswith(beginning) for trace_id in ids)

    def spans(self, analyser: Analyser) -> list[Span]:
        """Return the spans that are read."""
        return [span for trace in self.traces for span in analyser.decode(trace).spans]


def _read(
    files: Sequence[Path], markers: Markers, *, together: bool
) -> tuple[list[str], list[Reading]]:
    """Read each file by itself, unless traces are spread over them.

    One that cannot be read does not cost the others.
    """
    problems: list[str] = []
    readings: list[Reading] = []
    for paths in [files] if together else [[path] for path in files]:
        try:
            reading = read_files(paths, markers=markers)
        except BadInput as error:
            problems.append(str(error))
            continue
        problems.extend(reading.problems)
        readings.append(reading)
    return problems, readings


def _judged(readings: Sequence[Reading], analyser: Analyser, how: Join | None) -> list[_Group]:
    parts = [(reading, reading.traces()) for reading in readings]
    total = sum(len(traces) + len(reading.runs) for reading, traces in parts)
    groups: list[_Group] = []

    def judging() -> Iterator[Sequence[Report]]:
        for reading, traces in parts:
            passed = _passed(reading)
            held = {trace.trace_id: trace for trace in traces}
            for reports in judge_all(traces, reading.runs, analyser, how):
                ids = dict.fromkeys(
                    trace_id
                    for report in reports
                    for trace_id in report.run.joined_traces or (report.run.trace_id,)
                )
                own = tuple(held[item] for item in ids if item in held)
                count = sum(passed[item] for item in ids)
                groups.append(_Group(tuple(reports), own, count))
                yield reports

    reports = with_turns([report for group in with_progress(judging(), total) for report in group])
    numbered = iter(reports)
    return [replace(group, reports=tuple(islice(numbered, len(group.reports)))) for group in groups]


def _passed(reading: Reading) -> Counter[bytes]:
    return Counter(
        span.trace_id for batch in reading.batches for span in batch.spans if not span.held
    )


def _explained(group: _Group, analyser: Analyser) -> ExplainedTrace:
    runs = [report.run for report in group.reports]
    return explain_trace(group.spans(analyser), runs, analyser.conventions)


def _print_traces(groups: Iterable[_Group], analyser: Analyser, *, measurements: bool) -> None:
    console = _console()
    for group in groups:
        for report in group.reports:
            console.print(run_tree(report, measurements=measurements))
        if group.traces:
            explained = _explained(group, analyser)
            console.print(span_tree(explained, _title(group, len(explained.spans))))
        console.print()


def _title(group: _Group, spans: int) -> str:
    ids = ", ".join(trace.trace_id.hex() for trace in group.traces)
    title = f"spans of trace {ids}: {spans}"
    return title + (f", and {group.passed} that were forwarded unread" if group.passed else "")


def _print_setup(groups: Iterable[_Group], analyser: Analyser, form: SetupFormat) -> None:
    summary = SetupSummary()
    for group in groups:
        runs = [report.run for report in group.reports]
        spans = _explained(group, analyser).spans if group.traces else ()
        summary.add(runs, spans, len(group.traces))
    if form is SetupFormat.JSON:
        sys.stdout.write(json.dumps(setup_json(summary.services()), indent=2) + "\n")
    else:
        print_setup(summary.services(), _console())


def _console() -> Console:
    console = Console(highlight=False)
    # Away from a terminal lines stay whole: somebody may search them.
    return console if console.is_terminal else Console(highlight=False, width=_LONGEST_LINE)

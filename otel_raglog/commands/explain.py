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

from otel_raglog.analysis import Analyser, Mapped
from otel_raglog.building import build_analyser, build_conventions, build_markers
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import (
    Files,
    JoinFlag,
    joining,
    map_all,
    report_problems,
    with_progress,
)
from otel_raglog.commands.captures import MappingsFolder, Pipeline, StoredMappings
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.narrowing import begins, needed
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.commands.run_tree import run_tree
from otel_raglog.commands.setup_summary import print_setup
from otel_raglog.commands.span_tree import span_tree
from otel_raglog.commands.tables import plain_console
from otel_raglog.config import load_config
from otel_raglog.errors import BadInput
from otel_raglog.explaining.explained_trace import ExplainedTrace, explain_trace
from otel_raglog.explaining.setup import SetupSummary
from otel_raglog.explaining.setup_json import setup_json
from otel_raglog.mapping.sessions import number_turns
from otel_raglog.model import HeldTrace, Report, Span, Trace
from otel_raglog.options import Join
from otel_raglog.receive.markers import Markers

_LONGEST_LINE = 2_500
_NO_RUNS = (
    "No span in these files may belong to a run. Spans of your own are held when "
    "conventions.custom says what they are: docs/custom-conventions.md."
)


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
    mappings: MappingsFolder = None,
    pipeline: Pipeline = None,
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
    stored = StoredMappings(mappings, pipeline)
    problems, readings = _read(files, build_markers(conventions), stored, together=setup)
    wanted = _judged(readings, analyser, joining(loaded.join, wanted=join), trace)
    if setup:
        _print_setup(wanted, analyser, setup_format)
    else:
        _print_traces(wanted, analyser, measurements=measurements)
    if not wanted and not problems and not setup:
        sys.stdout.write(
            f"No trace whose id starts with {trace} in these files.\n"
            if trace and any(reading.runs or reading.traces() for reading in readings)
            else f"{_NO_RUNS}\n"
        )
    notes = [note for reading in readings for note in reading.notes]
    report_problems([*notes, *problems])
    if problems or not wanted:
        raise typer.Exit(BAD_INPUT if problems or trace else 0)


@dataclass(frozen=True, slots=True)
class _Group:
    """The runs of a trace, or of several that were joined, with what was received of these.

    A run record has no trace. ``passed`` counts the spans that nobody reads; ``reports`` come last.
    """

    mapped: Mapped
    traces: tuple[HeldTrace, ...]
    passed: int
    reports: tuple[Report, ...] = ()

    def is_of(self, beginning: str) -> bool:
        """Tell whether the id of one of the traces begins so."""
        ids = {trace.trace_id for trace in self.traces}
        ids |= {run.trace_id for run in self.mapped.runs}
        return any(begins(trace_id, beginning) for trace_id in ids)

    def spans(self, analyser: Analyser) -> list[Span]:
        """Return the spans that are read."""
        return [span for trace in self.traces for span in analyser.decode(trace).spans]


def _read(
    files: Sequence[Path], markers: Markers, stored: StoredMappings, *, together: bool
) -> tuple[list[str], list[Reading]]:
    """Read each file by itself, unless traces are spread over them.

    One that cannot be read does not cost the others.
    """
    problems: list[str] = []
    readings: list[Reading] = []
    for paths in [files] if together else [[path] for path in files]:
        try:
            reading = read_files(paths, markers=markers, stored=stored)
        except BadInput as error:
            problems.append(str(error))
            continue
        problems.extend(reading.problems)
        readings.append(reading)
    return problems, readings


def _judged(
    readings: Sequence[Reading], analyser: Analyser, how: Join | None, beginning: str | None
) -> list[_Group]:
    """Return the runs of all traces, or of those whose id begins so, with their reports.

    Of the others only those are mapped that may tell of these, and none is judged.
    """
    start = None if beginning is None else beginning.lower()
    groups = _numbered([*_mapped(readings, analyser, how, start)])
    wanted = [group for group in groups if start is None or group.is_of(start)]

    def judging() -> Iterator[Sequence[Report]]:
        for group in wanted:
            yield analyser.reports_of(group.mapped)

    judged = with_progress(judging(), len(wanted))
    return [
        replace(group, reports=tuple(reports))
        for group, reports in zip(wanted, judged, strict=True)
    ]


def _mapped(
    readings: Sequence[Reading], analyser: Analyser, how: Join | None, start: str | None
) -> Iterator[_Group]:
    parts = [(reading, reading.traces()) for reading in readings]
    needs: set[int] | None = None
    if start is not None:
        every = [trace for _, traces in parts for trace in traces]
        needs = set(map(id, needed(every, start, analyser, how)))
    for reading, every_trace in parts:
        traces = [trace for trace in every_trace if needs is None or id(trace) in needs]
        passed = _passed(reading)
        held = {trace.trace_id: trace for trace in traces}
        for mapped in map_all(traces, analyser, how):
            ids = dict.fromkeys(
                trace_id for run in mapped.runs for trace_id in run.joined_traces or (run.trace_id,)
            )
            # The spans are decoded again for those that are shown: there may be many traces.
            bare = replace(mapped, trace=replace(mapped.trace, spans=()))
            own = tuple(held[item] for item in ids if item in held)
            yield _Group(bare, own, sum(passed[item] for item in ids))
        for run in reading.runs:
            yield _Group(Mapped(Trace(run.trace_id, (), run.completion, 0.0), (run,), 0.0), (), 0)


def _numbered(groups: Sequence[_Group]) -> list[_Group]:
    """Return groups with the turns of their runs, as far as all of them together tell them."""
    numbered = iter(number_turns([run for group in groups for run in group.mapped.runs]))
    return [
        replace(
            group,
            mapped=replace(group.mapped, runs=tuple(islice(numbered, len(group.mapped.runs)))),
        )
        for group in groups
    ]


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
    console = plain_console(highlight=False)
    # Away from a terminal lines stay whole: somebody may search them.
    return console if console.is_terminal else plain_console(highlight=False, width=_LONGEST_LINE)

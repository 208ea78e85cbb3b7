"""``otel-raglog analyze``: files of traces or run records to reports."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from otel_raglog.analysis import Analyser, Assessed, Mapped
from otel_raglog.building import (
    build_analyser,
    build_conventions,
    build_markers,
    llm_options,
)
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.captures import MappingsFolder, Pipeline, StoredMappings
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.costs import counts_in_words
from otel_raglog.commands.exit_codes import BAD_INPUT, FAULTS_FOUND
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.tables import plain_console, print_reports
from otel_raglog.config import load_config
from otel_raglog.judge.schedule import When
from otel_raglog.mapping.fragments import JoinBy
from otel_raglog.mapping.sessions import number_turns
from otel_raglog.model import HeldTrace, Report, Run, RunVerdict
from otel_raglog.options import Join
from otel_raglog.redaction.building import build_redaction
from otel_raglog.report.json_report import to_json
from otel_raglog.waiting import runs_of_all

_PLAIN_EVERY = 500
_MOST_AHEAD = 500
"""Runs that are judged while an LLM still answers about an earlier one."""


class OutputFormat(StrEnum):
    """How reports are printed."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


class FailOn(StrEnum):
    """What makes the exit code 1."""

    FAULTY = "faulty"
    NEVER = "never"


Files = Annotated[
    list[Path],
    typer.Argument(
        help="OTLP traces (JSON, JSON lines, protobuf), run records (JSON lines, CSV, parquet) or captured HTTP calls (mitmproxy flow files, HAR, cassettes, call records); .gz too.",
        metavar="FILE...",
    ),
]


JoinFlag = Annotated[
    bool,
    typer.Option(
        "--join",
        help="Join traces of one run, as join.enabled does (by join.by, within join.window_seconds).",
    ),
]


def analyze(
    files: Files,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the reports.")
    ] = OutputFormat.TABLE,
    content: Annotated[
        bool, typer.Option("--content/--no-content", help="Put the runs' texts into JSON reports.")
    ] = True,
    quote_text: Annotated[
        bool, typer.Option("--quote-text", help="Let explanations quote documents and answers.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 when a run is faulty.")
    ] = FailOn.NEVER,
    encoder_threads: Annotated[
        int, typer.Option(min=0, help="Texts encoded side by side; 0: one per core, 4 at most.")
    ] = 0,
    join: JoinFlag = False,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Which runs an LLM is asked about: always, escalate, sample:P (a share), never; "
            "default: judge.when.",
            metavar="WHEN",
        ),
    ] = None,
    mappings: MappingsFolder = None,
    pipeline: Pipeline = None,
    config: ConfigFile = None,
) -> None:
    """Judge every stage of every run in FILES.

    Exit code 0: done; 1: faults found with --fail-on faulty; 2: bad usage or input (what could be
    read is still printed). What --config says of conventions, analysis, explanations and
    redaction counts here too. Runs of one session are numbered in order of time where no history tells their turn.
    """
    loaded = load_config(config)
    conventions = build_conventions(loaded.conventions)
    reading = read_files(
        files, markers=build_markers(conventions), stored=StoredMappings(mappings, pipeline)
    )
    threads = encoder_threads or loaded.analysis.encoder_threads
    when, sample = (None, None) if judge is None else _when(judge)
    analyser = build_analyser(
        loaded.analysis.model_copy(update={"encoder_threads": threads}),
        quote_text=quote_text or loaded.explanations.quote_text,
        failures=LoggingFailures(),
        conventions=conventions,
        llm=llm_options(loaded.judge, when=when, sample=sample, patient=True),
        redaction=build_redaction(loaded.redaction),
    )
    traces = reading.traces()
    together = joining(loaded.join, wanted=join)
    try:
        groups = in_order(assess_all(traces, reading.runs, analyser, together))
        shown = with_progress(groups, len(traces) + len(reading.runs))
        reports = [_as_shown(r) for r in with_turns([r for group in shown for r in group])]
    finally:  # also when it is interrupted: nothing more is asked, and paid for
        if analyser.llm is not None:
            analyser.llm.close(0.0)
    _print(reports, output_format, content=content)
    print_use(reports)
    report_problems([*reading.notes, *reading.problems])
    if reading.problems:
        raise typer.Exit(BAD_INPUT)
    if fail_on is FailOn.FAULTY and any(report.verdict is RunVerdict.FAULTY for report in reports):
        raise typer.Exit(FAULTS_FOUND)


def assess_all(
    traces: Sequence[HeldTrace],
    records: Sequence[Run],
    analyser: Analyser,
    join: Join | None = None,
) -> Iterator[Sequence[Assessed]]:
    """Yield what is said of each trace, or of those joined as one run, then of each run record."""
    for mapped in map_all(traces, analyser, join):
        yield analyser.assess_all(mapped)
    for run in records:
        yield (analyser.assess(run),)


def in_order(groups: Iterable[Sequence[Assessed]]) -> Iterator[Sequence[Report]]:
    """Yield the final reports of each group; while an LLM answers about one, others are judged."""
    waiting: deque[Sequence[Assessed]] = deque()
    for group in groups:
        waiting.append(group)
        while waiting and (len(waiting) > _MOST_AHEAD or _is_answered(waiting[0])):
            yield [each.final() for each in waiting.popleft()]
    for group in waiting:
        yield [each.final() for each in group]


def _is_answered(group: Sequence[Assessed]) -> bool:
    return all(each.asked is None or each.asked.done for each in group)


def _when(text: str) -> tuple[When, float | None]:
    """Return what --judge says: when, and of a sample the share."""
    word, colon, share = text.partition(":")
    known = {when.value for when in When}
    if word in known and (word == When.SAMPLE.value) == bool(colon):
        try:
            sample = float(share) if colon else None
        except ValueError:
            sample = -1.0
        if sample is None or 0 <= sample <= 1:
            return When(word), sample
    raise typer.BadParameter(
        f"{text!r} is none of always, escalate, never, sample:P with a P from 0 to 1",
        param_hint="--judge",
    )


def print_use(reports: Sequence[Report]) -> None:
    """Say on stderr what an LLM was asked, what it cost, and why it was not asked more."""
    uses = [report.judge for report in reports if report.judge is not None]
    if not uses:
        return
    skipped = Counter(use.skipped for use in uses if use.skipped)
    abstained = Counter(reason for use in uses for _, reason in use.abstained)
    costs = [use.cost_usd for use in uses]
    known = [cost for cost in costs if cost is not None]
    cost = f"{sum(known):.4f} USD" if len(known) == len(costs) else "cost unknown (judge.prices)"
    asked = sum(use.calls > 0 for use in uses)
    calls = sum(use.calls for use in uses)
    prompt = sum(use.prompt_tokens for use in uses)
    completion = sum(use.completion_tokens for use in uses)
    parts = [f"{uses[0].model} was asked about {asked} of {len(uses)} runs: {calls} calls"]
    parts.append(f"{prompt} tokens sent and {completion} answered, {cost}")
    if skipped:
        parts.append(f"not asked: {counts_in_words(skipped)}")
    if abstained:
        parts.append(f"checks without an answer: {counts_in_words(abstained)}")
    sys.stderr.write(f"otel-raglog: {'; '.join(parts)}\n")


def map_all(
    traces: Sequence[HeldTrace], analyser: Analyser, join: Join | None = None
) -> Iterator[Mapped]:
    """Yield the runs of each trace, or of those joined as one run."""
    if join is not None:
        yield from runs_of_all(traces, analyser, JoinBy(join.by), join.window_seconds)
    else:
        for held in traces:
            yield analyser.mapped(analyser.decode(held))


def joining(options: Join, *, wanted: bool) -> Join | None:
    """Return how to join traces; ``None`` when neither the command nor the options ask for it."""
    return options if wanted or options.enabled else None


def with_turns(reports: Sequence[Report]) -> list[Report]:
    """Return reports with the turns of their runs, as far as all of them together tell them."""
    runs = number_turns([report.run for report in reports])
    return [
        report if run is report.run else replace(report, run=run)
        for report, run in zip(reports, runs, strict=True)
    ]


def _as_shown(report: Report) -> Report:
    """Return a report of what may be shown of its run: what --config redacts is not."""
    run = report.run
    return report if run.view is None else replace(report, run=replace(run.shown, turn=run.turn))


def report_problems(problems: Iterable[str]) -> None:
    """Print what could not be read, a line each, to stderr."""
    for problem in problems:
        sys.stderr.write(f"otel-raglog: {problem}\n")


def with_progress(groups: Iterator[Sequence[Report]], total: int) -> Iterator[Sequence[Report]]:
    """Yield ``groups``, and say on stderr how many of ``total`` there were."""
    console = plain_console(stderr=True)
    if console.is_terminal:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("Judging", total=total)
            for group in groups:
                yield group
                progress.advance(task)
        return
    for number, group in enumerate(groups, 1):
        yield group
        if number % _PLAIN_EVERY == 0:
            sys.stderr.write(f"judged {number} of {total}\n")


def _print(reports: Sequence[Report], output_format: OutputFormat, *, content: bool) -> None:
    if output_format is OutputFormat.TABLE:
        print_reports(reports, plain_console())
        return
    items = [to_json(report, content=content) for report in reports]
    # Escapes are JSON in any encoding. In UTF-8 only lone surrogates need one, and the stream
    # writes those (\udc80) as JSON would.
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    if output_format is OutputFormat.JSON:
        text = json.dumps(items, ensure_ascii=ascii_only, indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")
    else:
        for item in items:
            sys.stdout.write(json.dumps(item, ensure_ascii=ascii_only, allow_nan=False) + "\n")

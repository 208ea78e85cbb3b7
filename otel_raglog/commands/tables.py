"""Reports to tables and lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from otel_raglog.model import Report, RunVerdict, Stage, StageVerdict, Verdict
from otel_raglog.report.documents import documents_of, way_of

_STYLES = {
    StageVerdict.FAULTY: "bold red",
    StageVerdict.OK: "green",
    StageVerdict.ABSENT: "dim",
    StageVerdict.UNKNOWN: "yellow",
}
_RUN_STYLES = {
    RunVerdict.FAULTY: "bold red",
    RunVerdict.OK: "green",
    RunVerdict.UNKNOWN: "yellow",
}
_QUESTION_WIDTH = 48
_MOST_DOCUMENTS = 10


def plain_console(
    *,
    file: IO[str] | None = None,
    stderr: bool = False,
    width: int | None = None,
    force_terminal: bool | None = None,
    highlight: bool = True,
    soft_wrap: bool = False,
) -> Console:
    """Return a console that prints texts from outside as they are: no markup, no ``:emoji:``."""
    return Console(
        file=file,
        stderr=stderr,
        width=width,
        force_terminal=force_terminal,
        highlight=highlight,
        soft_wrap=soft_wrap,
        emoji=False,
        markup=False,
    )


def verdict_text(verdict: Verdict) -> Text:
    """Return one cell: the verdict, its probability where there is one."""
    style = _STYLES[verdict.verdict]
    if verdict.verdict is StageVerdict.ABSENT:
        return Text("-", style=style)
    if verdict.probability is None:
        return Text(f"? {verdict.reason.value if verdict.reason else ''}".strip(), style=style)
    return Text(f"{verdict.verdict.value} {verdict.probability:.2f}", style=style)


def shorten(text: str | None, width: int = _QUESTION_WIDTH) -> str:
    """Return ``text`` on one line of at most ``width`` characters."""
    line = printable(" ".join((text or "").split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def printable(text: str) -> str:
    """Return ``text`` without control characters: a trace must not steer somebody's terminal."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def text_of(line: str, style: str = "") -> Text:
    """Return a line from a trace as it is: no markup, no control characters."""
    return Text(printable(line), style=style)


def print_reports(reports: Sequence[Report], console: Console) -> None:
    """Print a table of all runs, then the explanation of every faulty stage."""
    if not reports:
        console.print("No trace in these files has a span that may belong to a run.")
        return
    table = Table(title=None, show_lines=False)
    table.add_column("run", no_wrap=True)
    table.add_column("question", no_wrap=True, max_width=_QUESTION_WIDTH)
    table.add_column("verdict", no_wrap=True)
    for stage in Stage:
        table.add_column(stage.value, no_wrap=True)
    for report in reports:
        table.add_row(
            Text(shorten(report.run.run_id, 14)),
            Text(shorten(report.run.question.value)),
            Text(report.verdict.value, style=_RUN_STYLES[report.verdict]),
            *(verdict_text(report.verdicts[stage]) for stage in Stage),
        )
    wide = plain_console(
        file=console.file, width=max(console.width, 170), force_terminal=console.is_terminal
    )
    wide.print(table)
    for report in reports:
        print_explanations(report, console)
    counts = dict.fromkeys(RunVerdict, 0)
    for report in reports:
        counts[report.verdict] += 1
    console.print(
        f"{len(reports)} runs: "
        + ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
        + f" (detector {reports[0].detector_version})"
    )


def print_explanations(report: Report, console: Console) -> None:
    """Print why each faulty stage is faulty, or why nothing was judged."""
    if report.skip_reason:
        notes = " ".join(report.run.notes)
        line = f"{report.run.run_id}: not judged ({report.skip_reason}). {notes}"
        console.print(Text(printable(line)), soft_wrap=True)
    for stage in report.faulty_stages:
        verdict = report.verdicts[stage]
        faults = ", ".join(fault.value for fault in verdict.fault_types)
        line = f"{report.run.run_id} {stage.value}: {faults}: {verdict.explanation}"
        console.print(Text(printable(line)), soft_wrap=True)
    if report.faulty_stages:
        _print_documents(report, console)


def _print_documents(report: Report, console: Console) -> None:
    """Print what became of the chunks of a faulty run, a line each."""
    documents = documents_of(report.run)
    for number, document in enumerate(documents[:_MOST_DOCUMENTS], 1):
        line = f"  {document.id or f'chunk {number}'}: {way_of(document)}"
        console.print(Text(printable(line), style="dim"), soft_wrap=True)
    if len(documents) > _MOST_DOCUMENTS:
        more = f"  and {len(documents) - _MOST_DOCUMENTS} more"
        console.print(Text(more, style="dim"), soft_wrap=True)

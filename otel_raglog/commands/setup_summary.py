"""The summary of services' set-up to tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from otel_raglog.commands.tables import shorten, text_of
from otel_raglog.explaining.setup import Finding, ServiceSetup, StageSetup

_MOST_NAMES = 3
_MOST_FINDINGS = 30
_NAME_WIDTH = 40
_WHAT_WIDTH = 300


def print_setup(services: Sequence[ServiceSetup], console: Console) -> None:
    """Print each service: what was captured, what was not and why, and what else is to be known."""
    if not services:
        console.print("No span in these files may belong to a run.")
    for service in services:
        _print_service(service, console)


def _print_service(service: ServiceSetup, console: Console) -> None:
    console.print(
        text_of(
            f"service {shorten(service.service, _NAME_WIDTH)}: {_count(service.traces, 'trace')}, "
            f"{_count(service.runs, 'run')}, {service.judgeable} of them can be judged; "
            f"conventions: {', '.join(service.conventions) or 'none that is read'}",
            "bold",
        )
    )
    if service.counted:
        console.print(_table(service))
        for stage in service.stages:
            _print_stage(stage, console)
    findings = service.findings
    for finding in findings[:_MOST_FINDINGS]:
        _print_finding(finding, console)
    if len(findings) > _MOST_FINDINGS:
        console.print(f"… {len(findings) - _MOST_FINDINGS} more")
    console.print()


def _table(service: ServiceSetup) -> Table:
    table = Table(title=None)
    table.add_column("stage", no_wrap=True)
    for title in ("captured", "partly", "missing", "absent"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("from spans")
    table.add_column("convention")
    for stage in service.stages:
        table.add_row(
            stage.stage.value,
            f"{stage.captured} of {stage.of} ({stage.share:.0%})",
            str(stage.partly or "-"),
            str(stage.missing or "-"),
            str(stage.absent or "-"),
            text_of(_names(stage)),
            ", ".join(stage.conventions) or "-",
        )
    return table


def _names(stage: StageSetup) -> str:
    names = [shorten(name, _NAME_WIDTH) for name, _ in stage.span_names[:_MOST_NAMES]]
    more = len(stage.span_names) - _MOST_NAMES
    return (", ".join(names) + (f" and {more} more" if more > 0 else "")) or "-"


def _print_stage(stage: StageSetup, console: Console) -> None:
    if not stage.remedy:
        return
    why = f"{shorten(stage.why, _WHAT_WIDTH)}. " if stage.why else ""
    line = f"  {stage.stage.value}: {why}To do: {stage.remedy}"
    console.print(text_of(line), soft_wrap=True)


def _print_finding(finding: Finding, console: Console) -> None:
    line = f"  {finding.kind} ({finding.count}): {shorten(finding.what, _WHAT_WIDTH)}"
    if finding.remedy:
        line += f". To do: {finding.remedy}"
    if finding.traces:
        line += f" (--trace {', '.join(finding.traces)})"
    console.print(text_of(line), soft_wrap=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")

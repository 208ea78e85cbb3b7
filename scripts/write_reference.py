"""Write docs/reference.md from the code: every option, exporter option and metric.

``--check`` writes nothing and exits with 1 when the file is not what would be written.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from prometheus_client import CollectorRegistry
from pydantic import BaseModel

from otel_raglog.ledger import Ledger
from otel_raglog.options import Config, Destination
from otel_raglog.telemetry import RunMetrics
from otel_raglog_exporters.registry import EXPORTERS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference.md"


def option_rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield a table row for each option."""
    for name, info in model.model_fields.items():
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from option_rows(annotation, f"{prefix}{name}.")
            continue
        option = f"{prefix}{name}"
        text = info.description or ""
        variable = "OTEL_RAGLOG_" + option.replace(".", "__").upper()
        yield f"| `{option}` | `{_default(option)}` | {text} | `{variable}` |"


def _default(option: str) -> object:
    value: Any = Config().model_dump()
    for part in option.split("."):
        value = value[part]
    return value


def exporter_rows() -> Iterator[str]:
    """Yield a table row for each option of all exporters, then for each of each."""
    for name, info in Destination.model_fields.items():
        default = Destination().model_dump(mode="json")[name]
        yield f"| all | `{name}` | `{default}` | {info.description} |"
    for kind in EXPORTERS:
        hints = get_type_hints(kind.config)
        for field in dataclasses.fields(kind.config):
            if field.name == "name":
                continue
            if field.default is not dataclasses.MISSING:
                default = f"`{field.default}`"
            elif field.default_factory is not dataclasses.MISSING:
                default = f"`{field.default_factory()}`"
            else:
                default = "required"
            hint = str(hints[field.name]).replace("typing.", "").replace("|", "or")
            hint = hint.removeprefix("<class '").removesuffix("'>")
            yield f"| `{kind.name}` | `{field.name}` | {default} | {hint} |"


def metric_rows() -> Iterator[str]:
    """Yield a table row for each metric."""
    registry = CollectorRegistry()
    Ledger(registry)
    RunMetrics(registry)
    collectors = sorted(
        {id(c): c for c in registry._names_to_collectors.values()}.values(),  # noqa: SLF001  the only list of label names there is
        key=lambda collector: collector._name,  # noqa: SLF001
    )
    for collector in collectors:
        suffix = "_total" if collector._type == "counter" else ""  # noqa: SLF001
        labels = ", ".join(collector._labelnames) or "-"  # noqa: SLF001
        yield (
            f"| `{collector._name}{suffix}` | {collector._type} | {labels} "  # noqa: SLF001
            f"| {collector._documentation} |"  # noqa: SLF001
        )


def reference() -> str:
    """Return the page."""
    lines = [
        "# Reference",
        "",
        "Made from the code by `python scripts/write_reference.py`; a test fails when it is old.",
        "",
        "## Options",
        "One YAML file (`--config`, or `OTEL_RAGLOG_CONFIG`). Each option is a variable too; command",
        "line wins over environment, environment over file. Unknown keys are an error.",
        "",
        "| option | default | what | variable |",
        "|---|---|---|---|",
        *option_rows(Config),
        "",
        "## Exporters",
        "`exporters.<name>.kind` chooses the kind; `<name>` is yours and names the destination in",
        "metrics. `exporters.<name>: URL` is short for `otlp_grpc` with that endpoint.",
        "",
        "| kind | option | default | type |",
        "|---|---|---|---|",
        *exporter_rows(),
        "",
        "## Metrics",
        "The gauges `raglog_traces_open`, `raglog_held_spans`, `raglog_held_bytes`,",
        "`raglog_memory_bytes`, `raglog_backlog_traces`, `raglog_fragments_pending`, `raglog_judge_pending`,",
        "`raglog_journal_bytes`, `raglog_journal_oldest_seconds`, `raglog_journal_undecided_items`,",
        "`raglog_api_runs`, `raglog_api_bytes` and `raglog_api_dropped_reports` come with the running",
        "service.",
        "",
        "| metric | type | labels | what |",
        "|---|---|---|---|",
        *metric_rows(),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page, or check it."""
    text = reference()
    if "--check" in sys.argv[1:]:
        current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        if current != text:
            sys.exit(f"{TARGET.name} is old: run python scripts/write_reference.py")
        return
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Payloads turned into lines for people: one for each run, faulty step, and other request."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.model import Payload, RunVerdict, Signal, StageVerdict
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.wire_schema import read_payload

_STYLES: Mapping[str, str] = {
    RunVerdict.FAULTY: "bold red",
    RunVerdict.OK: "green",
    RunVerdict.UNKNOWN: "yellow",
}
_OURS = b"raglog."
ITEM_NAMES: Mapping[Signal, str] = {
    Signal.TRACES: "spans",
    Signal.METRICS: "data points",
    Signal.LOGS: "log records",
}
"""What the items of each signal are called."""


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """Print to standard output; ``only_faulty`` leaves out runs that are not."""

    name: str = "console"
    only_faulty: bool = False


class ConsoleExporter:
    """Prints what the spans' ``raglog.*`` attributes say; takes all other spans silently.

    Of logs and metrics it says how many there were.
    """

    def __init__(self, config: ConsoleConfig, stream: TextIO | None = None) -> None:
        self.name = config.name
        self._only_faulty = config.only_faulty
        self._console = Console(
            file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True
        )
        self._printing = threading.Lock()
        self._closed = False

    def export(self, payload: Payload) -> ExportOutcome:
        """Print the verdicts in ``payload``, or how much it holds.

        Raises:
            Unavailable: the exporter is closed.
            Rejected: the stream is gone (``console_gone``): nobody will read it later.
        """
        if self._closed:
            raise Unavailable("the exporter is closed")
        if not payload.body:
            return ExportOutcome(payload.items)
        if payload.signal is Signal.TRACES:
            lines = list(self._verdicts(payload))
        else:
            lines = [Text(f"{payload.signal}: {payload.items} {ITEM_NAMES[payload.signal]}", "dim")]
        with self._printing:
            self._print(lines)
        return ExportOutcome(payload.items)

    def close(self) -> None:
        """Print no more; the stream is not ours to close."""
        self._closed = True

    def _verdicts(self, payload: Payload) -> Iterator[Text]:
        if _OURS not in payload.body:
            return
        for request in read_payload(payload).requests:
            for block in request.resource_spans:
                for scope in block.scope_spans:
                    for span in scope.spans:
                        yield from _lines(span, block, only_faulty=self._only_faulty)

    def _print(self, lines: list[Text]) -> None:
        try:
            for line in lines:
                self._console.print(line)
        except (OSError, ValueError) as failure:  # ValueError: the stream was closed
            raise Rejected(f"cannot print: {failure}", "console_gone") from failure


def _lines(span: Any, block: Any, *, only_faulty: bool) -> Iterator[Text]:
    attributes = _attributes(span)
    verdict = attributes.get("raglog.run.verdict")
    if verdict and not (only_faulty and verdict != RunVerdict.FAULTY):
        yield _run_line(attributes, span, block)
    if attributes.get("raglog.verdict") == StageVerdict.FAULTY:
        yield _step_line(attributes)


def _run_line(attributes: Mapping[str, Any], span: Any, block: Any) -> Text:
    verdict = str(attributes["raglog.run.verdict"])
    line = Text.assemble(
        ("run ", "dim"),
        _shown(attributes.get("raglog.run.id", span.trace_id.hex())),
        " ",
        (_shown(verdict), _STYLES.get(verdict, "")),
    )
    if stages := attributes.get("raglog.run.faulty_stages"):
        line.append(f": {', '.join(map(_shown, stages))}")
    if service := _service(block):
        line.append(f"  [{_shown(service)}]", "dim")
    if reason := attributes.get("raglog.skip_reason"):
        line.append(f"  not judged: {_shown(reason)}", "dim")
    if attributes.get("raglog.run.complete") is False:
        line.append(f"  incomplete: {_shown(attributes.get('raglog.run.completion'))}", "dim")
    return line


def _step_line(attributes: Mapping[str, Any]) -> Text:
    line = Text.assemble("  ", (_shown(attributes.get("raglog.stage")), "red"))
    if isinstance(probability := attributes.get("raglog.fault.probability"), float):
        line.append(f" {probability:.2f}")
    if types := attributes.get("raglog.fault.types"):
        line.append(f" {', '.join(map(_shown, types))}")
    if explanation := attributes.get("raglog.explanation"):
        line.append(f": {_shown(explanation)}")
    return line


def _attributes(span: Any) -> dict[str, Any]:
    """Return our own attributes of ``span``."""
    return {
        item.key.decode("utf-8", "replace"): _value(item.value)
        for item in span.attributes
        if item.key.startswith(_OURS)
    }


def _service(block: Any) -> Any:
    named = (item for item in block.resource.attributes if item.key == b"service.name")
    item = next(named, None)
    return _value(item.value) if item else None


def _value(value: Any) -> Any:
    """Return an ``AnyValue`` of the kinds that our attributes have."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value.decode("utf-8", "replace")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind in {"bool_value", "int_value", "double_value"} else None


def _shown(value: object) -> str:
    """Return foreign text without what could steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in str(value))

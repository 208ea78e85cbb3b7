"""Verdicts on spans turned into lines for people, one per run and one per faulty step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from google.protobuf.message import DecodeError
from rich.console import Console
from rich.text import Text

from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.model import RunVerdict, StageVerdict, WireSpan
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.wire_schema import wire_schema

_STYLES: Mapping[str, str] = {
    RunVerdict.FAULTY: "bold red",
    RunVerdict.OK: "green",
    RunVerdict.UNKNOWN: "yellow",
}
_OURS = b"raglog."


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """Print to standard output; ``only_faulty`` leaves out runs that are not."""

    name: str = "console"
    only_faulty: bool = False


class ConsoleExporter:
    """Prints what the spans' ``raglog.*`` attributes say; takes all other spans silently."""

    def __init__(self, config: ConsoleConfig, stream: TextIO | None = None) -> None:
        self.name = config.name
        self._only_faulty = config.only_faulty
        self._console = Console(
            file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True
        )
        self._closed = False

    def export(self, spans: Sequence[WireSpan]) -> ExportOutcome:
        """Print the verdicts in ``spans``.

        Raises:
            Unavailable: the exporter is closed.
            Rejected: the stream is gone (``console_gone``): nobody will read it later.
        """
        if self._closed:
            raise Unavailable("the exporter is closed")
        for span in spans:
            if _OURS in span.raw:
                self._print(span)
        return ExportOutcome(len(spans))

    def close(self) -> None:
        """Print no more; the stream is not ours to close."""
        self._closed = True

    def _print(self, span: WireSpan) -> None:
        attributes = _attributes(span)
        try:
            for line in _lines(attributes, span, only_faulty=self._only_faulty):
                self._console.print(line)
        except (OSError, ValueError) as failure:  # ValueError: the stream was closed
            raise Rejected(f"cannot print: {failure}", "console_gone") from failure


def _lines(attributes: Mapping[str, Any], span: WireSpan, *, only_faulty: bool) -> Iterator[Text]:
    verdict = attributes.get("raglog.run.verdict")
    if verdict and not (only_faulty and verdict != RunVerdict.FAULTY):
        yield _run_line(attributes, span)
    if attributes.get("raglog.verdict") == StageVerdict.FAULTY:
        yield _step_line(attributes)


def _run_line(attributes: Mapping[str, Any], span: WireSpan) -> Text:
    verdict = str(attributes["raglog.run.verdict"])
    line = Text.assemble(
        ("run ", "dim"),
        _shown(attributes.get("raglog.run.id", span.trace_id.hex())),
        " ",
        (_shown(verdict), _STYLES.get(verdict, "")),
    )
    if stages := attributes.get("raglog.run.faulty_stages"):
        line.append(f": {', '.join(map(_shown, stages))}")
    if service := _service(span):
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


def _attributes(span: WireSpan) -> dict[str, Any]:
    """Return our own attributes of ``span``; none when it cannot be read."""
    try:
        message = wire_schema().span.FromString(span.raw)
    except DecodeError:
        return {}
    return {
        item.key.decode("utf-8", "replace"): _value(item.value)
        for item in message.attributes
        if item.key.startswith(_OURS)
    }


def _service(span: WireSpan) -> Any:
    try:
        envelope = wire_schema().resource_spans.FromString(span.origin.resource)
    except DecodeError:
        return None
    named = (item for item in envelope.resource.attributes if item.key == b"service.name")
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

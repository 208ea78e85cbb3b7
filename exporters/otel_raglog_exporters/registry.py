"""A destination's kind and options, as written in the configuration, turned into an exporter."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal
from otel_raglog.plain_errors import in_words, is_key
from otel_raglog_exporters.console import ConsoleConfig, ConsoleExporter
from otel_raglog_exporters.file import FileConfig, FileExporter
from otel_raglog_exporters.langfuse import LangfuseConfig, LangfuseExporter
from otel_raglog_exporters.mlflow import MlflowConfig, MlflowExporter
from otel_raglog_exporters.otlp_grpc import OtlpGrpcConfig, OtlpGrpcExporter
from otel_raglog_exporters.otlp_http import OtlpHttpConfig, OtlpHttpExporter
from otel_raglog_exporters.phoenix import PhoenixConfig, PhoenixExporter
from otel_raglog_exporters.sending import Exporter
from otel_raglog_exporters.webhook import WebhookConfig, WebhookExporter

ENTRY_POINT_GROUP = "otel_raglog.exporters"
"""Where third parties register an :class:`ExporterKind` under its name."""

_LONGEST_SECONDS = 3_600

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class ExporterKind(Generic[ConfigT]):
    """A kind of destination: its frozen dataclass of options, how to build one of it, what it takes.

    One that takes only the verdicts on spans takes no other signal than traces.
    """

    name: str
    config: type[ConfigT]
    build: Callable[[ConfigT], Exporter]
    signals: frozenset[Signal] = frozenset(Signal)


_TRACES = frozenset({Signal.TRACES})

EXPORTERS: tuple[ExporterKind[Any], ...] = (
    ExporterKind("otlp_grpc", OtlpGrpcConfig, OtlpGrpcExporter),
    ExporterKind("otlp_http", OtlpHttpConfig, OtlpHttpExporter),
    ExporterKind("file", FileConfig, FileExporter),
    ExporterKind("console", ConsoleConfig, ConsoleExporter),
    ExporterKind("phoenix", PhoenixConfig, PhoenixExporter, _TRACES),
    ExporterKind("langfuse", LangfuseConfig, LangfuseExporter, _TRACES),
    ExporterKind("mlflow", MlflowConfig, MlflowExporter, _TRACES),
    ExporterKind("webhook", WebhookConfig, WebhookExporter, _TRACES),
)
"""The kinds that come with the package."""


def exporter_kind(name: str) -> ExporterKind[Any]:
    """Return the kind called ``name``: a built-in one, else a third party's, loaded now.

    Raises:
        ConfigError: there is none, or it cannot be loaded; names the known ones.
    """
    for kind in EXPORTERS:
        if kind.name == name:
            return kind
    foreign = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name in foreign:
        return _load(foreign[name])
    known = [kind.name for kind in EXPORTERS] + sorted(foreign)
    raise ConfigError(f"kind: {name!r} is not known{_nearest(name, known)}")


def build_exporter(name: str, options: Mapping[str, object]) -> Exporter:
    """Return an exporter of the kind ``name`` with these options.

    Raises:
        ConfigError: kind or options are wrong; values are not in the message, since they may
            be secret.
    """
    kind = exporter_kind(name)
    _refuse_unknown(name, kind.config, options)
    try:
        config = TypeAdapter(kind.config).validate_python(dict(options))
    except ValidationError as failure:
        problems = (_problem(name, kind.config, error) for error in failure.errors())
        raise ConfigError("; ".join(problems)) from None
    _refuse_odd_numbers(name, config)
    return kind.build(config)


def _refuse_unknown(where: str, config: Any, options: Mapping[Any, object]) -> None:
    """Refuse options that a dataclass does not have, also those of a section within it."""
    known = [option.name for option in fields(config)]
    types = get_type_hints(config)
    for option, value in options.items():
        if option not in known:
            raise ConfigError(f"{where}.{option} is not known{_nearest(str(option), known)}")
        section = _section(types[option])
        if section is not None and isinstance(value, Mapping):
            _refuse_unknown(f"{where}.{option}", section, value)


def _section(annotation: Any) -> Any:
    """Return the dataclass of an option that is a section, also of one that may be left out."""
    return next((item for item in (annotation, *get_args(annotation)) if is_dataclass(item)), None)


def _problem(name: str, config: Any, error: Mapping[str, Any]) -> str:
    """Return what is wrong with an option, without its value, which may be secret."""
    place = error["loc"]
    if is_key(place):
        return f"{'.'.join((name, *map(str, place[:-2])))}: a name must be text: write it in quotes"
    section = _section(get_type_hints(config).get(str(place[-1]))) if place else None
    known = [option.name for option in fields(section)] if section else []
    return f"{'.'.join((name, *map(str, place)))}: {in_words(error, known)}"


def _refuse_odd_numbers(name: str, config: Any) -> None:
    """Refuse seconds that no call can wait: with them nothing would ever be delivered."""
    for option in fields(config):
        value = getattr(config, option.name)
        if option.name.endswith("_seconds") and not 0 < value <= _LONGEST_SECONDS:
            raise ConfigError(
                f"{name}.{option.name}: {value} is not between 0 and {_LONGEST_SECONDS}"
            )


def _load(point: EntryPoint) -> ExporterKind[Any]:
    try:
        kind = point.load()
    except (ImportError, AttributeError) as failure:
        raise ConfigError(
            f"exporter: {point.name!r} ({point.value}) cannot be loaded: {failure}"
        ) from failure
    if not isinstance(kind, ExporterKind):
        raise ConfigError(f"exporter: {point.name!r} ({point.value}) is no ExporterKind")
    return kind


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{hint}; known: {', '.join(known)}"

"""A destination's kind and options, as written in the configuration, turned into an exporter."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from otel_raglog.errors import ConfigError
from otel_raglog_exporters.console import ConsoleConfig, ConsoleExporter
from otel_raglog_exporters.file import FileConfig, FileExporter
from otel_raglog_exporters.otlp_grpc import OtlpGrpcConfig, OtlpGrpcExporter
from otel_raglog_exporters.otlp_http import OtlpHttpConfig, OtlpHttpExporter
from otel_raglog_exporters.sending import Exporter

ENTRY_POINT_GROUP = "otel_raglog.exporters"
"""Where third parties register an :class:`ExporterKind` under its name."""

_LONGEST_SECONDS = 3_600

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class ExporterKind(Generic[ConfigT]):
    """A kind of destination: its frozen dataclass of options, and how to build one of it."""

    name: str
    config: type[ConfigT]
    build: Callable[[ConfigT], Exporter]


EXPORTERS: tuple[ExporterKind[Any], ...] = (
    ExporterKind("otlp_grpc", OtlpGrpcConfig, OtlpGrpcExporter),
    ExporterKind("otlp_http", OtlpHttpConfig, OtlpHttpExporter),
    ExporterKind("file", FileConfig, FileExporter),
    ExporterKind("console", ConsoleConfig, ConsoleExporter),
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
    raise ConfigError(f"exporter: {name!r} is not known{_nearest(name, known)}")


def build_exporter(name: str, options: Mapping[str, object]) -> Exporter:
    """Return an exporter of the kind ``name`` with these options.

    Raises:
        ConfigError: kind or options are wrong; values are not in the message, since they may
            be secret.
    """
    kind = exporter_kind(name)
    known = [option.name for option in fields(kind.config)]
    for option in options:
        if option not in known:
            raise ConfigError(f"{name}.{option} is not known{_nearest(option, known)}")
    try:
        config = TypeAdapter(kind.config).validate_python(dict(options))
    except ValidationError as failure:
        problems = "; ".join(
            f"{'.'.join((name, *map(str, error['loc'])))}: {error['msg']}"
            for error in failure.errors(include_input=False, include_url=False)
        )
        raise ConfigError(problems) from None
    _refuse_odd_numbers(name, config)
    return kind.build(config)


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

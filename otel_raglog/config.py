"""The configuration: one YAML file and ``OTEL_RAGLOG_…`` variables to one checked value.

This is the only module that reads the environment. Sources, strongest first: command-line
overrides, environment, file, defaults. An option ``a.b`` of the file is the variable
``OTEL_RAGLOG_A__B``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from otel_raglog.errors import ConfigError

ENV_PREFIX = "OTEL_RAGLOG_"
ENV_DELIMITER = "__"
CONFIG_FILE_VARIABLE = "OTEL_RAGLOG_CONFIG"
_NOT_OPTIONS = frozenset({CONFIG_FILE_VARIABLE})

Port = Annotated[int, Field(ge=0, le=65535)]
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104  to compare
_LONGEST_SECONDS = 7 * 24 * 3600


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Listen(_Section):
    """An address to listen on."""

    host: str = Field(
        "127.0.0.1", description="Address to bind. Loopback unless you say otherwise."
    )
    port: Port = Field(0, description="TCP port; 0 lets the system choose.")


class Receive(_Section):
    """OTLP in."""

    grpc: Listen = Field(Listen(port=4317), description="OTLP/gRPC door.")
    http: Listen = Field(Listen(port=4318), description="OTLP/HTTP door (protobuf and JSON).")
    max_request_mib: float = Field(
        64, gt=0, description="Largest request after decompression, MiB."
    )
    max_spans_per_request: int = Field(100_000, gt=0, description="Most spans in one request.")
    max_waiting_spans: int = Field(
        200_000,
        gt=0,
        description="Spans accepted but not yet sorted; beyond it requests are refused.",
    )
    max_waiting_mib: float = Field(
        256, gt=0, description="MiB accepted but not yet sorted; beyond it requests are refused."
    )


class Hold(_Section):
    """How long the spans of a run wait for each other, and how many may wait."""

    quiet_seconds: float = Field(
        5,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Quiet time after which a trace with a root is whole.",
    )
    orphan_quiet_seconds: float = Field(
        15,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Quiet time after which a trace without a root is released.",
    )
    max_wait_seconds: float = Field(
        120, gt=0, le=_LONGEST_SECONDS, description="Longest hold of any span, seconds."
    )
    max_spans_per_trace: int = Field(10_000, gt=0, description="Most held spans of one trace.")
    max_open_traces: int = Field(
        20_000, gt=0, description="Most traces held at once; then the oldest leave."
    )
    max_held_mib: float = Field(
        256, gt=0, description="Most MiB held at once; then the oldest leave."
    )
    remember_traces: int = Field(
        100_000, gt=0, description="Released traces remembered for late spans."
    )


class Analysis(_Section):
    """The detector."""

    backlog_traces: int = Field(
        2_000,
        gt=0,
        description="Traces waiting to be judged; beyond it traces pass unjudged, counted.",
    )
    max_trace_spans: int = Field(
        1_000, gt=0, description="Traces with more held spans pass unjudged, counted."
    )
    max_trace_text_mib: float = Field(
        4, gt=0, description="Traces with more text than this pass unjudged, counted."
    )
    encoder_threads: int = Field(
        0, ge=0, description="Texts encoded side by side; 0 takes the number of cores, 4 at most."
    )
    encoder_cache_vectors: int = Field(
        50_000, gt=0, description="Sentence vectors kept by text hash (1.5 kB each)."
    )


class Explanations(_Section):
    """The words beside a verdict."""

    quote_text: bool = Field(
        default=False, description="Let explanations quote text of documents and answers."
    )


class Annotations(_Section):
    """What is written on the spans."""

    openinference_evaluations: bool = Field(
        default=False, description="Also write OpenInference evaluations.N.evaluation.* attributes."
    )


class Metrics(_Section):
    """Prometheus metrics."""

    host: str = Field("127.0.0.1", description="Address of /metrics.")
    port: Port = Field(9464, description="Port of /metrics.")
    max_label_values: int = Field(
        20, gt=0, description="Distinct values of the label service; then _overflow."
    )
    exemplars_per_minute: int = Field(
        10,
        ge=0,
        description="Runs a minute that are marked raglog.exemplar and shown as exemplars.",
    )


def _kind_first(value: object) -> object:
    if isinstance(value, str):
        return {"kind": "otlp_grpc", "endpoint": value}
    return value


class Destination(_Section):
    """A place that spans are sent to. Options beyond ``kind`` belong to the exporter."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str = Field(
        "otlp_grpc", description="otlp_grpc, otlp_http, file, console or an entry point's name."
    )

    @property
    def options(self) -> Mapping[str, Any]:
        """Return the exporter's own options."""
        return dict(self.model_extra or {})


class Sending(_Section):
    """Queue, batches and retries: the same for every destination."""

    queue_spans: int = Field(100_000, gt=0, description="Most spans queued for one destination.")
    queue_mib: float = Field(256, gt=0, description="Most MiB queued for one destination.")
    batch_spans: int = Field(512, gt=0, description="Most spans in one batch.")
    batch_seconds: float = Field(
        0.2, ge=0, le=_LONGEST_SECONDS, description="Longest wait for a batch to fill."
    )
    initial_backoff_seconds: float = Field(
        1, gt=0, le=_LONGEST_SECONDS, description="First wait after a failure."
    )
    max_backoff_seconds: float = Field(
        30, gt=0, le=_LONGEST_SECONDS, description="Longest wait between tries."
    )
    max_elapsed_seconds: float = Field(
        0, ge=0, le=_LONGEST_SECONDS, description="Give up a batch after this; 0 never does."
    )


class Config(_Section):
    """All options of ``otel-raglog serve``."""

    receive: Receive = Receive()
    hold: Hold = Hold()
    analysis: Analysis = Analysis()
    explanations: Explanations = Explanations()
    annotations: Annotations = Annotations()
    exporters: dict[str, Annotated[Destination, BeforeValidator(_kind_first)]] = Field(
        default_factory=dict, description="Destinations by a name of your choice."
    )
    sending: Sending = Sending()
    metrics: Metrics = Metrics()
    health: Listen = Field(Listen(port=13133), description="/live and /ready.")
    shutdown_grace_seconds: float = Field(
        10, ge=0, le=_LONGEST_SECONDS, description="Time to empty the queues at SIGTERM."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe log lines that are written."
    )


def load_config(
    path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Return the checked configuration.

    Args:
        path: YAML file; ``None`` reads the one that ``OTEL_RAGLOG_CONFIG`` names, if any.
        overrides: nested options that win over file and environment.
        environ: variables to read instead of the process's own.

    Raises:
        ConfigError: a source cannot be read, or an option is unknown or has a wrong value; the
            message names the option as typed and the nearest known one.
    """
    variables = dict(os.environ if environ is None else environ)
    if path is None and variables.get(CONFIG_FILE_VARIABLE):
        path = Path(variables[CONFIG_FILE_VARIABLE])
    # Merging over the defaults keeps a section's own defaults (the port of receive.grpc) when
    # only a part of it is set.
    merged: dict[str, Any] = Config().model_dump()
    for source in (_read_file(path) if path else {}, _read_environment(variables), overrides or {}):
        merged = _merge(merged, source)
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_describe(error)) from None
    _refuse_loops(config)
    return config


def _refuse_loops(config: Config) -> None:
    """Refuse a destination that is one of our own doors: each span would come back for ever."""
    doors = {config.receive.grpc.port, config.receive.http.port} - {0}
    for name, destination in config.exporters.items():
        endpoint = str(destination.options.get("endpoint", ""))
        parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
        try:
            port = parts.port
        except ValueError:
            continue  # the exporter says what is wrong with it
        if parts.hostname in _OWN_HOSTS and port in doors:
            raise ConfigError(
                f"exporters.{name}.endpoint: {endpoint} is this service's own door "
                f"(receive.grpc.port {config.receive.grpc.port}, "
                f"receive.http.port {config.receive.http.port})"
            )


def otlp_kind(endpoint: str) -> str:
    """Return the exporter kind for an OTLP endpoint: HTTP by its path, else gRPC."""
    return "otlp_http" if endpoint.rstrip("/").endswith("/v1/traces") else "otlp_grpc"


def show_config(config: Config) -> str:
    """Return ``config`` as YAML, every option with its value.

    Header values, and user, password and query of endpoints, are hidden.
    """
    data = config.model_dump()
    for options in data["exporters"].values():
        if isinstance(options.get("headers"), dict):
            options["headers"] = dict.fromkeys(options["headers"], "***")
        if isinstance(options.get("endpoint"), str):
            options["endpoint"] = _without_secrets(options["endpoint"])
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _without_secrets(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    host = f"***@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    query = "***" if parts.query else ""
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def known_options(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    """Yield every option by its dotted name."""
    for name, info in model.model_fields.items():
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from known_options(annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


class _UniqueKeys(yaml.SafeLoader):
    """Refuses a key that is given twice, of which YAML would keep the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002  the base's signature
        keys = [
            self.construct_object(key, deep=True)
            for key, _ in node.value
            if key.tag != "tag:yaml.org,2002:merge"
        ]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506  a SafeLoader
    except OSError as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold a mapping of options, not a {type(data).__name__}")
    return data


def _read_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    known = list(known_options())
    nested: dict[str, Any] = {}
    for variable, value in sorted(variables.items()):
        if not variable.startswith(ENV_PREFIX) or variable in _NOT_OPTIONS:
            continue
        path = variable.removeprefix(ENV_PREFIX).lower().split(ENV_DELIMITER)
        dotted = ".".join(path)
        if dotted not in known and path[0] != "exporters":
            nearest = _nearest(dotted, known)
            hint = f"; did you mean {_variable(nearest)}?" if nearest else ""
            raise ConfigError(f"{variable} is no option of otel-raglog{hint}")
        _set_nested(nested, path, variable, _parse_value(variable, value))
    return nested


def _set_nested(nested: dict[str, Any], path: list[str], variable: str, value: object) -> None:
    target = nested
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise ConfigError(
                f"{variable} and a variable for the whole of {part} exclude each other"
            )
    target[path[-1]] = value


def _parse_value(variable: str, value: str) -> object:
    try:
        return yaml.load(value, _UniqueKeys) if value else ""  # noqa: S506  a SafeLoader
    except (yaml.YAMLError, RecursionError):
        raise ConfigError(f"{variable} holds no valid YAML value") from None


def _variable(option: str) -> str:
    return ENV_PREFIX + option.replace(".", ENV_DELIMITER).upper()


def _nearest(option: str, known: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(option, known, n=1, cutoff=0.5)), None)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _describe(error: ValidationError) -> str:
    known = list(known_options())
    lines = []
    for problem in error.errors():
        option = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            parent = option.rpartition(".")[0]
            siblings = sorted(
                {
                    name.removeprefix(f"{parent}.").partition(".")[0]
                    for name in known
                    if name.startswith(parent)
                }
            )
            nearest = _nearest(option, known) or _nearest(option.rpartition(".")[2], siblings)
            hint = f"did you mean {nearest}? " if nearest else ""
            lines.append(f"unknown option {option}: {hint}known here: {', '.join(siblings)}")
        else:
            lines.append(f"option {option}: {problem['msg']} (got {problem['input']!r})")
    return "; ".join(lines)

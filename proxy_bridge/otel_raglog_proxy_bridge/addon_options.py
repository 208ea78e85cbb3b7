"""The add-on's options, as they are typed, to its settings."""

from __future__ import annotations

import importlib
import logging
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from otel_raglog_proxy_bridge.asking import Asker
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.fronts import FrontOptions
from otel_raglog_proxy_bridge.line import Line, LineOptions
from otel_raglog_proxy_bridge.runs import GroupingOptions
from otel_raglog_proxy_bridge.safety import SafetyRules
from otel_raglog_proxy_bridge.secret_formats import MASK
from otel_raglog_proxy_bridge.secret_names import is_secret_header
from otel_raglog_proxy_bridge.sending import Target, target_of
from otel_raglog_proxy_bridge.telling import tellers

_LOG = logging.getLogger(__name__)
_ENDPOINT = "http://127.0.0.1:4318"
_LONGEST_SECONDS = 3600


class BadOption(ValueError):
    """An option's value is wrong; the message names the option and quotes the value."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as mitmproxy declares it."""

    name: str
    typespec: type
    default: str | int | bool | Sequence[str]
    help: str


_TEXTS: type = Sequence[str]  # how mitmproxy names a list of texts

OPTIONS = (
    Option("raglog_endpoint", str, _ENDPOINT, "OTLP/HTTP endpoint of the otel-raglog sidecar."),
    Option(
        "raglog_endpoint_headers",
        _TEXTS,
        (),
        "Headers sent to the sidecar, each as 'name=value', such as those that it asks for.",
    ),
    Option(
        "raglog_service", str, "proxied-pipeline", "What the pipeline is called (service.name)."
    ),
    Option(
        "raglog_redact",
        _TEXTS,
        (),
        "Regular expressions whose matches are masked in everything that is sent.",
    ),
    Option(
        "raglog_max_body_bytes",
        int,
        1 << 20,
        "So much of each body is looked at, in bytes, content encodings undone.",
    ),
    Option(
        "raglog_headers",
        _TEXTS,
        (),
        "Names of further headers to keep; those that tell a secret are refused.",
    ),
    Option("raglog_secret_parameters", _TEXTS, (), "Further query parameters to mask."),
    Option("raglog_mappings", str, "", "Folder of the mappings of unknown APIs."),
    Option(
        "raglog_asker",
        str,
        "",
        "What asks an LLM about calls that no rule knows, as module:function; empty: nobody.",
    ),
    Option(
        "raglog_python",
        str,
        "",
        "The Python that makes spans of calls; empty: the one that mitmproxy runs on.",
    ),
    Option("raglog_front_question", str, "", "Where the question is in the API's request: a.b.c."),
    Option("raglog_front_answer", str, "", "Where the answer is in the API's response: a.b.c."),
    Option("raglog_front_paths", str, "", "Regular expression of the API's paths that ask."),
    Option(
        "raglog_inject_traceparent",
        bool,
        default=True,
        help="In front of the pipeline: give requests without a traceparent header one.",
    ),
    Option("raglog_quiet_seconds", str, "5", "A run is over so long after its last call."),
    Option(
        "raglog_ignore_hosts",
        _TEXTS,
        (),
        "Regular expressions of hosts whose calls are not captured.",
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say."""

    endpoint: str = _ENDPOINT
    target: Target = field(default_factory=lambda: target_of(_ENDPOINT))
    service: str = "proxied-pipeline"
    rules: SafetyRules = field(default_factory=SafetyRules)
    mappings: Path | None = None
    asker: str = ""
    front: FrontOptions = field(default_factory=FrontOptions)
    inject_traceparent: bool = True
    quiet_seconds: float = 5.0
    ignore_hosts: tuple[re.Pattern[str], ...] = ()


def read_settings(values: Mapping[str, object]) -> Settings:
    """Return what the values of ``OPTIONS``, by their names, say.

    Raises:
        BadOption: One of them is wrong.
    """
    typed = _Typed(values)
    typed.program("raglog_python")
    headers = tuple(typed.header(text) for text in typed.texts("raglog_endpoint_headers"))
    front_paths = typed.text("raglog_front_paths")
    return Settings(
        endpoint=typed.text("raglog_endpoint"),
        target=typed.target(headers),
        service=typed.text("raglog_service") or "proxied-pipeline",
        rules=SafetyRules(
            patterns=tuple((pattern, MASK) for pattern in typed.patterns("raglog_redact")),
            max_body_bytes=typed.size("raglog_max_body_bytes"),
            extra_headers=typed.kept_headers(),
            secret_parameters=frozenset(typed.texts("raglog_secret_parameters")),
        ),
        mappings=typed.folder("raglog_mappings"),
        asker=typed.place("raglog_asker"),
        front=FrontOptions(
            question=typed.text("raglog_front_question"),
            answer=typed.text("raglog_front_answer"),
            paths=typed.pattern("raglog_front_paths", front_paths) if front_paths else None,
        ),
        inject_traceparent=bool(values["raglog_inject_traceparent"]),
        quiet_seconds=typed.seconds("raglog_quiet_seconds"),
        ignore_hosts=typed.patterns("raglog_ignore_hosts"),
    )


def build_line(settings: Settings) -> Line:
    """Return the line that ``settings`` ask for."""
    options = LineOptions(
        service=settings.service,
        grouping=GroupingOptions(quiet_seconds=settings.quiet_seconds),
        front=settings.front,
    )
    asker = _asker(settings.asker) if settings.asker else None
    return Line(options, Classifier(tellers(settings.mappings, settings.service, asker)))


def _asker(place: str) -> Asker | None:
    """Return what is to ask an LLM; without it calls that no rule knows are irrelevant."""
    module, _, name = place.partition(":")
    try:
        built: Asker | None = getattr(importlib.import_module(module), name)()
    except Exception as error:  # noqa: BLE001 - capture goes on without it
        _LOG.warning("raglog: raglog_asker: %s cannot be used: %s", place, error)
        return None
    if built is None:
        _LOG.warning("raglog: raglog_asker: no LLM is configured, so none is asked")
    return built


class _Typed:
    """Values as they were typed, read one by one; a wrong one raises ``BadOption``."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        return str(self._values[name]).strip()

    def texts(self, name: str) -> tuple[str, ...]:
        found = self._values[name]
        assert isinstance(found, Sequence)  # noqa: S101 - mitmproxy has checked it
        return tuple(str(text) for text in found)

    def pattern(self, name: str, text: str) -> re.Pattern[str]:
        try:
            return re.compile(text)
        except re.error as error:
            raise BadOption(f"{name}: {text!r} is no regular expression: {error}") from None

    def place(self, name: str) -> str:
        place = self.text(name)
        if place and not re.fullmatch(r"[\w.]+:\w+", place):
            raise BadOption(f"{name}: {place!r} is no module:function")
        return place

    def folder(self, name: str) -> Path | None:
        typed = self.text(name)
        if not typed:
            return None
        path = Path(typed).expanduser()
        if path.exists() and not path.is_dir():
            raise BadOption(f"{name}: {typed!r} is no folder")
        return path

    def program(self, name: str) -> None:
        typed = self.text(name)
        if typed and shutil.which(typed) is None:
            raise BadOption(f"{name}: {typed!r} is no program")

    def patterns(self, name: str) -> tuple[re.Pattern[str], ...]:
        compiled = tuple(self.pattern(name, text) for text in self.texts(name))
        for pattern in compiled:
            if pattern.fullmatch("") is not None:
                raise BadOption(f"{name}: {pattern.pattern!r} matches nothing at all, everywhere")
        return compiled

    def size(self, name: str) -> int:
        found = self._values[name]
        if not isinstance(found, int) or found < 1:
            raise BadOption(f"{name}: {found!r} is no number of bytes above 0")
        return found

    def seconds(self, name: str) -> float:
        typed = self.text(name)
        try:
            found = float(typed)
        except ValueError:
            found = math.nan
        if not 0 < found <= _LONGEST_SECONDS:
            raise BadOption(
                f"{name}: {typed!r} is no number of seconds above 0, {_LONGEST_SECONDS} at most"
            )
        return found

    def target(self, headers: Sequence[tuple[str, str]]) -> Target:
        typed = self.text("raglog_endpoint")
        try:
            return target_of(typed, headers)
        except ValueError as error:
            raise BadOption(f"raglog_endpoint: {typed!r}: {error}") from None

    def header(self, typed: str) -> tuple[str, str]:
        name, equals, value = typed.partition("=")
        if not equals or re.fullmatch(r"[A-Za-z0-9_-]+", name) is None or not value.isprintable():
            raise BadOption("raglog_endpoint_headers: a header is not written as 'name=value'")
        return name, value

    def kept_headers(self) -> frozenset[str]:
        names = {text.strip().lower() for text in self.texts("raglog_headers")}
        refused = sorted(name for name in names if is_secret_header(name))
        if refused:
            raise BadOption(f"raglog_headers: {refused[0]!r} tells a secret and is never kept")
        return frozenset(names - {""})

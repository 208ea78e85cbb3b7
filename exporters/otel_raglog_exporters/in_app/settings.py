"""Arguments and ``OTEL_EXPORTER_RAGLOG_…`` variables turned into one checked value."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from otel_raglog.errors import ConfigError

ENV_PREFIX = "OTEL_EXPORTER_RAGLOG_"
"""Not ``OTEL_RAGLOG_``: every variable of that prefix is an option of the service."""

_ATTRIBUTE_LIMIT_VARIABLES = ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")
_TRACES_PATH = "/v1/traces"
_LONGEST_SECONDS = 86_400.0
_COMPRESSIONS = ("auto", "gzip", "none")
_BOOLEANS: Mapping[str, bool] = MappingProxyType(
    {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
)
_log = logging.getLogger("otel_raglog_exporters.in_app")


@dataclass(frozen=True, slots=True)
class InAppConfig:
    """How spans reach the sidecar.

    ``endpoint``: its OTLP/HTTP door; ``/v1/traces`` is appended where it is missing.
    ``headers`` go out with every request. ``compression``: ``auto`` is ``none`` to this machine and
    ``gzip`` to others. ``timeout_seconds`` is the longest wait for a connection, and for an answer to its end.
    ``ca_file``: whom to trust instead of the system's roots (PEM).
    What waits is bounded by ``max_queue_spans`` and ``max_queue_mib`` (an estimate); what is beyond
    is dropped, whole traces where possible, and told. A request is cut at ``batch_spans``, and
    leaves at most ``batch_seconds`` after its first trace was complete. A trace is complete when
    its topmost span here has ended; a part of one is sent after ``hold_seconds``, which should be
    less than the service's ``hold.orphan_quiet_seconds``. A request that does not get through is
    dropped after ``retry_seconds``. At shutdown what is left is sent for ``shutdown_seconds``.
    ``raise_attribute_limit``: the SDK's default of 128 attributes a span becomes 10,000.

    Raises:
        ConfigError: a value is none that can be used; the message has its name, and no secret.
    """

    endpoint: str = "http://localhost:4318"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    compression: Literal["auto", "gzip", "none"] = "auto"
    timeout_seconds: float = 10.0
    ca_file: str | None = None
    max_queue_spans: int = 8_192
    max_queue_mib: float = 64.0
    batch_spans: int = 512
    batch_seconds: float = 1.0
    hold_seconds: float = 10.0
    retry_seconds: float = 300.0
    shutdown_seconds: float = 5.0
    raise_attribute_limit: bool = True

    def __post_init__(self) -> None:
        traces_url(self.endpoint)
        _check_headers(self.headers)
        if self.compression not in _COMPRESSIONS:
            raise ConfigError(f"compression: {self.compression!r} is none of {_COMPRESSIONS}")
        if self.ca_file is not None and not Path(self.ca_file).is_file():
            raise ConfigError(f"ca_file: {self.ca_file} is no file")
        for name in ("max_queue_spans", "batch_spans"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)!r} is no number of 1 or more")
        for option in fields(self):
            if option.name.endswith(("_seconds", "_mib")):
                _check_amount(option.name, getattr(self, option.name))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> InAppConfig:
        """Read ``OTEL_EXPORTER_RAGLOG_<OPTION>``; a wrong one is logged, and its default used.

        An application does not fail to start because of a variable of ours.
        """
        environ = os.environ if environ is None else environ
        config = cls()
        for option in fields(cls):
            variable = ENV_PREFIX + option.name.upper()
            text = environ.get(variable, "").strip()
            if text:
                try:
                    value = _parse(option.name, text, getattr(config, option.name))
                    config = replace(config, **{option.name: value})
                except ConfigError as problem:
                    _log.error("%s is not used: %s", variable, problem)
        return config


def attribute_limit_is_chosen(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether a variable of the SDK sets how many attributes a span keeps."""
    environ = os.environ if environ is None else environ
    return any(environ.get(variable) for variable in _ATTRIBUTE_LIMIT_VARIABLES)


def provider_is_named(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether asking for the global tracer provider would make the one that is named."""
    environ = os.environ if environ is None else environ
    return bool(environ.get("OTEL_PYTHON_TRACER_PROVIDER"))


def traces_url(endpoint: str) -> SplitResult:
    """Return where spans are posted.

    Raises:
        ConfigError: it is no http(s) URL with a host, or has a password in it.
    """
    try:
        url = urlsplit(endpoint)
        host, _ = url.hostname, url.port  # reading the port checks it
    except ValueError as failure:
        raise ConfigError(f"endpoint: it is no URL: {failure}") from failure
    if url.username is not None or url.password is not None:
        raise ConfigError("endpoint: names and passwords belong into headers (authorization)")
    if url.scheme not in {"http", "https"} or not host or any(c <= " " for c in endpoint):
        raise ConfigError(f"endpoint: {endpoint!r} is no http://host:port or https://host:port")
    path = url.path.rstrip("/").removesuffix(_TRACES_PATH)
    return url._replace(path=f"{path}{_TRACES_PATH}", fragment="")


def _check_headers(headers: Any) -> None:
    if not isinstance(headers, Mapping):
        raise ConfigError("headers: a mapping of names to values is needed")
    for name, value in headers.items():
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
            raise ConfigError(f"headers: {name!r} is no name of a header")
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise ConfigError(f"headers: the value of {name!r} is not printable ASCII")


def _check_amount(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    if not is_number or not 0 < value <= _LONGEST_SECONDS:
        raise ConfigError(f"{name}: {value!r} is no number between 0 and {_LONGEST_SECONDS:g}")


def _parse_headers(text: str) -> dict[str, str]:
    """Read ``NAME=VALUE,…``, percent-encoded, as for OTLP; the SDK's own reader logs what is wrong.

    Raises:
        ConfigError: one is no such pair; it is not quoted, since it may be a secret.
    """
    headers = {}
    for number, pair in enumerate(text.split(","), 1):
        name, equals, value = pair.partition("=")
        if pair.strip() and not (equals and name.strip()):
            raise ConfigError(f"headers: the {number}. of them is not written as NAME=VALUE")
        if pair.strip():
            headers[unquote(name).strip().lower()] = unquote(value).strip()
    return headers


def _parse(name: str, text: str, default: Any) -> Any:
    """Read a variable as what its default is."""
    if name == "headers":
        return _parse_headers(text)
    if isinstance(default, bool):
        if text.lower() not in _BOOLEANS:
            raise ConfigError(f"{name}: {text!r} is neither true nor false")
        return _BOOLEANS[text.lower()]
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError as failure:
            kind = "whole number" if isinstance(default, int) else "number"
            raise ConfigError(f"{name}: {text!r} is no {kind}") from failure
    return text

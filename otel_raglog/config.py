"""The configuration: one YAML file and ``OTEL_RAGLOG_…`` variables to one checked value.

This is the only module that reads the environment. Sources, strongest first: command-line
overrides, environment, file, defaults. An option ``a.b`` of the file is the variable
``OTEL_RAGLOG_A__B``.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit, urlunsplit

import yaml
from pydantic import BaseModel, ValidationError

from otel_raglog.errors import ConfigError
from otel_raglog.options import Auth, Config, Judge, Redaction
from otel_raglog.plain_errors import in_words, is_key, shown

ENV_PREFIX = "OTEL_RAGLOG_"
ENV_DELIMITER = "__"
CONFIG_FILE_VARIABLE = "OTEL_RAGLOG_CONFIG"
_NEARLY_THE_SAME = 0.75
JUDGE_KEY_VARIABLE = "OTEL_RAGLOG_JUDGE_KEY"
"""Holds the key of the LLM that judges: a secret, and so no option."""

REDACTION_KEY_VARIABLE = "OTEL_RAGLOG_REDACTION_KEY"
"""Holds the key of the hashes that stand for what is redacted: a secret, and so no option."""

MAPPINGS_VARIABLE = f"{ENV_PREFIX}BRIDGE__MAPPINGS"
"""Names the folder of the bridge's mappings, for its commands: the service has none."""

_NOT_OPTIONS = frozenset(
    {CONFIG_FILE_VARIABLE, JUDGE_KEY_VARIABLE, REDACTION_KEY_VARIABLE, MAPPINGS_VARIABLE}
)

_SHORTEST_KEY = 16
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104  to compare


_SECRET_ENDINGS = ("key", "secret", "token", "password")
"""What names of an exporter's options end with where their value is not shown."""


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
    _refuse_open_api(config)
    return _with_folders(config, variables)


def read_secret(variable: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the secret that an environment variable holds; ``None`` without one."""
    return (os.environ if environ is None else environ).get(variable) or None


def read_judge_key(options: Judge, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the key of the LLM that judges; ``None`` without one.

    Raises:
        ConfigError: the named variable is not set, or the named file cannot be read or is empty.
    """
    return _read_key("judge", options, JUDGE_KEY_VARIABLE, environ)


def read_redaction_key(options: Redaction, environ: Mapping[str, str] | None = None) -> bytes:
    """Return the key of the hashes; empty where nothing is hashed.

    Raises:
        ConfigError: there is none, it cannot be read, or it has less than 16 bytes.
    """
    if not options.hashes:
        return b""
    key = _read_key("redaction", options, REDACTION_KEY_VARIABLE, environ)
    if key is None:
        raise ConfigError(
            "redaction.key_file: hashes need a key: name a file that holds one, or set "
            f"{REDACTION_KEY_VARIABLE}; openssl rand -hex 32 makes one"
        )
    if len(key.encode()) < _SHORTEST_KEY:
        raise ConfigError(
            f"redaction.key_file: the key of the hashes must have {_SHORTEST_KEY} bytes or more"
        )
    return key.encode()


def _read_key(
    section: str, options: Judge | Redaction, default: str, environ: Mapping[str, str] | None
) -> str | None:
    if options.key_file is not None:
        return _read_secret_file(options.key_file, f"{section}.key_file")
    if options.key_from is None:
        return read_secret(default, environ)
    key = read_secret(options.key_from, environ) or ""
    if not key:
        raise ConfigError(f"{section}.key_from: the variable {options.key_from} is not set")
    return key


def read_tokens(options: Auth, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the tokens that let requests in, none where any may come.

    Raises:
        ConfigError: both options are given, the variable is not set, or the file cannot be read or
            is empty.
    """
    if options.token_file is not None and options.token_from is not None:
        raise ConfigError("receive.auth: token_file and token_from exclude each other")
    if options.token_file is not None:
        text = _read_secret_file(options.token_file, "receive.auth.token_file")
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if options.token_from is None:
        return ()
    token = (read_secret(options.token_from, environ) or "").strip()
    if not token:
        raise ConfigError(f"receive.auth.token_from: the variable {options.token_from} is not set")
    return (token,)


def _read_secret_file(path: Path, option: str) -> str:
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{option}: cannot read {path}: {why}") from None
    if not text:
        raise ConfigError(f"{option}: {path} is empty")
    return text


def read_mappings_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder of the bridge's mappings that the environment names, if it does."""
    variables = os.environ if environ is None else environ
    named = variables.get(MAPPINGS_VARIABLE)
    return Path(named) if named else None


def _with_folders(config: Config, variables: Mapping[str, str]) -> Config:
    """Fill in the folders that were not named."""
    journal, dead_letters = config.journal, config.dead_letters
    if journal.enabled and journal.path is None:
        home = Path(variables.get("HOME") or "/")
        state = Path(variables.get("XDG_STATE_HOME") or home / ".local" / "state")
        journal = journal.model_copy(update={"path": state / "otel-raglog"})
    if dead_letters.path is None and journal.path is not None and journal.enabled:
        folder = journal.path / "dead-letters"
        dead_letters = dead_letters.model_copy(update={"path": folder})
    judge = config.judge
    if judge.budget.path is None and journal.path is not None and journal.enabled:
        spent = journal.path / "judge-spent.json"
        budget = judge.budget.model_copy(update={"path": spent})
        judge = judge.model_copy(update={"budget": budget})
    return config.model_copy(
        update={"journal": journal, "dead_letters": dead_letters, "judge": judge}
    )


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


def _refuse_open_api(config: Config) -> None:
    """Refuse to show runs to whoever can reach the address, and knows nothing."""
    auth, api = config.receive.auth, config.api
    known = auth.token_file is not None or auth.token_from is not None
    if api.enabled and not known and not is_loopback(api.host):
        raise ConfigError(
            f"api.host: {api.host} is beyond loopback, where the JSON API needs a token "
            "(receive.auth.token_file or receive.auth.token_from); or set api.enabled: false"
        )


def is_loopback(host: str) -> bool:
    """Tell whether ``host``, a name or an address, is this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def show_config(config: Config) -> str:
    """Return ``config`` as YAML, every option with its value.

    Header values, options whose name says key, secret, token or password, and user, password and
    query of endpoints are hidden; so is the path of a webhook, which often is the secret.
    """
    data = config.model_dump(mode="json")
    for options in data["exporters"].values():
        for name in options:
            if name.endswith(_SECRET_ENDINGS) and name != "public_key" and options[name]:
                options[name] = "***"
        if isinstance(options.get("headers"), dict):
            options["headers"] = dict.fromkeys(options["headers"], "***")
        if isinstance(options.get("endpoint"), str):
            options["endpoint"] = _without_secrets(
                options["endpoint"], hide_path=options["kind"] == "webhook"
            )
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _without_secrets(endpoint: str, *, hide_path: bool) -> str:
    parts = urlsplit(endpoint)
    host = f"***@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    query = "***" if parts.query else ""
    path = "/***" if hide_path and parts.path.strip("/") else parts.path
    return urlunsplit((parts.scheme, host, path, query, ""))


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
        raise ConfigError(f"{path} is not valid YAML{_yaml_problem(error)}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold a mapping of options, not a {type(data).__name__}")
    return data


def _yaml_problem(error: Exception) -> str:
    """Return where the YAML is wrong, and how, as far as the parser says."""
    mark = getattr(error, "problem_mark", None)
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if isinstance(error, RecursionError):
        return ": it is nested too deep"
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{where}: {what}"


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


def _annotation_at(place: Sequence[int | str]) -> Any:
    """Return the type of the option at a place, also within lists and mappings."""
    annotation: Any = Config
    for part in place:
        if _is_section(annotation):
            info = annotation.model_fields.get(str(part))
            annotation = info.annotation if info else None
        else:
            inner = [item for item in get_args(annotation) if item is not Ellipsis]
            annotation = inner[-1] if inner else None
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        annotation = _without_none(annotation)
    return annotation


def _without_none(annotation: Any) -> Any:
    """Return what an option is when it is given, of ``... | None``."""
    if get_origin(annotation) not in {Union, UnionType}:
        return annotation
    given = [each for each in get_args(annotation) if each is not NoneType]
    return given[0] if len(given) == 1 else annotation


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _known_at(place: Sequence[int | str]) -> list[str]:
    """Return the options that are known at a place, or the values that a list there may hold."""
    annotation = _annotation_at(place)
    if _is_section(annotation):
        return sorted(annotation.model_fields)
    item = next(iter(get_args(annotation)), None)
    if get_origin(item) is Literal:
        return list(map(str, get_args(item)))
    if isinstance(item, type) and issubclass(item, StrEnum):
        return [member.value for member in item]
    return []


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
        place = problem["loc"]
        option = ".".join(str(part) for part in place)
        if problem["type"] == "extra_forbidden":
            parent, _, typed = option.rpartition(".")
            siblings = _known_at(place[:-1])
            beside = difflib.get_close_matches(typed, siblings, n=1, cutoff=_NEARLY_THE_SAME)
            near = [f"{parent}.{name}" if parent else name for name in beside]
            nearest = near[0] if near else _nearest(option, known)
            if nearest is None or "." in option.removeprefix(nearest):  # within a list
                found = _nearest(typed, siblings)
                nearest = f"{parent}.{found}" if found and parent else found
            hint = f"did you mean {nearest}? " if nearest else ""
            lines.append(f"unknown option {option}: {hint}known here: {', '.join(siblings)}")
        elif is_key(place):
            owner = ".".join(map(str, place[:-2]))
            must = in_words(problem)
            quotes = ": write it in quotes" if problem["type"] == "string_type" else ""
            lines.append(f"option {owner}: the name {place[-2]!s} {must}{quotes}")
        else:
            # A destination's values may be secret, and what is wrong with the LLM's address.
            secret = place[0] == "exporters" or place[:2] == ("judge", "endpoint")
            got = "" if secret else shown(problem["input"])
            lines.append(f"option {option}: {in_words(problem, _known_at(place))}{got}")
    return "; ".join(lines)

"""A Collector's configuration against the committed list of components and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SECTIONS = ("receivers", "processors", "exporters", "connectors", "extensions")
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "number": (int, float),
    "str": (str,),
    "list": (list,),
}
_DURATION = re.compile(r"(\d+(\.\d+)?(ns|us|ms|s|m|h))+")
_KIND_OF_POLICY = frozenset({"name", "type"})


def problems(config: Mapping[str, Any], known: Mapping[str, Any]) -> list[str]:
    """Return what a Collector would refuse, one line each."""
    return [*_components(config, known), *_wiring(config)]


def _components(config: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    for section in set(config) - {*SECTIONS, "service"}:
        yield f"{section} is no section"
    for section in SECTIONS:
        for name, settings in (config.get(section) or {}).items():
            kind = name.partition("/")[0]
            if kind not in (known.get(section) or {}):
                yield f"{section}.{name}: {kind} is not in the list"
                continue
            yield from _settings(f"{section}.{name}", settings or {}, known[section][kind])
            for policy in (settings or {}).get("policies", ()):
                blocks = set(policy) - _KIND_OF_POLICY
                if blocks - {policy["type"]} or (not blocks and policy["type"] != "always_sample"):
                    yield f"{section}.{name}: policy {policy['name']} is not of its type"


def _settings(where: str, value: Any, expected: Any) -> Iterator[str]:
    if isinstance(expected, Mapping):
        if not isinstance(value, Mapping):
            yield f"{where}: must be a mapping"
            return
        yield from (f"{where}.{key}: unknown key" for key in value if key not in expected)
        for key in value.keys() & expected.keys():
            yield from _settings(f"{where}.{key}", value[key], expected[key])
    elif isinstance(expected, list):
        if not isinstance(value, list):
            yield f"{where}: must be a list"
            return
        for number, inner in enumerate(value):
            yield from _settings(f"{where}[{number}]", inner, expected[0])
    elif not _is_of(value, expected):
        yield f"{where}: {value!r} is no {expected}"


def _is_of(value: Any, kind: str) -> bool:
    if kind == "any":
        return True
    if kind == "duration":
        return isinstance(value, str) and bool(_DURATION.fullmatch(value))
    return isinstance(value, _PYTHON_TYPES[kind]) and isinstance(value, bool) == (kind == "bool")


def _wiring(config: Mapping[str, Any]) -> Iterator[str]:
    service = config["service"]
    used: dict[str, set[str]] = {section: set() for section in SECTIONS}
    used["extensions"] = set(service.get("extensions", ()))
    connectors = set(config.get("connectors") or {})
    for name, pipeline in service["pipelines"].items():
        if name.partition("/")[0] not in {"traces", "metrics", "logs"}:
            yield f"pipeline {name} is of no signal"
        for section in ("receivers", "processors", "exporters"):
            names = set(pipeline.get(section, ()))
            used["connectors"] |= names & connectors
            used[section] |= names - connectors
            if section != "processors" and not names:
                yield f"pipeline {name} has no {section}"
    for section in SECTIONS:
        defined = set(config.get(section) or {})
        yield from (f"{section}.{name} is not defined" for name in used[section] - defined)
        yield from (f"{section}.{name} is not used" for name in defined - used[section])

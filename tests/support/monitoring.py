"""What is shipped for Prometheus and Grafana, and the names that their queries may use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from prometheus_client import CollectorRegistry

from otel_raglog.app import Service
from otel_raglog.ledger import Ledger
from otel_raglog.telemetry import RunMetrics

ROOT = Path(__file__).resolve().parent.parent.parent / "collector_config"
PROMETHEUS = ROOT / "prometheus"
GRAFANA = ROOT / "grafana"
RULE_FILES = tuple(sorted(PROMETHEUS.glob("*.rules.yml")))
OF_PROMETHEUS = {"up": {"job", "instance"}, "ALERTS": {"alertname", "alertstate"}}
OF_TARGETS = {"job", "instance"}
_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}
_NAME = re.compile(r"\b(?:[a-z_]+:)?(?:raglog_\w+|up\b|ALERTS\b)(?::\w+)?")
_SELECTOR = re.compile(rf"({_NAME.pattern})\s*\{{([^}}]*)\}}")
_LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\[|offset |for: |interval: )(\d+)([smhd])\b")
_STRING = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|on|ignoring|group_left)\s*\(([^)]*)\)")


def served_metrics() -> dict[str, set[str]]:
    """Return the labels of every sample name that a service shows, from its own registries."""
    registry = CollectorRegistry()
    Ledger(registry)
    RunMetrics(registry)
    delivery = SimpleNamespace(journal=None)
    stand_in = SimpleNamespace(registry=registry, _delivery=delivery, _used_bytes=float)
    Service._add_gauges(stand_in)
    found = {}
    for collector in {id(c): c for c in registry._names_to_collectors.values()}.values():
        for suffix in _SUFFIXES[collector._type]:
            le = {"le"} if suffix == "_bucket" else set()
            found[collector._name + suffix] = {*collector._labelnames, *OF_TARGETS, *le}
    return found


def rules() -> list[dict[str, Any]]:
    """Return all rules, recording and alerting."""
    return [
        rule
        for file in RULE_FILES
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    ]


def alerts() -> list[dict[str, Any]]:
    """Return the alerting rules."""
    return [rule for rule in rules() if "alert" in rule]


def recorded() -> dict[str, set[str]]:
    """Return the labels of every recorded series, which its name tells before the colon."""
    levels = {"service", "service_stage", "service_kind", "service_kind_le"}
    found = {}
    for rule in rules():
        if "record" in rule:
            level = rule["record"].partition(":")[0]
            assert level in levels, rule["record"]
            found[rule["record"]] = {
                {"kind": "score_kind"}.get(part, part) for part in level.split("_")
            }
    return found


def known_names() -> dict[str, set[str]]:
    """Return every name that a query may use, with its labels."""
    return {**served_metrics(), **recorded(), **OF_PROMETHEUS}


def problems_of(query: str, known: Mapping[str, set[str]]) -> list[str]:
    """Return the metrics in ``query`` that do not exist, and the labels that they do not have."""
    bare = _STRING.sub('""', query)
    names = set(_NAME.findall(bare))
    problems = [f"no metric {name}" for name in sorted(names - known.keys())]
    for name, selector in _SELECTOR.findall(query):
        strange = set(_LABEL.findall(selector)) - known.get(name, set())
        problems += [f"{name} has no label {label}" for label in sorted(strange) if name in known]
    labels = {part.strip() for group in _GROUPING.findall(bare) for part in group.split(",")}
    anywhere = set().union(*(known.get(name, set()) for name in names))
    problems += [f"nothing has a label {label}" for label in sorted(labels - anywhere - {""})]
    return problems


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards by file name."""
    files = sorted((GRAFANA / "dashboards").glob("*.json"))
    return {file.name: json.loads(file.read_text()) for file in files}


def panel_queries() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield dashboard, panel's title and target of every query."""
    for dashboard in dashboards().values():
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                yield dashboard["uid"], panel["title"], target


def without_variables(query: str, window: str) -> str:
    """Return ``query`` for all services, stages and instances, over ``window``."""
    query = re.sub(r"\$(service|stage|instance)\b", ".*", query)
    return re.sub(r"\$__(rate_interval|range)\b", window, query)


def hastened(rules: str, factor: float) -> str:
    """Return a file of rules with every window, offset, wait and interval ``factor`` times shorter.

    The names stay: ``increase1h`` is then over an hour by ``factor``.
    """

    def shorter(match: re.Match[str]) -> str:
        before, amount, unit = match.groups()
        return f"{before}{round(int(amount) * _SECONDS[unit] / factor * 1000)}ms"

    return _DURATION.sub(shorter, rules)

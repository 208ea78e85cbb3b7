"""Write collector_config/grafana/dashboards/*.json from scripts/dashboards/; ``--check`` compares."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dashboards import DASHBOARDS
from dashboards.panels import Dashboard, Panel

TARGET = Path(__file__).resolve().parent.parent / "collector_config" / "grafana" / "dashboards"
_WIDTH = 24
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WITH_EXEMPLARS = (
    "raglog_runs_total",
    "raglog_faults_total",
    "raglog_stage_verdicts_total",
    "raglog_stage_fault_probability",
    "raglog_stage_duration_seconds",
    "raglog_retrieval_top_score",
    "raglog_retrieved_chunks",
    "raglog_context_utilization_ratio",
    "raglog_prompt_budget_ratio",
    "raglog_groundedness_ratio",
)
_FAULTY = '{ span.raglog.verdict = "faulty" && resource.service.name =~ "${service:regex}" }'


def dashboard_json(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it (schema 36: Grafana 9 and later)."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": ["otel-raglog"],
        "schemaVersion": 36,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables(dashboard)},
        "links": [
            {
                "type": "dashboards",
                "title": "RAG",
                "tags": ["otel-raglog"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "panels": _placed(dashboard),
    }


def _placed(dashboard: Dashboard) -> list[dict[str, Any]]:
    """Return rows and panels from left to right, with ids in that order."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in dashboard.rows:
        place = {"h": 1, "w": _WIDTH, "x": 0, "y": y}
        panels.append(
            {"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []}
        )
        x, y, tallest = 0, y + 1, 0
        for panel in row:
            if x + panel.width > _WIDTH:
                x, y, tallest = 0, y + tallest, 0
            place = {"h": panel.height, "w": panel.width, "x": x, "y": y}
            linked = "service" in dashboard.variables
            panels.append(_panel(panel, linked=linked) | {"id": len(panels) + 1, "gridPos": place})
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
    return panels


def _panel(panel: Panel, *, linked: bool) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "custom": {}}
    if panel.unit != "short":
        defaults["min"] = 0
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        defaults["custom"] = {
            "fillOpacity": 20 if panel.stacked else 0,
            "stacking": stacking,
            "spanNulls": True,
            "thresholdsStyle": {"mode": "off" if panel.threshold is None else "line"},
        }
    if panel.threshold is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.threshold}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    if linked and panel.kind in {"timeseries", "bargauge"}:
        defaults["links"] = [_traces_link()]
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel.kind),
        "targets": [_target(panel, number) for number in range(len(panel.queries))],
    }


def _target(panel: Panel, number: int) -> dict[str, Any]:
    expr, legend = panel.queries[number]
    return {
        "refId": chr(ord("A") + number),
        "datasource": _SOURCE,
        "expr": expr,
        "legendFormat": legend,
        "instant": panel.instant,
        "range": not panel.instant,
        "format": "heatmap" if panel.kind == "heatmap" else "time_series",
        "exemplar": panel.kind == "timeseries" and shows_exemplars(expr),
    }


def shows_exemplars(expr: str) -> bool:
    """Tell whether the series of a query have exemplars: recorded ones and gauges have none."""
    return ":" not in expr and any(metric in expr for metric in _WITH_EXEMPLARS)


def _options(kind: str) -> dict[str, Any]:
    calculation = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    options: dict[str, dict[str, Any]] = {
        "timeseries": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "stat": {"reduceOptions": calculation, "colorMode": "value", "graphMode": "none"},
        "bargauge": {
            "reduceOptions": calculation,
            "orientation": "horizontal",
            "displayMode": "basic",
        },
        "heatmap": {"calculate": False, "yAxis": {"axisPlacement": "left"}},
    }
    return options[kind]


def _traces_link() -> dict[str, Any]:
    """Return the link to the faulty traces of these services and this time, in Tempo."""
    query = {"refId": "A", "queryType": "traceql", "query": _FAULTY}
    pane = {
        "datasource": "${tempo}",
        "queries": [query],
        "range": {"from": "${__from}", "to": "${__to}"},
    }
    left = quote(json.dumps(pane, separators=(",", ":")), safe="${}:")  # Grafana fills in ${...}
    url = f"/explore?left={left}"
    return {"title": "Faulty traces in Tempo", "url": url, "targetBlank": True}


def _variables(dashboard: Dashboard) -> list[dict[str, Any]]:
    series = "raglog_stage_verdicts_total"
    queries = {
        "service": f"label_values({series}, service)",
        "stage": f'label_values({series}{{service=~"$service"}}, stage)',
        "instance": "label_values(raglog_spans_received_total, instance)",
    }
    sources = [("datasource", "prometheus", "Prometheus")]
    if "service" in dashboard.variables:
        sources.append(("tempo", "tempo", "Tempo"))
    found: list[dict[str, Any]] = [
        {"name": name, "type": "datasource", "query": kind, "label": label, "refresh": 1}
        for name, kind, label in sources
    ]
    return found + [
        {
            "name": name,
            "type": "query",
            "label": name,
            "datasource": _SOURCE,
            "query": {"query": queries[name], "refId": name},
            "definition": queries[name],
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }
        for name in dashboard.variables
    ]


def rendered() -> dict[Path, str]:
    """Return each file's text."""
    return {
        TARGET / f"{dashboard.uid}.json": json.dumps(dashboard_json(dashboard), indent=2) + "\n"
        for dashboard in DASHBOARDS
    }


def main() -> None:
    """Write the files, or with ``--check`` exit with 1 when one differs or is a stranger."""
    texts = rendered()
    there = set(TARGET.glob("*.json"))
    if "--check" in sys.argv:
        stale = [path for path, text in texts.items() if not _holds(path, text)]
        stale += sorted(there - texts.keys())
        for path in stale:
            sys.stdout.write(f"{path.name} is stale: run scripts/write_dashboards.py\n")
        sys.exit(bool(stale))
    TARGET.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


if __name__ == "__main__":
    main()

"""The summary of services' set-up to JSON-ready data, for ``explain --setup`` and the JSON API."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog.explaining.setup import ServiceSetup, StageSetup


def setup_json(services: Sequence[ServiceSetup]) -> list[dict[str, object]]:
    """Return each service as data: what was captured, what was not and why, and what to do."""
    return [
        {
            "service": item.service,
            "traces": item.traces,
            "runs": item.runs,
            "runs_counted": item.counted,
            "runs_judgeable": item.judgeable,
            "conventions": list(item.conventions),
            "stages": {stage.stage.value: _stage_json(stage) for stage in item.stages},
            "findings": [
                {
                    "kind": finding.kind,
                    "what": finding.what,
                    "count": finding.count,
                    "remedy": finding.remedy,
                    "traces": list(finding.traces),
                }
                for finding in item.findings
            ],
        }
        for item in services
    ]


def _stage_json(stage: StageSetup) -> dict[str, object]:
    return {
        "captured": stage.captured,
        "partly": stage.partly,
        "missing": stage.missing,
        "absent": stage.absent,
        "of": stage.of,
        "share": round(stage.share, 4),
        "span_names": dict(stage.span_names),
        "conventions": list(stage.conventions),
        "why": stage.why,
        "remedy": stage.remedy,
    }

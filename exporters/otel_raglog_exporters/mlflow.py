"""Verdicts as assessments in MLflow (3.x): feedback on traces and their spans.

MLflow gives an assessment its id, and keeps two of the same name. So what is there is read first,
and what says the same is not sent again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.errors import Unavailable
from otel_raglog.model import Payload
from otel_raglog_exporters.api_client import Refusals, client_of, secret_of, to_json
from otel_raglog_exporters.endpoint import TlsConfig
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.verdicts import Judged, read_verdicts

_NOT_FOUND = 404
_MOST_AWAITED = 10_000
_LOOK_AGAIN_SECONDS = 1.0
_KEY = "raglog.key"
_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class MlflowConfig:
    """An MLflow server's address.

    A verdict waits ``wait_for_trace_seconds`` for MLflow to store its trace, which has another way
    there, and is then given up.
    """

    endpoint: str = "http://127.0.0.1:5000"
    name: str = "mlflow"
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    wait_for_trace_seconds: float = 60.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class MlflowExporter:
    """Posts one assessment for each judged stage of a span, and one for each run.

    Raises:
        ConfigError: an option is wrong.
    """

    def __init__(self, config: MlflowConfig, clock: Clock | None = None) -> None:
        self.name = config.name
        self._clock = clock or SystemClock()
        self._wait_seconds = config.wait_for_trace_seconds
        self._awaited: dict[str, float] = {}
        self._lock = Lock()
        token = secret_of("token", config.token, config.token_file)
        own = {"authorization": f"Bearer {token}"} if token else {}
        self._client = client_of(config, own, clock)

    def export(self, payload: Payload) -> ExportOutcome:
        """Send the assessments of ``payload`` that MLflow does not have yet.

        Raises:
            Unavailable: not now, or it does not have one of the traces yet; the others were sent.
            Rejected: refused for good.
        """
        self._client.check_open()
        by_trace: dict[str, list[dict[str, object]]] = {}
        for judged in read_verdicts(payload):
            by_trace.setdefault(judged.trace_id, []).extend(_assessments(judged))
        missing, refusals = 0, Refusals()
        for trace_id, assessments in by_trace.items():
            if self._send(trace_id, assessments, refusals):
                self._awaited.pop(trace_id, None)
            elif self._may_come(trace_id):
                missing += 1
            else:
                refusals.messages.append(f"trace {trace_id} was never stored")
        if missing:
            raise Unavailable(f"{missing} traces are not stored yet", _LOOK_AGAIN_SECONDS)
        return refusals.outcome(payload)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(
        self, trace_id: str, assessments: list[dict[str, object]], refusals: Refusals
    ) -> bool:
        """Return whether MLflow has the trace."""
        path = f"/api/3.0/mlflow/traces/tr-{trace_id}"
        found = self._client.send("GET", path, expected=frozenset({_NOT_FOUND}))
        if found.status == _NOT_FOUND:
            return False
        there = _kept(found.body)
        for assessment in assessments:
            if _signature(assessment) in there:
                continue
            body = {**assessment, "trace_id": f"tr-{trace_id}"}
            content = to_json({"assessment": body})
            send = partial(self._client.send, "POST", f"{path}/assessments", content, _JSON)
            refusals.attempt(send)
        return True

    def _may_come(self, trace_id: str) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            first = self._awaited.setdefault(trace_id, now)
            if now - first < self._wait_seconds and len(self._awaited) <= _MOST_AWAITED:
                return True
            del self._awaited[trace_id]
            return False


def _assessments(judged: Judged) -> Iterator[dict[str, object]]:
    for stage in judged.stages:
        metadata = {
            "run_id": judged.run_id,
            "verdict": stage.verdict,
            "probability": "" if stage.probability is None else str(stage.probability),
            "threshold": "" if stage.threshold is None else str(stage.threshold),
            "fault_types": ", ".join(stage.fault_types),
            "warnings": ", ".join(stage.warnings),
            "supersedes": judged.supersedes,
        }
        yield _assessment(
            f"raglog.{stage.stage}",
            stage.verdict,
            stage.explanation,
            {**metadata, _KEY: f"{judged.span_id}:{judged.supersedes}"},
            judged,
            span_id=judged.span_id,
        )
    run = judged.run
    if run is None:
        return
    metadata = {
        "run_id": judged.run_id,
        "faulty_stages": ", ".join(run.faulty_stages),
        "session_id": run.session_id,
        "detector_version": run.detector_version,
        "tier": run.tier,
        "skip_reason": run.skip_reason,
        "supersedes": judged.supersedes,
    }
    key = {_KEY: f"{judged.run_id}:{judged.supersedes}"}
    yield _assessment("raglog.run", run.verdict, run.why, {**metadata, **key}, judged)


def _assessment(  # noqa: PLR0917  the parts of one
    name: str,
    value: str,
    rationale: str,
    metadata: Mapping[str, str],
    judged: Judged,
    span_id: str = "",
) -> dict[str, object]:
    kind = "LLM_JUDGE" if judged.supersedes else "CODE"
    assessment: dict[str, object] = {
        "assessment_name": name,
        "source": {"source_type": kind, "source_id": "otel-raglog"},
        "feedback": {"value": value},
        "metadata": {key: found for key, found in metadata.items() if found},
    }
    if rationale:
        assessment["rationale"] = rationale
    if span_id:
        assessment["span_id"] = span_id
    return assessment


def _signature(assessment: Mapping[str, Any]) -> tuple[str, str]:
    return (
        str(assessment.get("assessment_name")),
        str((assessment.get("metadata") or {}).get(_KEY)),
    )


def _kept(body: Any) -> set[tuple[str, str]]:
    """Return the assessments of ours that a trace has."""
    trace = body.get("trace") if isinstance(body, dict) else None
    info = trace.get("trace_info") if isinstance(trace, dict) else None
    found = info.get("assessments") if isinstance(info, dict) else None
    return {_signature(each) for each in found or () if isinstance(each, dict)}

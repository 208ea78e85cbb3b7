"""Verdicts as scores in Langfuse: on observations, traces and sessions, each with a stable id.

A score may come before its trace. One of the same id replaces the one that is there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.model import Payload
from otel_raglog_exporters.api_client import Answer, Refusals, client_of, secret_of
from otel_raglog_exporters.endpoint import TlsConfig, shortened
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.verdicts import Judged, StageOnSpan, read_verdicts

_BATCH = 100
_PATH = "/api/public/ingestion"
_MULTI_STATUS_RETRYABLE = frozenset({408, 429})
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class LangfuseConfig:
    """A Langfuse server's address and the two keys of a project."""

    endpoint: str = "https://cloud.langfuse.com"
    name: str = "langfuse"
    public_key: str = ""
    secret_key: str = field(default="", repr=False)
    secret_key_file: Path | None = None
    environment: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class LangfuseExporter:
    """Posts scores in batches, which Langfuse answers one by one.

    Raises:
        ConfigError: an option is wrong or a key is missing.
    """

    def __init__(self, config: LangfuseConfig, clock: Clock | None = None) -> None:
        self.name = config.name
        self._clock = clock or SystemClock()
        self._environment = config.environment
        secret = secret_of("secret_key", config.secret_key, config.secret_key_file)
        for option, value in (("public_key", config.public_key), ("secret_key", secret)):
            if not value:
                raise ConfigError(f"{option}: a project's key is needed")
        pair = base64.b64encode(f"{config.public_key}:{secret}".encode()).decode()
        self._client = client_of(config, {"authorization": f"Basic {pair}"}, clock)

    def export(self, payload: Payload) -> ExportOutcome:
        """Send the scores of ``payload``; sent again, they replace themselves.

        A score that is refused costs itself alone; it is said in the outcome.

        Raises:
            Unavailable: not now, also for one of the scores.
            Rejected: refused for good, as without valid keys.
        """
        self._client.check_open()
        scores = [each for judged in read_verdicts(payload) for each in self._scores(judged)]
        now = datetime.fromtimestamp(self._clock.unix_nano() / 1e9, UTC).isoformat()
        refusals = Refusals()
        for start in range(0, len(scores), _BATCH):
            batch = [
                {
                    "id": f"{score['id']}:{now}",
                    "timestamp": now,
                    "type": "score-create",
                    "body": score,
                }
                for score in scores[start : start + _BATCH]
            ]
            refusals.messages += _refusals(self._client.post(_PATH, {"batch": batch}))
        return refusals.outcome(payload)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _scores(self, judged: Judged) -> Iterator[dict[str, object]]:
        on_span = {"traceId": judged.trace_id, "observationId": judged.span_id}
        for stage in judged.stages:
            name, place = f"raglog.{stage.stage}", f"{judged.trace_id}-{judged.span_id}"
            more = {"comment": stage.explanation, "metadata": _stage_metadata(judged, stage)}
            if stage.probability is not None:
                yield self._score(place, name, stage.probability, "NUMERIC", on_span, more)
            yield self._score(place, f"{name}.verdict", stage.verdict, "CATEGORICAL", on_span, more)
        run = judged.run
        if run is None:
            return
        metadata = {
            "run_id": judged.run_id,
            "faulty_stages": list(run.faulty_stages),
            "detector_version": run.detector_version,
            "tier": run.tier,
        }
        more = {"comment": run.why, "metadata": metadata}
        place = f"{judged.trace_id}-{judged.run_id}"
        on_trace = {"traceId": judged.trace_id}
        yield self._score(place, "raglog.run", run.verdict, "CATEGORICAL", on_trace, more)
        if run.session_id:
            on_session = {"sessionId": run.session_id}
            yield self._score(
                f"session-{place}", "raglog.run", run.verdict, "CATEGORICAL", on_session, more
            )

    def _score(  # noqa: PLR0917  the parts of one
        self,
        place: str,
        name: str,
        value: float | str,
        kind: str,
        target: Mapping[str, str],
        more: Mapping[str, object],
    ) -> dict[str, object]:
        score = {
            "id": f"raglog-{place}-{name}",
            **target,
            "name": name,
            "value": value,
            "dataType": kind,
            "environment": self._environment,
            **more,
        }
        return {key: found for key, found in score.items() if found not in ("", {})}


def _stage_metadata(judged: Judged, stage: StageOnSpan) -> dict[str, object]:
    return {
        "run_id": judged.run_id,
        "fault_types": list(stage.fault_types),
        "warnings": list(stage.warnings),
        "threshold": stage.threshold,
    }


def _refusals(answer: Answer) -> list[str]:
    """Return what was refused of a batch.

    Raises:
        Unavailable: one of its items may be taken later.
    """
    errors = answer.body.get("errors") if isinstance(answer.body, dict) else None
    refused = []
    for error in errors if isinstance(errors, list) else []:
        told = error if isinstance(error, dict) else {}
        status = told.get("status")
        message = shortened(f"HTTP {status}: {told.get('message') or told.get('error') or error}")
        if isinstance(status, int) and (
            status >= _SERVER_ERROR or status in _MULTI_STATUS_RETRYABLE
        ):
            raise Unavailable(message)
        refused.append(message)
    return refused

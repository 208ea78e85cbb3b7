"""Verdicts as annotations in Arize Phoenix: chips on spans and traces, with the explanation.

Phoenix stores annotations that come before their span and tries for a while to match them, so
nothing here waits for spans. An annotation of the same target, name and identifier is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from otel_raglog.clock import Clock
from otel_raglog.model import Payload
from otel_raglog_exporters.api_client import Refusals, client_of, secret_of
from otel_raglog_exporters.endpoint import TlsConfig
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.verdicts import Judged, StageOnSpan, read_verdicts

IDENTIFIER = "otel-raglog"
_BATCH = 200


@dataclass(frozen=True, slots=True)
class PhoenixConfig:
    """A Phoenix server's address, as of its web pages; the key where it wants one."""

    endpoint: str = "http://127.0.0.1:6006"
    name: str = "phoenix"
    api_key: str = field(default="", repr=False)
    api_key_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class PhoenixExporter:
    """Posts two annotations for each judged stage of a span, and one for each run's trace.

    Two, since Phoenix shows of one that has a score only the score: ``raglog.<stage>`` has the
    probability of a fault, ``raglog.<stage>.verdict`` the word.

    Raises:
        ConfigError: an option is wrong.
    """

    def __init__(self, config: PhoenixConfig, clock: Clock | None = None) -> None:
        self.name = config.name
        key = secret_of("api_key", config.api_key, config.api_key_file)
        own = {"authorization": f"Bearer {key}"} if key else {}
        self._client = client_of(config, own, clock)

    def export(self, payload: Payload) -> ExportOutcome:
        """Send the annotations of ``payload``; sent again, they replace themselves.

        One that is refused costs itself alone.

        Raises:
            Unavailable: not now.
            Rejected: refused for good, as without a valid key.
        """
        self._client.check_open()
        judged, refusals = read_verdicts(payload), Refusals()
        on_spans = [each for one in judged for each in _of_span(one)]
        on_traces = [each for one in judged for each in _of_trace(one)]
        self._post("/v1/span_annotations", on_spans, refusals)
        self._post("/v1/trace_annotations", on_traces, refusals)
        return refusals.outcome(payload)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _post(self, path: str, annotations: Sequence[object], refusals: Refusals) -> None:
        for start in range(0, len(annotations), _BATCH):
            batch = annotations[start : start + _BATCH]
            whole = Refusals()
            if not whole.attempt(partial(self._client.post, path, {"data": batch})):
                # Phoenix takes a batch whole or not at all: find whom it does not take.
                for one in batch:
                    refusals.attempt(partial(self._client.post, path, {"data": [one]}))


def _of_span(judged: Judged) -> Iterator[dict[str, object]]:
    for stage in judged.stages:
        target = {"span_id": judged.span_id}
        metadata = _stage_metadata(judged, stage)
        if stage.probability is not None:
            result = {"score": stage.probability, "explanation": stage.explanation or None}
            yield _annotation(target, f"raglog.{stage.stage}", result, metadata, judged)
        result = {"label": stage.verdict, "explanation": stage.explanation or None}
        yield _annotation(target, f"raglog.{stage.stage}.verdict", result, metadata, judged)


def _of_trace(judged: Judged) -> Iterator[dict[str, object]]:
    run = judged.run
    if run is None:
        return
    metadata = _filled(
        run_id=judged.run_id,
        faulty_stages=list(run.faulty_stages),
        session_id=run.session_id,
        session_turn=run.session_turn,
        detector_version=run.detector_version,
        tier=run.tier,
        skip_reason=run.skip_reason,
        supersedes=judged.supersedes,
    )
    yield _annotation(
        {"trace_id": judged.trace_id},
        "raglog.run",
        {"label": run.verdict, "explanation": run.why or None},
        metadata,
        judged,
        identifier=f"{IDENTIFIER}:{judged.run_id}",  # a trace may have several runs
    )


def _annotation(  # noqa: PLR0917  the parts of one
    target: dict[str, str],
    name: str,
    result: Mapping[str, object],
    metadata: dict[str, object],
    judged: Judged,
    identifier: str = IDENTIFIER,
) -> dict[str, object]:
    return {
        **target,
        "name": name,
        "annotator_kind": "LLM" if judged.supersedes else "CODE",
        "result": result,
        "metadata": metadata,
        "identifier": identifier,
    }


def _stage_metadata(judged: Judged, stage: StageOnSpan) -> dict[str, object]:
    return _filled(
        run_id=judged.run_id,
        threshold=stage.threshold,
        fault_types=list(stage.fault_types),
        warnings=list(stage.warnings),
        supersedes=judged.supersedes,
    )


def _filled(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}

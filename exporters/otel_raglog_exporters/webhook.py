"""Verdicts on runs as signed JSON to an address of the user's own, one request a run.

Signed as the Standard Webhooks specification says (https://www.standardwebhooks.com): the headers
``webhook-id``, ``webhook-timestamp`` (seconds) and ``webhook-signature``, whose ``v1`` is the
HMAC-SHA256 of ``id.timestamp.body`` in base64.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.errors import ConfigError
from otel_raglog.model import Payload
from otel_raglog_exporters.api_client import Refusals, client_of, secret_of, to_json
from otel_raglog_exporters.endpoint import TlsConfig
from otel_raglog_exporters.sending import ExportOutcome
from otel_raglog_exporters.verdicts import Judged, StageOnSpan, read_verdicts

_KEY_PREFIX = "whsec_"
_SHORTEST_KEY = 16
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """Where to post, what for, and the key of the signature.

    A key that begins with ``whsec_`` is base64, as that specification has it; any other is taken as
    its bytes.
    """

    endpoint: str
    name: str = "webhook"
    verdicts: Literal["faulty", "all"] = "faulty"
    secret: str = field(default="", repr=False)
    secret_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 10.0
    tls: TlsConfig | None = None
    proxy_from_environment: bool = False


class WebhookExporter:
    """Posts one JSON object a run; the same run has the same ``webhook-id`` when it is sent again.

    Raises:
        ConfigError: an option is wrong.
    """

    def __init__(self, config: WebhookConfig, clock: Clock | None = None) -> None:
        self.name = config.name
        self._clock = clock or SystemClock()
        self._only_faulty = config.verdicts == "faulty"
        self._key = _key(secret_of("secret", config.secret, config.secret_file))
        self._client = client_of(config, {}, clock)

    def export(self, payload: Payload) -> ExportOutcome:
        """Send the runs of ``payload``, each in a request of its own.

        Raises:
            Unavailable: not now; runs before it were sent, and will be again.
            Rejected: refused for good.
        """
        self._client.check_open()
        refusals = Refusals()
        for identifier, message in _messages(read_verdicts(payload)):
            if self._only_faulty and message["verdict"] != "faulty":
                continue
            body = to_json(message)
            headers = self._headers(identifier, body)
            refusals.attempt(partial(self._client.send, "POST", "", body, headers))
        return refusals.outcome(payload)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _headers(self, identifier: str, body: bytes) -> dict[str, str]:
        stamp = str(self._clock.unix_nano() // _SECOND)
        headers = {
            "content-type": "application/json",
            "webhook-id": identifier,
            "webhook-timestamp": stamp,
        }
        if self._key:
            headers["webhook-signature"] = signature(self._key, identifier, stamp, body)
        return headers


def signature(key: bytes, identifier: str, stamp: str, body: bytes) -> str:
    """Return the value of ``webhook-signature``."""
    signed = f"{identifier}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    if not secret:
        return b""
    if not secret.startswith(_KEY_PREFIX):
        key = secret.encode()
    else:
        try:
            key = base64.b64decode(secret.removeprefix(_KEY_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError("secret: what follows whsec_ is no base64") from None
    if len(key) < _SHORTEST_KEY:
        raise ConfigError(f"secret: {len(key)} bytes are too few; take {_SHORTEST_KEY} or more")
    return key


def _messages(judged: tuple[Judged, ...]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield an id and a message for each run, with the stages that came in the same request."""
    for top in judged:
        if top.run is None:
            continue
        stages: dict[str, dict[str, object]] = {}
        for one in judged:
            if one.run_id == top.run_id and one.trace_id == top.trace_id:
                for stage in one.stages:
                    _keep_worst(stages, stage, one.span_id)
        identifier = f"raglog-{top.trace_id}-{top.run_id}"
        if top.supersedes:
            identifier += f"-{top.run.detector_version}"
        yield (
            identifier,
            {
                "type": "raglog.run",
                "run_id": top.run_id,
                "trace_id": top.trace_id,
                "span_id": top.span_id,
                "service": top.service,
                "verdict": top.run.verdict,
                "faulty_stages": list(top.run.faulty_stages),
                "first_faulty_stage": top.run.first_faulty_stage or None,
                "session_id": top.run.session_id or None,
                "session_turn": top.run.session_turn,
                "detector_version": top.run.detector_version,
                "tier": top.run.tier,
                "skip_reason": top.run.skip_reason or None,
                "supersedes": top.supersedes or None,
                "stages": stages,
            },
        )


def _keep_worst(stages: dict[str, dict[str, object]], stage: StageOnSpan, span_id: str) -> None:
    known = stages.get(stage.stage)
    if known is not None and (known["verdict"] == "faulty" or stage.verdict != "faulty"):
        return
    stages[stage.stage] = {
        "verdict": stage.verdict,
        "probability": stage.probability,
        "threshold": stage.threshold,
        "fault_types": list(stage.fault_types),
        "warnings": list(stage.warnings),
        "explanation": stage.explanation,
        "span_id": span_id,
    }

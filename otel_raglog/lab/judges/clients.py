"""The name of a judge and a key to a client that has patience."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from otel_raglog.clock import Clock
from otel_raglog.errors import ConfigError
from otel_raglog.judge.client import JudgeClient
from otel_raglog.judge.clients import build_client
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.lab.judges.naming import JudgeName
from otel_raglog.lab.references.asking import PatientClient

_KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_MOST_REPLY_BYTES = 1 << 20
_RETRIES = RetryConfig(tries=6, seconds=300, first_seconds=1, most_seconds=30)


def key_variable(name: JudgeName, key_from: str | None) -> str | None:
    """Return the variable that holds the key: ``key_from``, else the provider's own.

    The provider's own is for its own address alone: no other server gets that key.
    """
    if key_from is not None:
        return key_from
    return None if name.endpoint else _KEY_VARIABLES.get(name.provider)


def patient_client(
    name: JudgeName,
    key: str | None,
    *,
    connections: int,
    clock: Clock,
    random: Random,
    wait: Callable[[float], bool],
) -> JudgeClient:
    """Return a client that tries for up to five minutes; ``wait`` waits so many seconds.

    Raises:
        ConfigError: there is no key for the provider's own address, or see
            :func:`otel_raglog.judge.clients.build_client`.
    """
    if key is None and name.endpoint is None:
        variable = _KEY_VARIABLES.get(name.provider)
        raise ConfigError(
            f"{name.text} needs a key: set {variable}, or name its variable (--key-from)"
        )
    client = build_client(
        name.provider,
        name.model,
        endpoint=name.endpoint,
        key=key,
        max_reply_bytes=_MOST_REPLY_BYTES,
        connections=connections,
        clock=clock,
    )
    return PatientClient(client, Retrier(_RETRIES, clock, random, wait))

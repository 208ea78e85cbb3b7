"""The options of the LLM that judges to what asks it about calls that the bridge cannot read."""

from __future__ import annotations

import json
import random
import threading

from otel_raglog.building import build_budget, llm_options
from otel_raglog.clock import Clock, SystemClock
from otel_raglog.config import load_config
from otel_raglog.judge.breaker import Breaker
from otel_raglog.judge.budget import Budget, Reservation
from otel_raglog.judge.calling import Caller, Pricing, Reason, Tally, expected_of_ask
from otel_raglog.judge.client import Ask, JudgeClient
from otel_raglog.judge.clients import build_client
from otel_raglog.judge.redacting import Redactor
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.options import Judge
from otel_raglog.redaction.building import build_redaction
from otel_raglog.redaction.redaction import Redaction

_MOST_TOKENS = 800
"""Of a reply: a dozen expressions."""


def build_asker(options: Judge, redaction: Redaction | None = None) -> BridgeAsker | None:
    """Return what asks the LLM of the options; ``None`` where none is asked: off, or without a key.

    It is shown no text that ``redaction`` finds.

    Raises:
        ConfigError: it cannot be asked: a bad address or price list, a missing SDK, a key that
            cannot be read.
    """
    llm = llm_options(options)
    if llm is None:
        return None
    budget, pricing = build_budget(options)
    client = build_client(
        options.provider,
        options.model,
        endpoint=options.endpoint,
        key=llm.key,
        max_reply_bytes=options.max_reply_kib * 1024,
        connections=options.concurrency,
    )
    return BridgeAsker(
        client,
        budget,
        pricing,
        Redactor(options.redact, redaction),
        RetryConfig(options.tries, options.timeout_seconds),
        SystemClock(),
    )


def asker_from_config() -> BridgeAsker | None:
    """Return :func:`build_asker` of the configuration that the environment names: for the add-on.

    Raises:
        ConfigError: the configuration is wrong, or the LLM cannot be asked.
    """
    loaded = load_config(None)
    return build_asker(loaded.judge, build_redaction(loaded.redaction))


class BridgeAsker:
    """Asks an LLM about calls, within the budget and the retries of the judge. For all threads.

    Keeps the promise of the bridge's ``Asker``: what a provider does ends as ``None``. What
    ``redact`` matches in a prompt is not sent. The budget is the judge's own: who shares its file
    shares it.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        client: JudgeClient,
        budget: Budget,
        pricing: Pricing,
        redact: Redactor,
        retries: RetryConfig,
        clock: Clock,
    ) -> None:
        self._client = client
        self._budget = budget
        self._pricing = pricing
        self._redact = redact
        self._breaker = Breaker(clock)
        self._stopping = threading.Event()
        self._retrier = Retrier(
            retries,
            clock,
            random.Random(),  # noqa: S311  jitter
            self._stopping.wait,
        )
        self._caller = Caller(client, self._retrier, self._breaker, clock)

    def ask(self, system: str, prompt: str, schema: dict[str, object]) -> dict[str, object] | None:
        """Return the reply's JSON object; ``None`` when there is none, for whatever reason."""
        request = Ask(system, self._redact.text(prompt), "call", schema, _MOST_TOKENS)
        if self._stopping.is_set():
            return None
        expected = expected_of_ask(request)
        reservation = self._budget.admit(expected.total, self._pricing(expected))
        if not isinstance(reservation, Reservation):
            self._caller.noted(Reason.BUDGET, reservation.message)
            return None
        tally = Tally(self._pricing)
        try:
            if not self._breaker.admit():
                return None
            reply = self._caller.ask(request, self._retrier.deadline(None), tally)
        finally:
            self._budget.settle(reservation, *tally.spent())
        if isinstance(reply, Reason):
            return None
        try:
            answer = json.loads(reply.text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            self._caller.noted(Reason.MALFORMED, "the answer is no JSON object")
            return None
        return answer

    def close(self) -> None:
        """End waits between tries, and close connections."""
        self._stopping.set()
        self._client.close()
        self._budget.close()

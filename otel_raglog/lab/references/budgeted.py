"""Requests to an LLM within a budget: each is counted before and after, none is made beyond it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from otel_raglog.clock import Clock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.asking import MOST_WAIT_SECONDS
from otel_raglog.judge.budget import Budget, Refusal, Reservation
from otel_raglog.judge.calling import LATE_SECONDS, Pricing, Tally, expected_of_ask
from otel_raglog.judge.client import Ask, Question, Reply, Usage, YesShare
from otel_raglog.lab.references.asking import PatientClient

OVER_BUDGET = "budget"
"""The reason of :class:`Rejected` where a request would cost more than is left."""

_MAY_COST = frozenset({"too_large", "malformed", "refused"})


class BudgetedClient:
    """A patient client that stops for good where the budget is used up. For all threads.

    What a request may cost is reserved before it, and put right after it. A minute's limit on tokens
    is waited for; ``wait`` waits so many seconds, and returns whether it was cut short for good.
    """

    def __init__(
        self,
        client: PatientClient,
        budget: Budget,
        pricing: Pricing,
        clock: Clock,
        wait: Callable[[float], bool],
    ) -> None:
        self._client = client
        self._budget = budget
        self._pricing = pricing
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._total = Tally(pricing)
        self._refusal: Refusal | None = None

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._client.provider

    @property
    def model(self) -> str:
        """The model's name there."""
        return self._client.model

    @property
    def calls(self) -> int:
        """All calls so far, each try counted."""
        return self._client.calls

    @property
    def usage(self) -> Usage:
        """The tokens of all replies so far."""
        return self._total.usage

    @property
    def cost_usd(self) -> float | None:
        """USD of all replies so far, ``None`` when the model has no price."""
        return self._total.cost_usd

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Return the reply.

        Raises:
            Unavailable: see :meth:`PatientClient.ask`.
            Rejected: see :meth:`PatientClient.ask`; ``budget`` where that would cost more than is
                left: then nothing is sent.
        """
        expected = expected_of_ask(request)
        reservation = self._admitted(expected)
        spent = Tally(self._pricing)
        began = self._clock.monotonic()
        try:
            reply = self._client.ask(request, timeout_seconds)
        except Rejected as refused:
            if refused.reason in _MAY_COST:
                spent.suspect(expected)
            raise
        except Unavailable:
            if self._clock.monotonic() - began >= timeout_seconds - LATE_SECONDS:
                spent.suspect(expected)
            raise
        else:
            spent.charge(reply.usage)
            self._total.charge(reply.usage)
            return reply
        finally:
            self._budget.settle(reservation, *spent.spent())

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:  # noqa: ARG002  the protocol's
        """Refuse: nobody asks for that here.

        Raises:
            Rejected: always, with ``no_logprobs``.
        """
        raise Rejected("answers in JSON alone are asked for within a budget", "no_logprobs")

    def close(self) -> None:
        """Close connections, and let go of the budget's file."""
        self._client.close()
        self._budget.close()

    def _admitted(self, expected: Usage) -> Reservation:
        while True:
            with self._lock:
                found = self._refusal or self._budget.admit(expected.total, self._pricing(expected))
                if isinstance(found, Reservation):
                    return found
                seconds = found.retry_after_seconds
                if seconds is not None and seconds > MOST_WAIT_SECONDS:
                    self._refusal = found
            if self._refusal is not None or seconds is None or self._wait(seconds):
                raise Rejected(f"judge.budget.{found.limit}: {found.message}", OVER_BUDGET)

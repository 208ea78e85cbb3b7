"""One request to an LLM to its reply, or to the reason why there is none."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias, TypeVar

import structlog

from otel_raglog.checks.judge.budget import estimated_tokens
from otel_raglog.clock import Clock
from otel_raglog.errors import RateLimited, Rejected, Unavailable
from otel_raglog.judge.breaker import Breaker, BreakerState
from otel_raglog.judge.client import Ask, JudgeClient, Question, Reply, Usage, YesShare
from otel_raglog.judge.retrying import Retrier

T = TypeVar("T")

_ANSWER_TOKENS = 500
"""A long answer in JSON."""
LATE_SECONDS = 0.05
"""What fails this near its deadline, or after it, was out of time."""
_FAIR_SECONDS = 5.0
"""Who had less time, waiting for a turn, says nothing of the provider by not being done."""
_log = structlog.get_logger()


class Reason(StrEnum):
    """Why a check has no answer."""

    TIMEOUT = "timeout"
    """No whole reply in the time there was, waiting for a turn included."""
    UNAVAILABLE = "unavailable"
    """The connection failed, or the provider did, each time."""
    RATE_LIMITED = "rate_limited"
    """The provider said when to come back: later than there was time for, or again and again."""
    MALFORMED = "malformed"
    """The reply was none of the API, or the answer none of the schema, at the second try too."""
    REFUSED = "refused"
    """The model declined."""
    CUT_OFF = "cut_off"
    """The model's answer reached its limit on tokens."""
    TOO_LARGE = "too_large"
    """The reply was longer than ``judge.max_reply_kib``."""
    UNAUTHORIZED = "unauthorized"
    BAD_REQUEST = "bad_request"
    PAYMENT_REQUIRED = "payment_required"
    NO_SUCH_MODEL = "no_such_model"
    PROMPT_TOO_LARGE = "prompt_too_large"
    NO_LOGPROBS = "no_logprobs"
    BREAKER_OPEN = "breaker_open"
    """Not asked: calls to the provider have failed of late."""
    BUDGET = "budget"
    """Not asked: that would cost more than is left."""
    STOPPED = "stopped"
    """The service ended first."""
    ERROR = "error"
    """Anything else, such as a defect of ours."""


_ABOUT_THE_RUN = frozenset({Reason.REFUSED, Reason.PROMPT_TOO_LARGE})
"""Refusals by a provider that works."""
_MAY_COST = frozenset({Reason.TIMEOUT, Reason.TOO_LARGE, Reason.MALFORMED, Reason.REFUSED})
"""Failures after which the provider may charge for tokens that it did not tell."""


Pricing: TypeAlias = Callable[[Usage], float | None]
"""Returns USD for the tokens of one call; ``None`` when the price is not known."""


class Tally:
    """What the calls about one run came to. For all threads."""

    def __init__(self, pricing: Pricing) -> None:
        self._pricing = pricing
        self._lock = threading.Lock()
        self.calls = 0
        self.retries = 0
        self.usage = Usage()
        self.cost_usd = 0.0 if pricing(Usage()) is not None else None
        self._untold = Usage()
        self._untold_usd = 0.0

    def begin(self, *, again: bool) -> None:
        """Count a call, which may be another try of an earlier one."""
        with self._lock:
            self.calls += 1
            self.retries += again

    def charge(self, usage: Usage) -> None:
        """Count what the provider said of a call."""
        with self._lock:
            self.usage += usage
            cost = self._pricing(usage)
            self.cost_usd = None if cost is None or self.cost_usd is None else self.cost_usd + cost

    def suspect(self, usage: Usage) -> None:
        """Count what the provider may have charged for without saying so."""
        with self._lock:
            self._untold += usage
            self._untold_usd += self._pricing(usage) or 0.0

    def spent(self) -> tuple[int, float | None]:
        """Return tokens and USD, also those that may have been charged for."""
        with self._lock:
            cost = None if self.cost_usd is None else self.cost_usd + self._untold_usd
            return (self.usage + self._untold).total, cost


class Caller:
    """Calls a client, as often as need be. For all threads.

    The first failure of each kind is logged.
    """

    def __init__(
        self, client: JudgeClient, retrier: Retrier, breaker: Breaker, clock: Clock
    ) -> None:
        self._client = client
        self._retrier = retrier
        self._breaker = breaker
        self._clock = clock
        self._logged: set[Reason] = set()

    def ask(
        self, request: Ask, deadline: float, tally: Tally, *, again: bool = False
    ) -> Reply | Reason:
        """Return the reply, whole; ``deadline`` is monotonic time.

        ``again`` tells that this repeats an earlier request.
        """
        reply = self._call(
            lambda seconds: self._client.ask(request, seconds),
            expected_of_ask(request),
            deadline,
            tally,
            again=again,
        )
        if isinstance(reply, Reason):
            return reply
        tally.charge(reply.usage)
        return reply if reply.complete else self.noted(Reason.CUT_OFF, "the answer is cut off")

    def first_token(self, question: Question, deadline: float, tally: Tally) -> YesShare | Reason:
        """Return how probable yes is; ``deadline`` is monotonic time."""
        share = self._call(
            lambda seconds: self._client.first_token(question, seconds),
            expected_of_question(question),
            deadline,
            tally,
            again=False,
        )
        if isinstance(share, YesShare):
            tally.charge(share.usage)
        return share

    def _call(
        self,
        once: Callable[[float], T],
        expected: Usage,
        deadline: float,
        tally: Tally,
        *,
        again: bool,
    ) -> T | Reason:
        began = self._clock.monotonic()
        if deadline <= began:
            return Reason.TIMEOUT
        if self._breaker.state is BreakerState.OPEN:
            return Reason.BREAKER_OPEN
        tries = 0

        def counted(seconds: float) -> T:
            nonlocal tries
            tally.begin(again=again or tries > 0)
            tries += 1
            return once(seconds)

        try:
            result = self._retrier.call(counted, deadline, may_retry=self._may_retry)
        except Unavailable as failure:
            reason, problem = self._unavailable(failure, began, deadline), str(failure)
        except Rejected as refusal:
            reason, problem = self._rejected(refusal), str(refusal)
        else:
            self._breaker.succeeded()
            return result
        if reason in _MAY_COST:
            tally.suspect(expected)
        return self.noted(reason, problem)

    def _unavailable(self, failure: Unavailable, began: float, deadline: float) -> Reason:
        told = failure.retry_after_seconds
        if self._clock.monotonic() < deadline - LATE_SECONDS:
            self._breaker.failed(told or 0.0)
            limited = told is not None or isinstance(failure, RateLimited)
            return Reason.RATE_LIMITED if limited else Reason.UNAVAILABLE
        if deadline - began >= min(_FAIR_SECONDS, self._retrier.seconds) - LATE_SECONDS:
            self._breaker.failed(told or 0.0)
        return Reason.TIMEOUT

    def _rejected(self, refusal: Rejected) -> Reason:
        word = refusal.reason
        reason = Reason(word) if word in set(Reason) else Reason.ERROR
        if reason is Reason.UNAUTHORIZED:
            self._breaker.unauthorized()
        elif reason in _ABOUT_THE_RUN:
            self._breaker.succeeded()
        else:
            self._breaker.failed()
        return reason

    def _may_retry(self) -> bool:
        return self._breaker.state is not BreakerState.OPEN

    def noted(self, reason: Reason, problem: str) -> Reason:
        """Log the first failure of its kind; ``problem`` holds nothing of a run."""
        if reason not in self._logged:
            self._logged.add(reason)
            client = self._client
            _log.warning(
                "judge_call_failed",
                provider=client.provider,
                model=client.model,
                reason=reason.value,
                problem=problem,
            )
        return reason


def expected_of_ask(request: Ask) -> Usage:
    """Return what a request will roughly take, rather more than less."""
    schema = json.dumps(request.schema)
    prompt = sum(map(estimated_tokens, (request.system, request.prompt, schema)))
    return Usage(prompt, min(request.max_tokens, _ANSWER_TOKENS))


def expected_of_question(question: Question) -> Usage:
    """Return what a question will roughly take, rather more than less."""
    return Usage(estimated_tokens(question.system) + estimated_tokens(question.prompt), 1)

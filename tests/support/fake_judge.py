"""An LLM without a network, for tests of what asks it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from random import Random

from judge_behaviours import SOUND

from otel_raglog.clock import Clock
from otel_raglog.judge.asking import Asker, AskerConfig
from otel_raglog.judge.breaker import Breaker
from otel_raglog.judge.budget import Budget, BudgetLimits
from otel_raglog.judge.client import Ask, JudgeClient, Question, Reply, Usage, YesShare

USAGE = Usage(prompt_tokens=100, completion_tokens=10)
USD_PER_TOKEN = 0.00001
UNLIMITED = BudgetLimits(1_000.0, 1_000.0, 0)


def sound(request: Ask) -> Reply:
    """Return an answer by which the run has no fault, for a run with all graded stages or fewer."""
    return Reply(json.dumps(sound_fields(request)), USAGE)


def sound_fields(request: Ask) -> dict[str, object]:
    """Return the fields of :func:`sound`."""
    return {**SOUND[request.schema_name]}


class FakeJudge:
    """Answers by ``answer`` and ``share``, which may raise; keeps what it was asked."""

    provider = "fake"
    model = "fake-1"

    def __init__(
        self,
        answer: Callable[[Ask], Reply] = sound,
        share: Callable[[Question], YesShare] = lambda _: YesShare(0.25, USAGE),
    ) -> None:
        self.answer = answer
        self.share = share
        self.asked: list[Ask | Question] = []
        self.timeouts: list[float] = []
        self.closed = threading.Event()

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Answer a check."""
        self.timeouts.append(timeout_seconds)
        self.asked.append(request)
        return self.answer(request)

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:
        """Answer a question."""
        self.timeouts.append(timeout_seconds)
        self.asked.append(question)
        return self.share(question)

    def close(self) -> None:
        """Note it."""
        self.closed.set()


def price(usage: Usage) -> float | None:
    """Charge every token alike."""
    return usage.total * USD_PER_TOKEN


def make_asker(
    client: JudgeClient,
    clock: Clock,
    *,
    config: AskerConfig | None = None,
    budget: Budget | None = None,
    breaker: Breaker | None = None,
    pricing: Callable[[Usage], float | None] = price,
    pause: Callable[[threading.Event, float], bool] = threading.Event.wait,
) -> Asker:
    """Return an asker without limits; its nonces are numbered."""
    numbers = itertools.count(1)
    return Asker(
        client,
        config or AskerConfig(),
        budget or Budget(UNLIMITED, None, clock),
        breaker or Breaker(clock),
        clock,
        Random(1),
        lambda: f"{next(numbers):032x}",
        pricing,
        pause=pause,
    )

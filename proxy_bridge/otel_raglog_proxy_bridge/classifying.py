"""A call to what it is for, and to what can be read off it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Decider,
    Decision,
    Exchange,
    ReadCall,
    Reading,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What someone says a call is: the decision, and the reading where it is a stage."""

    decision: Decision
    reading: Reading | None = None


Teller = Callable[[Exchange, CallStage | None], Told | None]
"""Says what a call is, given the stage of the call before it; ``None`` when it cannot tell."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """Asks each teller in turn; the first that can tell decides."""

    tellers: Sequence[Teller]

    def classify(self, exchange: Exchange, before: CallStage | None = None) -> ReadCall:
        """Return ``exchange`` classified and read; nobody knowing, it is irrelevant."""
        for teller in self.tellers:
            told = teller(exchange, before)
            if told is not None:
                return ReadCall(exchange, told.decision, told.reading)
        nobody = Decision(
            CallStage.IRRELEVANT,
            Decider.NONE,
            "none",
            "no rule knows this call, and no LLM was asked",
        )
        return ReadCall(exchange, nobody)


def by_known_api(apis: Sequence[Api] = APIS) -> Teller:
    """Return the teller that knows the registered APIs."""

    def tell(exchange: Exchange, before: CallStage | None) -> Told | None:
        del before
        api = next((api for api in apis if api.recognises(exchange)), None)
        if api is None:
            return None
        decision = Decision(api.stage, Decider.RULE, api.name, api.rule)
        return Told(decision, None if api.read is None else api.read(exchange))

    return tell

"""Calls that no rule tells to what an LLM says of them: their stage, and how they are read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from otel_raglog_proxy_bridge.call_excerpts import Nonces, new_nonce, shown
from otel_raglog_proxy_bridge.mapped_reading import FIELDS
from otel_raglog_proxy_bridge.mappings import CallMapping, MappingError, Match, Origin, mapping_from
from otel_raglog_proxy_bridge.model import CallStage, Decider, Decision, Exchange

STAGES = (CallStage.EMBEDDER, CallStage.RETRIEVER, CallStage.RERANKER, CallStage.LLM)
"""In the order in which a pipeline has them, and in which they are asked about."""

MOST_ASKS = 12
"""Per operation, unless told otherwise: two calls of four questions and a mapping of two tries."""

_PROMPTS = Path(__file__).parent / "prompts"
_TRIES = 2
_MOST_TEMPLATES = 1_000


class Asker(Protocol):
    """Asks an LLM, within limits of its own. For all threads."""

    def ask(self, system: str, prompt: str, schema: dict[str, object]) -> dict[str, object] | None:
        """Return the reply, JSON by ``schema``; ``None`` when there is none. Never raises."""
        ...


def classify_by_llm(
    asker: Asker,
    exchange: Exchange,
    previous_stage: CallStage | None,
    *,
    nonces: Nonces = new_nonce,
) -> Decision | None:
    """Return the stage of a call: the first of which an LLM says yes, irrelevant when of none.

    Each stage is one question, with the stage of the call before it. ``None`` when a question was
    not answered before one was with yes.
    """
    system = f"{_prompt('common')}\n\n{_prompt('classify')}"
    for place, stage in enumerate(STAGES):
        nonce = nonces()
        question = (
            f"{_before(previous_stage)}\n\n{shown(exchange, nonce)}\n\n"
            f"## Your question\n{_prompt(f'is_{stage.value}')}"
        )
        reply = asker.ask(system, question, _YES_OR_NO)
        said = None if reply is None else reply.get("answer")
        if said == "yes":
            no = ", ".join(each.value for each in STAGES[:place])
            reason = f"an LLM says that it is a {stage.value}{f', and no {no}' if no else ''}"
            return Decision(stage, Decider.LLM, f"llm.{stage.value}", reason)
        if said != "no":
            return None
    reason = f"an LLM says that it is none of {', '.join(stage.value for stage in STAGES)}"
    return Decision(CallStage.IRRELEVANT, Decider.LLM, "llm.none", reason)


def map_by_llm(
    asker: Asker,
    exchange: Exchange,
    stage: CallStage,
    *,
    created: str,
    nonces: Nonces = new_nonce,
) -> CallMapping | None:
    """Return how calls like ``exchange`` are read, as an LLM says, once it has proved right.

    Only a mapping that finds on ``exchange`` itself all that the stage needs is accepted, and one
    without literals; what is wrong with the first answer is told once. Of an irrelevant call
    nothing is read: nobody is asked.
    """
    match = Match.of(exchange)
    if stage is CallStage.IRRELEVANT:
        reason = "an LLM says that it is no stage"
        return CallMapping(stage, match, {}, Origin.LLM, created, reason)
    system = "\n\n".join((_prompt("common"), _prompt("map"), _prompt(f"fields_{stage.value}")))
    schema = _object_of(FIELDS[stage], {"type": "string"})
    problem = ""
    for _ in range(_TRIES):
        nonce = nonces()
        again = f"\n\n## Your last reply was wrong\n{problem}. Reply again." if problem else ""
        reply = asker.ask(system, shown(exchange, nonce) + again, schema)
        if reply is None:
            return None
        try:
            mapping = mapping_from(
                {
                    "stage": stage.value,
                    "match": {"method": match.method, "host": match.host, "path": match.path},
                    "expressions": reply,
                    "origin": Origin.LLM.value,
                    "created": created,
                    "reason": f"an LLM wrote it for a {stage.value}",
                }
            )
            problem = mapping.lacks(exchange) or ""
        except MappingError as wrong:
            problem = str(wrong)
        else:
            if not problem:
                return mapping
    return None


@dataclass(slots=True)
class _Known:
    """What was asked about one operation. ``decisions`` are by the keys of the request."""

    asks: int = 0
    decisions: dict[tuple[str, ...], Decision] = field(default_factory=dict)


class TemplateAsker:
    """Asks about each operation (method, host, path template) a few times only. For all threads.

    A decision is remembered for all calls of the operation whose requests have the same keys.
    ``most_asks`` questions are put about one operation, whatever comes of them; of more than
    ``most_templates`` operations those that were met longest ago are forgotten, so they may be
    asked about again.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        most_asks: int = MOST_ASKS,
        most_templates: int = _MOST_TEMPLATES,
        nonces: Nonces = new_nonce,
    ) -> None:
        self._asker = asker
        self._most_asks = most_asks
        self._most_templates = most_templates
        self._nonces = nonces
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def decide(self, exchange: Exchange, previous_stage: CallStage | None) -> Decision | None:
        """Return what :func:`classify_by_llm` says, or said of a call like it."""
        known, shape = self._of(exchange), _shape(exchange)
        if shape in known.decisions:
            return known.decisions[shape]
        decision = classify_by_llm(
            self._counted(known), exchange, previous_stage, nonces=self._nonces
        )
        if decision is not None:
            with self._lock:
                known.decisions[shape] = decision
        return decision

    def map(self, exchange: Exchange, stage: CallStage, *, created: str) -> CallMapping | None:
        """Return what :func:`map_by_llm` says, as long as calls like it may be asked about."""
        return map_by_llm(
            self._counted(self._of(exchange)), exchange, stage, created=created, nonces=self._nonces
        )

    def _of(self, exchange: Exchange) -> _Known:
        name = str(Match.of(exchange))
        with self._lock:
            known = self._known.setdefault(name, _Known())
            self._known.move_to_end(name)
            while len(self._known) > self._most_templates:
                self._known.popitem(last=False)
            return known

    def _counted(self, known: _Known) -> Asker:
        return _Counted(self._asker, known, self._most_asks, self._lock)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Asks as long as an operation may be asked about."""

    asker: Asker
    known: _Known
    most: int
    lock: threading.Lock

    def ask(self, system: str, prompt: str, schema: dict[str, object]) -> dict[str, object] | None:
        with self.lock:
            if self.known.asks >= self.most:
                return None
            self.known.asks += 1
        return self.asker.ask(system, prompt, schema)


def _shape(exchange: Exchange) -> tuple[str, ...]:
    request = exchange.request
    keys = request if isinstance(request, Mapping) else ()
    return tuple(sorted(map(str, (*keys, *exchange.query))))


def _before(stage: CallStage | None) -> str:
    told = "not known" if stage is None else stage.value
    return f"The call before this one was: {told}."


def _object_of(keys: tuple[str, ...], value: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {key: dict(value) for key in keys},
        "required": list(keys),
        "additionalProperties": False,
    }


_YES_OR_NO = _object_of(("answer",), {"type": "string", "enum": ["yes", "no"]})


def _prompt(name: str) -> str:
    return (_PROMPTS / f"{name}.md").read_text("utf-8").strip()

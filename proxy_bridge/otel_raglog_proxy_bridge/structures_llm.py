"""The shape of language models: a prompt or a conversation in, one text that was generated out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from otel_raglog_proxy_bridge.formats.fields import at, mapping
from otel_raglog_proxy_bridge.model import CallStage, Exchange
from otel_raglog_proxy_bridge.shapes import Keys, Spot, is_text, joined, normal, objects_in, spots
from otel_raglog_proxy_bridge.structures import (
    CONTENTS,
    ROLES,
    SAMPLING,
    Structure,
    messages_in,
    model_in,
    samples,
)

_PROMPTS = ("prompt", "inputs", "instruction", "instructions", "userprompt", "message")
_TEXTS = ("input", "text", "question", "query", "userinput")
"""Names that a prompt may have, and other texts too."""
_SURE_ANSWERS = frozenset({"generatedtext", "completion", "outputtext", "generation"})
_ANSWERS = _SURE_ANSWERS | frozenset(
    {"text", "content", "response", "output", "answer", "reply", "message", "delta", "token",
     "outputs", "completions", "result"}
)  # fmt: skip
_FINISH = frozenset({"finishreason", "stopreason", "donereason", "stoppingreason"})
_PROMPT_TOKENS = (
    "prompttokens", "inputtokens", "inputtokencount", "prompttokencount", "promptevalcount",
    "tokensevaluated",
)  # fmt: skip
_COMPLETION_TOKENS = (
    "completiontokens", "outputtokens", "generatedtokencount", "generatedtokens", "evalcount",
    "outputtokencount", "candidatestokencount", "tokenspredicted",
)  # fmt: skip
_COUNTED = frozenset({*_PROMPT_TOKENS, *_COMPLETION_TOKENS})
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class _Said:
    """What an answer holds of a model: fields by expression, and what speaks for a model."""

    expressions: Mapping[str, str]
    signs: frozenset[str]
    """``sure``: the text is named as generated; ``finish``, ``tokens``: these are told, too."""


def tell_llm(exchange: Exchange) -> Structure | None:
    """Tell a language model. One that failed, or gave nothing, is told by its request alone."""
    conversation = messages_in(exchange)
    prompt = None if conversation else _prompt(exchange)
    asked = conversation or prompt
    if asked is None:
        return None
    tunes, named = samples(exchange), model_in(exchange)
    said = _said(exchange, asked)
    request = {
        "messages": _messages(exchange, asked) if conversation else asked.below("request"),
        **named,
        **_system(exchange),
        **_parameters(exchange),
    }
    if said is None:
        sure = conversation is not None and (tunes or "model" in named)
        if exchange.ok or not sure:
            return None
        return _structure(asked, "no answer", request, complete=False)
    signs = len(said.signs) + tunes
    known = bool(signs) or "model" in named if conversation else _is_enough(asked, said, signs)
    if not known:
        return None
    told = f"a text that was generated ({_place(said)})"
    expressions = {**request, **said.expressions}
    return _structure(asked, told, expressions, complete="answer" in said.expressions)


def _is_enough(prompt: Spot, said: _Said, signs: int) -> bool:
    """Tell whether a single text and its answer show a model: any service has text in, text out."""
    if "sure" in said.signs:
        return True
    if prompt.key in _PROMPTS:
        return signs > 0
    return bool(said.signs & {"finish", "tokens"})


def _structure(
    asked: Spot, answer: str, expressions: Mapping[str, str], *, complete: bool = True
) -> Structure:
    what = "a conversation" if isinstance(asked.value, list) else "a prompt"
    return Structure(
        CallStage.LLM,
        "structure.llm",
        f"{what} in ({asked.below('request')}), {answer} out",
        expressions,
        complete,
    )


def _place(said: _Said) -> str:
    return said.expressions.get("answer") or said.expressions.get("tool_calls", "")


# ----------------------------------------------------------------------------- the request


def _prompt(exchange: Exchange) -> Spot | None:
    found = [spot for spot in spots(exchange.request, depth=3) if is_text(spot.value) and spot.keys]
    for names in (_PROMPTS, _TEXTS):
        for spot in found:
            if spot.key in names:
                return spot
    return None


def _messages(exchange: Exchange, spot: Spot) -> str:
    """Return where the messages are; what a user says now may stand beside what was said before."""
    place, first = spot.below("request"), mapping(at(spot.value, 0))
    role = next((key for key in ROLES if key in first), ROLES[0])
    content = next((key for key in CONTENTS if key in first), CONTENTS[0])
    if role != ROLES[0] or content not in {"content", "text", "message", "parts"}:
        place = f"{place}[].{{role: {joined('', (role,))}, content: {content}}}"
    if "history" not in spot.key:
        return place
    now = _prompt(exchange)
    return place if now is None else f"[{place}, {now.below('request')}][]"


def _system(exchange: Exchange) -> dict[str, str]:
    for spot in spots(exchange.request, depth=2):
        if spot.key in {"system", "systemprompt", "systemmessage", "preamble"} and is_text(
            spot.value
        ):
            return {"system": spot.below("request")}
    return {}


def _parameters(exchange: Exchange) -> dict[str, str]:
    """Return the sampling parameters: the object that holds them, or those beside the prompt."""
    for spot in spots(exchange.request, depth=2):
        if not isinstance(spot.value, Mapping):
            continue
        keys = [key for key in spot.value if normal(str(key)) in SAMPLING]
        if keys and spot.keys:
            return {"parameters": spot.below("request")}
        plain = [key for key in keys if not isinstance(spot.value[key], Mapping)]
        if plain:
            fields = ", ".join(f"{joined('', (key,))}: {joined('', (key,))}" for key in plain)
            return {"parameters": f"request.{{{fields}}}"}
    return {}


# ------------------------------------------------------------------------------ the answer


def _said(exchange: Exchange, asked: Spot) -> _Said | None:
    if not exchange.ok:
        return None
    given = set(_all_texts(asked.value))
    if exchange.events:
        return _said_in_events(exchange.events)
    found = list(spots(exchange.response, depth=6, into_lists=True))
    expressions: dict[str, str] = {}
    answer = _answer(found, given)
    if answer is not None:
        expressions["answer"] = answer.below("response")
    calls = _tool_calls(found)
    if calls is not None:
        expressions["tool_calls"] = calls
    if not expressions:
        return None
    sure = {"sure"} if answer is not None and answer.key in _SURE_ANSWERS else set()
    return _Said({**expressions, **_about(found, "response")}, frozenset(sure) | _signs(found))


def _answer(found: Sequence[Spot], given: set[str]) -> Spot | None:
    """Return the shallowest text under an answer's name that is no echo of the request."""
    texts = [
        spot
        for spot in found
        if spot.key in _ANSWERS and is_text(spot.value) and spot.value not in given and spot.keys
    ]
    sure = [spot for spot in texts if spot.key in _SURE_ANSWERS]
    return next(iter(sure or texts), None)


def _tool_calls(found: Sequence[Spot]) -> str | None:
    for spot in found:
        objects = objects_in(spot.value)
        if spot.key not in {"toolcalls", "functioncalls"} or not objects:
            continue
        inner = ("function",) if isinstance(objects[0].get("function"), Mapping) else ()
        held = mapping(objects[0], *inner)
        if not isinstance(held.get("name"), str):
            continue
        given = next((key for key in ("arguments", "input", "parameters") if key in held), None)
        name = joined("", (*inner, "name"))
        arguments = f", arguments: {joined('', (*inner, given))}" if given else ""
        return f"{spot.below('response')}[].{{name: {name}{arguments}}}"
    return None


def _said_in_events(events: Sequence[object]) -> _Said | None:
    """Return the pieces of a streamed text: the place that most events have one at."""
    pieces: dict[Keys, list[str]] = {}
    seen: dict[Keys, Spot] = {}
    for event in events[:_MOST_EVENTS]:
        for spot in spots(event, depth=6, into_lists=True):
            if not spot.keys:
                continue
            seen.setdefault(spot.keys, spot)
            if spot.key in _ANSWERS and isinstance(spot.value, str) and spot.value:
                pieces.setdefault(spot.keys, []).append(spot.value)
    if not pieces:
        return None
    keys = max(pieces, key=lambda each: (len(pieces[each]), -len(each)))
    whole = _is_growing(pieces[keys])
    answer = joined("events[-1]" if whole else "events[]", keys)
    if any(isinstance(key, int) for key in keys) and not whole:
        answer = joined("events[*]", keys)
    found = list(seen.values())
    sure = {"sure"} if Spot(keys, None).key in _SURE_ANSWERS else set()
    return _Said({"answer": answer, **_about(found, "events[*]")}, frozenset(sure) | _signs(found))


def _is_growing(pieces: Sequence[str]) -> bool:
    """Tell whether each piece holds all before it, as some streams send them."""
    pairs = pairwise(pieces)
    return len(pieces) > 1 and all(later.startswith(earlier) for earlier, later in pairs)


def _about(found: Sequence[Spot], root: str) -> dict[str, str]:
    """Return where the reason for the end and the tokens are told."""
    named: dict[str, str] = {}
    for spot in found:
        if spot.key in _FINISH and isinstance(spot.value, str | None):
            named.setdefault("finish_reason", spot.below(root))
        elif isinstance(spot.value, int) and spot.key in _PROMPT_TOKENS:
            named.setdefault("prompt_tokens", spot.below(root))
        elif isinstance(spot.value, int) and spot.key in _COMPLETION_TOKENS:
            named.setdefault("completion_tokens", spot.below(root))
    return named


def _signs(found: Sequence[Spot]) -> frozenset[str]:
    keys = {spot.key for spot in found}
    finish = {"finish"} if keys & _FINISH else set()
    tokens = {"tokens"} if keys & _COUNTED else set()
    return frozenset(finish | tokens)


def _all_texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _all_texts(item)
    elif isinstance(data, Mapping):
        for item in data.values():
            yield from _all_texts(item)

"""What structural rules share: their result, the names of keys, and the queries of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from otel_raglog_proxy_bridge.model import CallStage, Exchange
from otel_raglog_proxy_bridge.shapes import Spot, is_text, is_vector, joined, normal, spots

QUERIES = frozenset(
    {"query", "q", "question", "search", "searchquery", "searchtext", "searchterm", "searchterms",
     "querytext", "querystring", "userquery", "keywords", "term"}
)  # fmt: skip
PROMPTS = frozenset({"text", "input", "prompt", "content", "message", "inputs"})
"""Names of texts that may be anything: a query among others."""
COUNTS = frozenset(
    {"k", "topk", "topn", "limit", "numresults", "nresults", "maxresults", "maxhits", "nprobes",
     "numhits"}
)  # fmt: skip
MODELS = frozenset({"model", "modelid", "modelname", "deployment", "engine"})
SAMPLING = frozenset(
    {"temperature", "topp", "maxtokens", "maxnewtokens", "maxoutputtokens", "maxcompletiontokens",
     "stop", "stopsequences", "npredict", "frequencypenalty", "presencepenalty",
     "repetitionpenalty", "generationconfig", "sampling", "samplingparams", "dosample"}
)  # fmt: skip
_CODE = ("{", "query ", "query{", "mutation ", "mutation{", "select ", "subscription ", "fragment ")
_LONGEST_QUERY = 8_000


@dataclass(frozen=True, slots=True)
class Structure:
    """What the shape of a call shows: the stage, by which rule, why, and where its fields are.

    ``complete`` is false where the answer was missing or empty, so that the expressions hold for
    this call only.
    """

    stage: CallStage
    rule: str
    reason: str
    expressions: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A text or a vector that a request asks with. ``strong``: it is named as a query."""

    expression: str
    value: object
    strong: bool = True


def queries(exchange: Exchange) -> Iterator[Asked]:
    """Yield the texts of a request that may be its query: those that are named so first."""
    found = [spot for spot in spots(exchange.request, depth=4) if is_query_text(spot.value)]
    for names in (QUERIES, PROMPTS):
        strong = names is QUERIES
        for spot in found:
            if spot.key in names and spot.keys:
                yield Asked(spot.below("request"), spot.value, strong)
        for key, value in exchange.query.items():
            if normal(key) in names and is_query_text(value):
                yield Asked(joined("query", (key,)), value, strong)


def vectors(exchange: Exchange) -> Iterator[Asked]:
    """Yield the one vector that a request asks with, if it is one."""
    for spot in spots(exchange.request, depth=5):
        value = spot.value
        if is_vector(value) and spot.keys:
            yield Asked(spot.below("request"), value)
        elif isinstance(value, list) and len(value) == 1 and is_vector(value[0]) and spot.keys:
            yield Asked(f"{spot.below('request')}[0]", value[0])


def result_count(exchange: Exchange) -> str | None:
    """Return where a request says how many results it wants."""
    for spot in spots(exchange.request, depth=3):
        if spot.key in COUNTS and isinstance(spot.value, int) and not isinstance(spot.value, bool):
            return spot.below("request")
    for key, value in exchange.query.items():
        if normal(key) in COUNTS and value.isdigit():
            return joined("query", (key,))
    return None


def model_in(exchange: Exchange) -> dict[str, str]:
    """Return the expression of the model's name, where there is one."""
    for root, data in (("request", exchange.request), ("response", exchange.response)):
        for spot in spots(data, depth=2):
            if spot.key in MODELS and isinstance(spot.value, str) and spot.keys:
                return {"model": spot.below(root)}
    return {}


def samples(exchange: Exchange) -> bool:
    """Tell whether a request says how a text is to be generated."""
    return any(spot.key in SAMPLING for spot in spots(exchange.request, depth=3))


def is_query_text(value: object) -> bool:
    """Tell whether a value is a text that one could search with: no code, not endless."""
    if not isinstance(value, str) or not is_text(value) or len(value) > _LONGEST_QUERY:
        return False
    return not value.lstrip().lower().startswith(_CODE)


def has_messages(exchange: Exchange) -> bool:
    """Tell whether a request holds a conversation."""
    return messages_in(exchange) is not None


def messages_in(exchange: Exchange) -> Spot | None:
    """Return the list of messages of a request: objects with a role and a content."""
    for spot in spots(exchange.request, depth=3):
        value = spot.value
        if isinstance(value, list) and value and all(map(is_message, value)) and spot.keys:
            return spot
    return None


ROLES = ("role", "author", "sender", "speaker", "from")
CONTENTS = ("content", "text", "message", "parts", "body")
_WHO = frozenset(
    {"user", "assistant", "system", "developer", "tool", "human", "ai", "bot", "model", "chatbot",
     "function", "agent"}
)  # fmt: skip


def is_message(item: object) -> bool:
    """Tell whether an item has a role that chat models know, and a content or calls of tools."""
    if not isinstance(item, Mapping):
        return False
    who = next((item[key] for key in ROLES if key in item), None)
    said = any(key in item for key in (*CONTENTS, "tool_calls"))
    return isinstance(who, str) and who.lower() in _WHO and said

"""Calls of unknown APIs to their stage by the shape of request and answer alone, with a mapping."""

from __future__ import annotations

from otel_raglog_proxy_bridge.housekeeping import certain, likely
from otel_raglog_proxy_bridge.mappings import CallMapping, Match, Origin
from otel_raglog_proxy_bridge.model import CallStage, Exchange, Reading
from otel_raglog_proxy_bridge.structures import Structure
from otel_raglog_proxy_bridge.structures_llm import tell_llm
from otel_raglog_proxy_bridge.structures_search import tell_retriever
from otel_raglog_proxy_bridge.structures_vectors import tell_embedder, tell_reranker

__all__ = ["Structure", "mapping_of", "read_by", "tell"]

_RULES = (tell_embedder, tell_reranker, tell_retriever, tell_llm)


def tell(exchange: Exchange) -> Structure | None:
    """Return what the shape of a call shows it to be; ``None`` when it shows too little.

    Rather nothing than a wrong stage: a list of records is no retriever's answer unless a query
    was given and passages came back. Never raises.
    """
    surely_none = certain(exchange)
    if surely_none is not None:
        return _irrelevant(*surely_none)
    if not exchange.call.cut:
        for rule in _RULES:
            found = rule(exchange)
            if found is not None:
                return found
    none = likely(exchange)
    return None if none is None else _irrelevant(*none)


def mapping_of(exchange: Exchange, structure: Structure, *, created: str) -> CallMapping | None:
    """Return the mapping to store; ``None`` where the call showed too little of it, or is no stage.

    An irrelevant call is told by its rule again, at no cost.
    """
    if structure.stage is CallStage.IRRELEVANT or not structure.complete:
        return None
    return _mapping(exchange, structure, created)


def read_by(exchange: Exchange, structure: Structure) -> Reading | None:
    """Return what can be read of the call itself, ``None`` where it is no stage.

    Raises:
        MappingError: JMESPath is not installed.
    """
    return _mapping(exchange, structure, "").read(exchange)


def _mapping(exchange: Exchange, structure: Structure, created: str) -> CallMapping:
    return CallMapping(
        stage=structure.stage,
        match=Match.of(exchange),
        expressions=structure.expressions,
        origin=Origin.STRUCTURE,
        created=created,
        reason=structure.reason,
    )


def _irrelevant(rule: str, reason: str) -> Structure:
    return Structure(CallStage.IRRELEVANT, f"structure.{rule}", reason)

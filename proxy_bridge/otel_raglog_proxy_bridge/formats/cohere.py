"""Cohere's API, both versions, also behind gateways: embeddings, reranker, chat and generation."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import are_messages
from otel_raglog_proxy_bridge.formats.cohere_chat import (
    read_chat_v1,
    read_chat_v2,
    read_generate,
    read_summary,
)
from otel_raglog_proxy_bridge.formats.embed_parts import paired, text_of, vectors_by_type
from otel_raglog_proxy_bridge.formats.fields import at, count, items, mapping, text, texts
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.rank_parts import is_ranking, read_ranking
from otel_raglog_proxy_bridge.formats.search_routes import on_host
from otel_raglog_proxy_bridge.model import Api, CallStage, EmbedderReading, Exchange

_HOSTS = ("cohere.com", "cohere.ai", "cohere.azure.com")
_ASKED = frozenset(
    {
        "model",
        "stream",
        "chat_history",
        "preamble",
        "connectors",
        "max_tokens",
        "num_generations",
        "k",
        "p",
    }
)
_ANSWERED = frozenset({"generation_id", "event_type", "generations", "finish_reason"})
_MODEL_OPERATIONS = ("completions", "embeddings", "responses")


def _is_cohere(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) or "cohere" in exchange.segments


def _asks(exchange: Exchange, operation: str, version: str) -> bool:
    """Return whether the path ends in ``operation`` of Cohere's.

    At other hosts it has the version before it, and one of the bodies has what Cohere's have:
    anybody's chat may have a path like that.
    """
    if not posts(exchange, operation):
        return False
    if _is_cohere(exchange):
        return True
    answer = exchange.events[0] if exchange.events else exchange.response
    return ends(exchange, version, operation) and not (
        _ASKED.isdisjoint(mapping(exchange.request)) and _ANSWERED.isdisjoint(mapping(answer))
    )


def _is_embed(exchange: Exchange) -> bool:
    request = mapping(exchange.request)
    given = any(isinstance(at(request, key), list) for key in ("texts", "inputs", "images"))
    return (
        posts(exchange, "embed")
        and given
        and ("input_type" in request or "texts" in request or _is_cohere(exchange))
    )


def read_embed(exchange: Exchange) -> EmbedderReading:
    """Return what a call of ``embed`` says; inputs that are pictures alone have an empty text."""
    request = exchange.request
    inputs = texts(request, "texts") or tuple(text_of(item) for item in items(request, "inputs"))
    return EmbedderReading(
        model=text(request, "model"),
        inputs=inputs,
        vectors=paired(inputs, vectors_by_type(at(exchange.response, "embeddings"))),
        tokens=count(exchange.response, "meta", "billed_units", "input_tokens"),
        purpose=purpose_of(text(request, "input_type")),
    )


def _is_rerank(exchange: Exchange) -> bool:
    return _is_cohere(exchange) and posts(exchange, "rerank") and is_ranking(exchange.request)


def _is_chat_v1(exchange: Exchange) -> bool:
    return _asks(exchange, "chat", "v1") and text(exchange.request, "message") is not None


def _is_chat_v2(exchange: Exchange) -> bool:
    return _asks(exchange, "chat", "v2") and are_messages(at(exchange.request, "messages"))


def _is_generate(exchange: Exchange) -> bool:
    return _asks(exchange, "generate", "v1") and text(exchange.request, "prompt") is not None


def _is_summarize(exchange: Exchange) -> bool:
    return (
        _is_cohere(exchange)
        and posts(exchange, "summarize")
        and text(exchange.request, "text") is not None
    )


def _is_other(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) and exchange.segments[-1:] not in {
        (operation,) for operation in _MODEL_OPERATIONS
    }


APIS: tuple[Api, ...] = (
    Api(
        "cohere.embed",
        CallStage.EMBEDDER,
        "POST …/embed with texts, or inputs and an input_type",
        _is_embed,
        read_embed,
    ),
    Api(
        "cohere.rerank",
        CallStage.RERANKER,
        "POST …/rerank with a query and documents at Cohere's host",
        _is_rerank,
        read_ranking,
    ),
    Api(
        "cohere.chat_v1",
        CallStage.LLM,
        "POST …/v1/chat with a message",
        _is_chat_v1,
        read_chat_v1,
    ),
    Api(
        "cohere.chat_v2",
        CallStage.LLM,
        "POST …/v2/chat with messages",
        _is_chat_v2,
        read_chat_v2,
    ),
    Api(
        "cohere.generate",
        CallStage.LLM,
        "POST …/v1/generate with a prompt",
        _is_generate,
        read_generate,
    ),
    Api(
        "cohere.summarize",
        CallStage.LLM,
        "POST …/summarize with a text at Cohere's host",
        _is_summarize,
        read_summary,
    ),
    Api(
        "cohere.other",
        CallStage.IRRELEVANT,
        "tokens, models, datasets, jobs and all else at Cohere's host",
        _is_other,
    ),
)

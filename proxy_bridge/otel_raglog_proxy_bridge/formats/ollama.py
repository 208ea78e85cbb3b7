"""Ollama's own API: chat, generate and embeddings, whole or as JSON lines."""

from __future__ import annotations

from itertools import pairwise

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import (
    chosen,
    openai_messages,
    openai_tool_calls,
)
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    count,
    items,
    mapping,
    text,
    texts,
    vector,
)
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    EmbedderReading,
    Exchange,
    LlmReading,
)

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "num_predict", "num_ctx", "stop", "seed")
_HOUSEKEEPING = frozenset(
    {"tags", "show", "pull", "push", "ps", "version", "create", "copy", "delete", "blobs"}
)


def _answers(exchange: Exchange) -> tuple[object, ...]:
    return exchange.events or (exchange.response,)


def _is_chat(exchange: Exchange) -> bool:
    if not posts(exchange, "api", "chat"):
        return False
    if exchange.request is None:
        return any(
            at(one, "done") is not None and mapping(one, "message") for one in _answers(exchange)
        )
    request = exchange.request
    return bool(items(request, "messages")) and text(request, "model") is not None


def _read_chat(exchange: Exchange) -> LlmReading:
    answers = _answers(exchange)
    return _reading(
        exchange,
        openai_messages(items(exchange.request, "messages")),
        "".join(text(one, "message", "content") or "" for one in answers),
        {"tool_calls": [call for one in answers for call in items(one, "message", "tool_calls")]},
    )


def _is_generate(exchange: Exchange) -> bool:
    if not posts(exchange, "api", "generate"):
        return False
    if exchange.request is None:
        return any(text(one, "response") is not None for one in _answers(exchange))
    return text(exchange.request, "model") is not None and bool(text(exchange.request, "prompt"))


def _read_generate(exchange: Exchange) -> LlmReading:
    system, prompt = text(exchange.request, "system"), text(exchange.request, "prompt")
    said = (("system", system), ("user", prompt))
    return _reading(
        exchange,
        tuple(ChatMessage(role, content) for role, content in said if content),
        "".join(text(one, "response") or "" for one in _answers(exchange)),
        {},
    )


def _reading(
    exchange: Exchange, messages: tuple[ChatMessage, ...], answer: str, message: Json
) -> LlmReading:
    last = _answers(exchange)[-1]
    return LlmReading(
        model=text(exchange.request, "model"),
        messages=messages,
        answer=answer or None,
        tool_calls=openai_tool_calls(message),
        finish_reason=text(last, "done_reason"),
        prompt_tokens=count(last, "prompt_eval_count"),
        completion_tokens=count(last, "eval_count"),
        parameters=chosen(at(exchange.request, "options"), _SAMPLING),
    )


# ------------------------------------------------------------------------------- embeddings


def _is_embed(exchange: Exchange) -> bool:
    request = exchange.request
    named = text(request, "model") is not None
    return posts(exchange, "api", "embed") and named and at(request, "input") is not None


def _is_embeddings(exchange: Exchange) -> bool:
    return posts(exchange, "api", "embeddings") and text(exchange.request, "prompt") is not None


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    request, response = exchange.request, exchange.response
    found = [vector(one) for one in items(response, "embeddings")]
    if at(response, "embedding") is not None:
        found.append(vector(response, "embedding"))
    return EmbedderReading(
        model=text(request, "model"),
        inputs=texts(request, "input") or texts(request, "prompt"),
        vectors=complete(found),
        tokens=count(response, "prompt_eval_count"),
    )


# ------------------------------------------------------------------------------- housekeeping


def _is_housekeeping(exchange: Exchange) -> bool:
    """Models listed, fetched and loaded; a model is loaded by generating from nothing."""
    segments = exchange.segments
    if posts(exchange, "api", "generate"):
        return text(exchange.request, "model") is not None and not text(exchange.request, "prompt")
    if posts(exchange, "api", "chat"):
        return text(exchange.request, "model") is not None and not items(
            exchange.request, "messages"
        )
    return any(
        before == "api" and named in _HOUSEKEEPING
        for before, named in pairwise(segments)
        if ends(exchange, named) or named == "blobs"
    )


APIS = (
    Api(
        "ollama.chat",
        CallStage.LLM,
        "POST …/api/chat with a model and messages",
        _is_chat,
        _read_chat,
    ),
    Api(
        "ollama.generate",
        CallStage.LLM,
        "POST …/api/generate with a model and a prompt",
        _is_generate,
        _read_generate,
    ),
    Api(
        "ollama.embed",
        CallStage.EMBEDDER,
        "POST …/api/embed with a model and an input",
        _is_embed,
        _read_embeddings,
    ),
    Api(
        "ollama.embeddings",
        CallStage.EMBEDDER,
        "POST …/api/embeddings with a prompt",
        _is_embeddings,
        _read_embeddings,
    ),
    Api(
        "ollama.housekeeping",
        CallStage.IRRELEVANT,
        "…/api/tags, show, pull and the like, …/api/generate without a prompt, chat without messages",
        _is_housekeeping,
    ),
)

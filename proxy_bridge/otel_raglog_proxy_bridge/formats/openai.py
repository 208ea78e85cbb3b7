"""OpenAI's API, and that of the many servers that speak it, Azure's included."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.chat_parts import openai_messages, openai_tool_calls
from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    items,
    mappings,
    text,
    texts,
    vector,
)
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    EmbedderReading,
    Exchange,
    LlmReading,
)

_SAMPLING = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "n", "seed")


def _model(exchange: Exchange) -> str | None:
    """Return the model asked for; Azure names a deployment in the path instead."""
    segments = exchange.segments
    named = text(exchange.request, "model")
    if named or "deployments" not in segments[:-1]:
        return named
    return segments[segments.index("deployments") + 1]


def _is_embeddings(exchange: Exchange) -> bool:
    return (
        exchange.call.method == "POST"
        and exchange.segments[-1:] == ("embeddings",)
        and at(exchange.request, "input") is not None
    )


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    vectors = [vector(item, "embedding") for item in mappings(exchange.response, "data")]
    return EmbedderReading(
        model=_model(exchange),
        inputs=texts(exchange.request, "input"),
        vectors=tuple(found for found in vectors if found is not None),
        tokens=count(exchange.response, "usage", "prompt_tokens"),
    )


def _is_chat(exchange: Exchange) -> bool:
    return (
        exchange.call.method == "POST"
        and exchange.segments[-2:] == ("chat", "completions")
        and isinstance(at(exchange.request, "messages"), list)
    )


def _read_chat(exchange: Exchange) -> LlmReading:
    message = at(exchange.response, "choices", 0, "message")
    return LlmReading(
        model=_model(exchange),
        messages=openai_messages(items(exchange.request, "messages")),
        answer=text(message, "content"),
        tool_calls=openai_tool_calls(message),
        finish_reason=text(exchange.response, "choices", 0, "finish_reason"),
        prompt_tokens=count(exchange.response, "usage", "prompt_tokens"),
        completion_tokens=count(exchange.response, "usage", "completion_tokens"),
        parameters={
            key: at(exchange.request, key)
            for key in _SAMPLING
            if at(exchange.request, key) is not None
        },
    )


APIS = (
    Api(
        "openai.chat",
        CallStage.LLM,
        "POST …/chat/completions with messages",
        _is_chat,
        _read_chat,
    ),
    Api(
        "openai.embeddings",
        CallStage.EMBEDDER,
        "POST …/embeddings with an input",
        _is_embeddings,
        _read_embeddings,
    ),
)

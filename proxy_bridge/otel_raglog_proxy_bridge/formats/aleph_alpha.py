"""Aleph Alpha's API: complete and semantic embeddings."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen
from otel_raglog_proxy_bridge.formats.fields import at, count, items, mappings, text, vector
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    EmbedderReading,
    Exchange,
    LlmReading,
)

_SAMPLING = ("temperature", "top_p", "top_k", "maximum_tokens", "stop_sequences", "n")


def _prompts(data: object) -> tuple[str, ...]:
    """Return the text of a prompt: a text, or the text items of a multimodal one."""
    if isinstance(data, str):
        return (data,)
    found = (text(item, "data") for item in mappings(data) if text(item, "type") == "text")
    whole = "\n".join(one for one in found if one)
    return (whole,) if whole else ()


def _is_complete(exchange: Exchange) -> bool:
    return posts(exchange, "complete") and (
        at(exchange.request, "maximum_tokens") is not None
        or isinstance(at(exchange.response, "completions"), list)
    )


def _read_complete(exchange: Exchange) -> LlmReading:
    response = exchange.response
    return LlmReading(
        model=text(exchange.request, "model"),
        messages=tuple(
            ChatMessage("user", prompt) for prompt in _prompts(at(exchange.request, "prompt"))
        ),
        answer=text(response, "completions", 0, "completion") or None,
        finish_reason=text(response, "completions", 0, "finish_reason"),
        prompt_tokens=count(response, "num_tokens_prompt_total"),
        completion_tokens=count(response, "num_tokens_generated"),
        parameters=chosen(exchange.request, _SAMPLING),
    )


def _is_embed(exchange: Exchange) -> bool:
    return posts(exchange) and (
        ends(exchange, "semantic_embed") or ends(exchange, "batch_semantic_embed")
    )


def _read_embed(exchange: Exchange) -> EmbedderReading:
    request, response = exchange.request, exchange.response
    asked = [at(request, "prompt"), *items(request, "prompts")]
    one = vector(response, "embedding")
    found = [vector(item) for item in items(response, "embeddings")] if one is None else [one]
    return EmbedderReading(
        model=text(request, "model"),
        inputs=tuple(prompt for data in asked for prompt in _prompts(data)),
        vectors=complete(found),
        tokens=count(response, "num_tokens_prompt_total"),
        purpose=purpose_of(text(request, "representation")),
    )


APIS = (
    Api(
        "aleph_alpha.complete",
        CallStage.LLM,
        "POST …/complete with maximum_tokens, or answered by completions",
        _is_complete,
        _read_complete,
    ),
    Api(
        "aleph_alpha.semantic_embed",
        CallStage.EMBEDDER,
        "POST …/semantic_embed",
        _is_embed,
        _read_embed,
    ),
)

"""Bodies of models invoked on Amazon Bedrock, each maker's own, to what was asked and answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from otel_raglog_proxy_bridge.formats.anthropic import messages_reading
from otel_raglog_proxy_bridge.formats.bedrock_converse import converse_reading
from otel_raglog_proxy_bridge.formats.chat_parts import (
    chosen,
    content_of,
    openai_messages,
    openai_tool_calls,
    said,
)
from otel_raglog_proxy_bridge.formats.cohere import read_embed
from otel_raglog_proxy_bridge.formats.cohere_chat import read_chat_v1
from otel_raglog_proxy_bridge.formats.embed_parts import paired, vectors_by_type
from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    items,
    mapping,
    mappings,
    text,
    vector,
)
from otel_raglog_proxy_bridge.formats.openai_chunks import completion_of
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.streams import events_in
from otel_raglog_proxy_bridge.model import (
    CallStage,
    ChatMessage,
    EmbedderReading,
    Exchange,
    LlmReading,
)

Path = tuple[str | int, ...]

_PROMPTS: Sequence[Path] = (("prompt",), ("inputText",), ("inputs",))
_TEXTS: Sequence[Path] = (
    ("completion",),  # Claude before its messages
    ("generation",),  # Llama
    ("results", 0, "outputText"),  # Titan
    ("outputText",),  # Titan, streamed
    ("outputs", 0, "text"),  # Mistral
    ("generations", 0, "text"),  # Cohere
    ("completions", 0, "data", "text"),  # AI21's Jurassic
    ("choices", 0, "text"),  # DeepSeek
    ("generated_text",),
    ("text",),  # Cohere, streamed
)
_FINISHES: Sequence[Path] = (
    ("stop_reason",),
    ("results", 0, "completionReason"),
    ("completionReason",),
    ("outputs", 0, "stop_reason"),
    ("generations", 0, "finish_reason"),
    ("completions", 0, "finishReason", "reason"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "stop_reason"),
    ("finish_reason",),
)
_METRICS = "amazon-bedrock-invocationMetrics"
_PROMPT_TOKENS: Sequence[Path] = (
    (_METRICS, "inputTokenCount"),
    ("prompt_token_count",),
    ("inputTextTokenCount",),
    ("usage", "prompt_tokens"),
)
_COMPLETION_TOKENS: Sequence[Path] = (
    (_METRICS, "outputTokenCount"),
    ("generation_token_count",),
    ("results", 0, "tokenCount"),
    ("totalOutputTextTokenCount",),
    ("usage", "completion_tokens"),
)
_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "p",
    "k",
    "topP",
    "max_tokens",
    "max_tokens_to_sample",
    "max_gen_len",
    "maxTokens",
    "maxTokenCount",
    "stop",
    "stop_sequences",
    "stopSequences",
)


def stage_of(model: str, request: object, response: object) -> CallStage:
    """Return what an invoked model does, by its id, else by the bodies.

    Ids of provisioned, imported and otherwise named models do not tell what they are.
    """
    low, told = model.lower(), mapping(request)
    if "embed" in low or items(request, "texts") or "singleEmbeddingParams" in told:
        return CallStage.EMBEDDER
    if "rerank" in low or (text(request, "query") is not None and items(request, "documents")):
        return CallStage.RERANKER
    if _is_titan_embedding(request, response):
        return CallStage.EMBEDDER
    asks = isinstance(at(request, "messages"), list) or text(request, "message") is not None
    prompted = any(text(request, *path) is not None for path in _PROMPTS)
    if (asks or prompted) and not _makes_images(low, request):
        return CallStage.LLM
    return CallStage.IRRELEVANT


def _is_titan_embedding(request: object, response: object) -> bool:
    told = mapping(request)
    if "textGenerationConfig" in told or "inputText" not in told:
        return False
    answer = mapping(response)
    asked = {"dimensions", "normalize", "embeddingTypes", "embeddingConfig"}.intersection(told)
    return bool(asked) or "embedding" in answer or "embeddingsByType" in answer


def _makes_images(model: str, request: object) -> bool:
    return any(maker in model for maker in ("stability.", "canvas", "reel", "image", "luma.")) or (
        "taskType" in mapping(request)
    )


# ------------------------------------------------------------------------------- embeddings


def read_embedding(exchange: Exchange, model: str) -> EmbedderReading:
    """Return what an embedding model was given and gave: Titan's, Nova's or Cohere's shape."""
    request, response = exchange.request, exchange.response
    if items(request, "texts") or items(request, "inputs") or items(request, "images"):
        return dataclasses.replace(read_embed(exchange), model=model)
    nova = mapping(request, "singleEmbeddingParams") or mapping(request, "segmentedEmbeddingParams")
    given = text(nova, "text", "value") if nova else text(request, "inputText")
    inputs = () if given is None else (given,)
    found = (
        vector(response, "embedding")
        or vector(response, "embeddings", 0, "embedding")
        or next(iter(vectors_by_type(_listed(mapping(response, "embeddingsByType")))), None)
    )
    said_purpose = text(nova, "embeddingPurpose")
    return EmbedderReading(
        model=model,
        inputs=inputs,
        vectors=paired(inputs, [found]),
        tokens=count(response, "inputTextTokenCount"),
        purpose="document" if said_purpose == "GENERIC_INDEX" else _nova_purpose(said_purpose),
    )


def _nova_purpose(purpose: str | None) -> str | None:
    """Return ``query`` for the purposes of searching, which all name a retrieval."""
    return "query" if purpose and "RETRIEVAL" in purpose else purpose_of(purpose)


def _listed(by_type: Mapping[str, object]) -> Mapping[str, object]:
    return {kind: [found] for kind, found in by_type.items()}


# ------------------------------------------------------------------------------------- text


def read_text(exchange: Exchange, model: str) -> LlmReading:
    """Return what a text model was told and said, in the shape of its maker."""
    request = exchange.request
    if isinstance(at(request, "messages"), list):
        return _read_messages(exchange, model)
    if text(request, "message") is not None:
        return dataclasses.replace(read_chat_v1(exchange), model=model)
    return _read_prompt(exchange, model)


def _read_messages(exchange: Exchange, model: str) -> LlmReading:
    request = exchange.request
    if "anthropic_version" in mapping(request) or "anthropic" in model or "claude" in model:
        return messages_reading(exchange, model)
    blocks = [part for item in mappings(request, "messages") for part in items(item, "content")]
    if "output" in mapping(exchange.response) or any(
        isinstance(part, Mapping) and "type" not in part for part in blocks
    ):
        return converse_reading(exchange, model)  # Nova's bodies are those of Converse
    system = content_of(at(request, "system"))
    message = at(completion_of(exchange), "choices", 0, "message")
    events = events_in(exchange)
    told = openai_messages(at(request, "messages"))
    return LlmReading(
        model=model,
        messages=(ChatMessage("system", system), *told) if system else told,
        answer=said(at(message, "content")),
        tool_calls=openai_tool_calls(message),
        finish_reason=_last_text(events, _FINISHES),
        prompt_tokens=_last_count(events, _PROMPT_TOKENS),
        completion_tokens=_last_count(events, _COMPLETION_TOKENS),
        parameters=_parameters(request),
    )


def _read_prompt(exchange: Exchange, model: str) -> LlmReading:
    request, events = exchange.request, events_in(exchange)
    prompt = next((found for path in _PROMPTS if (found := text(request, *path))), None)
    pieces = (next((said for p in _TEXTS if (said := text(e, *p)) is not None), "") for e in events)
    return LlmReading(
        model=model,
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer="".join(pieces) or None,
        finish_reason=_last_text(events, _FINISHES),
        prompt_tokens=_last_count(events, _PROMPT_TOKENS),
        completion_tokens=_last_count(events, _COMPLETION_TOKENS),
        parameters=_parameters(request),
    )


def _parameters(request: object) -> Mapping[str, object]:
    return {
        **chosen(request, _SAMPLING),
        **chosen(mapping(request, "textGenerationConfig"), _SAMPLING),
    }


def _last_text(events: Sequence[object], paths: Sequence[Path]) -> str | None:
    found = [said for event in events for path in paths if (said := text(event, *path))]
    return found[-1] if found else None


def _last_count(events: Sequence[object], paths: Sequence[Path]) -> int | None:
    """Return the last count told; where an event tells several, the first of ``paths``."""
    for event in reversed(events):
        for path in paths:
            found = count(event, *path)
            if found is not None:
                return found
    return None

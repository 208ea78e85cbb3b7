"""IBM's watsonx.ai: generation, chat, embeddings and rerank, by model or by deployment."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after, ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen
from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    mappings,
    number,
    text,
    texts,
    vector,
)
from otel_raglog_proxy_bridge.formats.openai import chat_reading
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    Ranked,
    RerankerReading,
)

_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "max_new_tokens",
    "min_new_tokens",
    "decoding_method",
    "stop_sequences",
    "random_seed",
    "repetition_penalty",
)
_GENERATIONS = (
    ("generation", "text"),
    ("generation", "text_stream"),
    ("text", "generation"),
    ("text", "generation_stream"),
)


def _model(exchange: Exchange) -> str | None:
    return text(exchange.request, "model_id") or after(exchange, "deployments")


def _is_generation(exchange: Exchange) -> bool:
    return posts(exchange) and any(ends(exchange, *tail) for tail in _GENERATIONS)


def _read_generation(exchange: Exchange) -> LlmReading:
    prompt = text(exchange.request, "input")
    results = [
        result
        for answer in exchange.events or (exchange.response,)
        for result in list(mappings(answer, "results"))[:1]
    ]
    read = [count(result, "input_token_count") for result in results]
    written = [count(result, "generated_token_count") for result in results]
    return LlmReading(
        model=_model(exchange),
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer="".join(text(result, "generated_text") or "" for result in results) or None,
        finish_reason=text(results[-1], "stop_reason") if results else None,
        # A stream counts its prompt once and its answer up to each event.
        prompt_tokens=max((one for one in read if one is not None), default=None),
        completion_tokens=max((one for one in written if one is not None), default=None),
        parameters=chosen(at(exchange.request, "parameters"), _SAMPLING),
    )


def _is_chat(exchange: Exchange) -> bool:
    return posts(exchange) and (
        ends(exchange, "text", "chat") or ends(exchange, "text", "chat_stream")
    )


def _read_chat(exchange: Exchange) -> LlmReading:
    return chat_reading(exchange, _model(exchange))


def _is_embeddings(exchange: Exchange) -> bool:
    return posts(exchange, "text", "embeddings") and at(exchange.request, "inputs") is not None


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    return EmbedderReading(
        model=_model(exchange),
        inputs=texts(exchange.request, "inputs"),
        vectors=complete(
            vector(result, "embedding") for result in mappings(exchange.response, "results")
        ),
        tokens=count(exchange.response, "input_token_count"),
    )


def _is_rerank(exchange: Exchange) -> bool:
    return posts(exchange, "text", "rerank")


def _read_rerank(exchange: Exchange) -> RerankerReading:
    return RerankerReading(
        model=_model(exchange),
        query=text(exchange.request, "query"),
        documents=tuple(
            Document(text=text(one, "text")) for one in mappings(exchange.request, "inputs")
        ),
        results=tuple(
            Ranked(
                index=count(result, "index"),
                score=number(result, "score"),
                text=text(result, "input", "text"),
            )
            for result in mappings(exchange.response, "results")
        ),
        top_n=count(exchange.request, "parameters", "return_options", "top_n"),
    )


def _is_housekeeping(exchange: Exchange) -> bool:
    segments = exchange.segments
    watsonx = segments[:1] == ("ml",)
    if posts(exchange):
        return ends(exchange, "identity", "token") or (
            watsonx and (ends(exchange, "text", "tokenization") or "jobs" in segments)
        )
    ibm = exchange.host.endswith(".cloud.ibm.com")
    return watsonx or (ibm and segments[:1] in {("v2",), ("identity",)})


APIS = (
    Api(
        "watsonx.generation",
        CallStage.LLM,
        "POST …/text/generation or …/generation/text, streamed or not",
        _is_generation,
        _read_generation,
    ),
    Api("watsonx.chat", CallStage.LLM, "POST …/text/chat, streamed or not", _is_chat, _read_chat),
    Api(
        "watsonx.embeddings",
        CallStage.EMBEDDER,
        "POST …/text/embeddings with inputs",
        _is_embeddings,
        _read_embeddings,
    ),
    Api("watsonx.rerank", CallStage.RERANKER, "POST …/text/rerank", _is_rerank, _read_rerank),
    Api(
        "watsonx.housekeeping",
        CallStage.IRRELEVANT,
        "models, instances, projects, spaces, tokens and token counts of IBM's cloud",
        _is_housekeeping,
    ),
)

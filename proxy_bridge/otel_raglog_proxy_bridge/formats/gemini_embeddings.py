"""Google's embeddings, by the Gemini API and by Vertex AI's predictions."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import operation, posts
from otel_raglog_proxy_bridge.formats.fields import at, count, items, mappings, text, vector
from otel_raglog_proxy_bridge.formats.gemini import either, listed, parts_text
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import Api, CallStage, EmbedderReading, Exchange


def _is_embed(exchange: Exchange) -> bool:
    return posts(exchange) and operation(exchange)[1] in {"embedContent", "batchEmbedContents"}


def _read_embed(exchange: Exchange) -> EmbedderReading:
    request, response = exchange.request, exchange.response
    asked = [*mappings(request, "requests")] or listed(request)
    answered = [at(response, "embedding"), *items(response, "embeddings")]
    purposes = [
        text({"word": either(one, "taskType")}, "word")
        or text({"word": either(at(one, "embedContentConfig"), "taskType")}, "word")
        for one in asked
    ]
    return EmbedderReading(
        model=operation(exchange)[0] or None,
        inputs=tuple(parts_text(at(one, "content")) for one in asked if at(one, "content")),
        vectors=complete(vector(one, "values") for one in answered if one is not None),
        tokens=count(response, "usageMetadata", "promptTokenCount"),
        purpose=purpose_of(*purposes),
    )


def _is_predict(exchange: Exchange) -> bool:
    first = at(exchange.request, "instances", 0)
    return (
        posts(exchange)
        and operation(exchange)[1] == "predict"
        and (text(first, "content") is not None or "embedding" in operation(exchange)[0])
    )


def _read_predict(exchange: Exchange) -> EmbedderReading:
    asked = list(mappings(exchange.request, "instances"))
    answered = [at(one, "embeddings") for one in mappings(exchange.response, "predictions")]
    tokens = [count(one, "statistics", "token_count") for one in answered]
    counted = [one for one in tokens if one is not None]
    return EmbedderReading(
        model=operation(exchange)[0] or None,
        inputs=tuple(found for one in asked if (found := text(one, "content")) is not None),
        vectors=complete(vector(one, "values") for one in answered),
        tokens=sum(counted) if counted else None,
        purpose=purpose_of(*(text({"word": either(one, "taskType")}, "word") for one in asked)),
    )


APIS = (
    Api(
        "gemini.embed_content",
        CallStage.EMBEDDER,
        "POST …:embedContent or …:batchEmbedContents",
        _is_embed,
        _read_embed,
    ),
    Api(
        "vertex.embeddings",
        CallStage.EMBEDDER,
        "POST …:predict with instances that have a content, or of an embedding model",
        _is_predict,
        _read_predict,
    ),
)

"""Google's embeddings, by the Gemini API and by Vertex AI's predictions."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import operation, posts
from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    items,
    mapping,
    mappings,
    text,
    vector,
)
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
    """Tell an embedding model by its name, or by the bodies: other models take a content, too."""
    if not posts(exchange) or operation(exchange)[1] != "predict":
        return False
    first, answered = at(exchange.request, "instances", 0), at(exchange.response, "predictions", 0)
    if "embedding" in operation(exchange)[0]:
        return True
    if text(first, "content") is None:
        return False
    published = "publishers" in exchange.segments or either(first, "taskType") is not None
    return bool(mapping(answered, "embeddings")) or (answered is None and published)


def _read_predict(exchange: Exchange) -> EmbedderReading:
    asked = list(mappings(exchange.request, "instances"))
    answered = list(mappings(exchange.response, "predictions"))
    tokens = [count(one, "embeddings", "statistics", "token_count") for one in answered]
    counted = [one for one in tokens if one is not None]
    return EmbedderReading(
        model=operation(exchange)[0] or None,
        inputs=tuple(found for one in asked if (found := _given(one)) is not None),
        vectors=complete(
            vector(one, "embeddings", "values") or vector(one, "textEmbedding") for one in answered
        ),
        tokens=sum(counted) if counted else None,
        purpose=purpose_of(*(text({"word": either(one, "taskType")}, "word") for one in asked)),
    )


def _given(instance: object) -> str | None:
    """Return an instance's text; those of multimodal models may have an image alone."""
    found = text(instance, "content")
    return text(instance, "text") if found is None else found


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
        "POST …:predict of an embedding model, by its name or answered by embeddings",
        _is_predict,
        _read_predict,
    ),
)

"""Voyage AI's API, also as MongoDB Atlas offers it: embeddings of three kinds, and a reranker."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import posts
from otel_raglog_proxy_bridge.formats.embed_parts import numbered, paired, text_of
from otel_raglog_proxy_bridge.formats.fields import at, count, items, mapping, text, texts, vector
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.rank_parts import is_ranking, read_ranking
from otel_raglog_proxy_bridge.formats.search_routes import on_host
from otel_raglog_proxy_bridge.model import Api, CallStage, EmbedderReading, Exchange, Vector

_HOSTS = ("voyageai.com", "ai.mongodb.com")


def _is_embeddings(exchange: Exchange) -> bool:
    """Tell embeddings that say what they are for: others than Voyage follow it in this."""
    return (
        posts(exchange, "embeddings")
        and bool(texts(exchange.request, "input"))
        and (on_host(exchange, *_HOSTS) or "input_type" in mapping(exchange.request))
    )


def _is_contextualized(exchange: Exchange) -> bool:
    return posts(exchange, "contextualizedembeddings") and _has_inputs(exchange)


def _is_multimodal(exchange: Exchange) -> bool:
    return posts(exchange, "multimodalembeddings") and _has_inputs(exchange)


def _has_inputs(exchange: Exchange) -> bool:
    return isinstance(at(exchange.request, "inputs"), list)


def _is_rerank(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) and posts(exchange, "rerank") and is_ranking(exchange.request)


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    inputs = texts(exchange.request, "input")
    return _reading(exchange, inputs, numbered(exchange.response, "data"))


def _read_contextualized(exchange: Exchange) -> EmbedderReading:
    """Read the chunks of all documents, one after the other."""
    inputs = tuple(
        text_of(chunk)
        for document in items(exchange.request, "inputs")
        for chunk in (items(document) or (document,))
    )
    found = [
        chunk
        for document in numbered(exchange.response, "data")
        for chunk in numbered(document, "data")
    ]
    return _reading(exchange, inputs, found)


def _read_multimodal(exchange: Exchange) -> EmbedderReading:
    inputs = tuple(text_of(item) for item in items(exchange.request, "inputs"))
    return _reading(exchange, inputs, numbered(exchange.response, "data"))


def _reading(
    exchange: Exchange, inputs: tuple[str, ...], found: tuple[object, ...] | list[object]
) -> EmbedderReading:
    return EmbedderReading(
        model=text(exchange.request, "model"),
        inputs=inputs,
        vectors=paired(inputs, (_vector(exchange, item) for item in found)),
        tokens=count(exchange.response, "usage", "total_tokens"),
        purpose=purpose_of(text(exchange.request, "input_type")),
    )


def _vector(exchange: Exchange, item: object) -> Vector | None:
    """Return an embedding; in base64, whole numbers cannot be told from floats but by request."""
    packed = text(item, "embedding") is not None
    if packed and text(exchange.request, "output_dtype") not in {None, "float"}:
        return None
    return vector(item, "embedding")


APIS: tuple[Api, ...] = (
    Api(
        "voyage.embeddings",
        CallStage.EMBEDDER,
        "POST …/embeddings with texts and an input_type, or at Voyage's host",
        _is_embeddings,
        _read_embeddings,
    ),
    Api(
        "voyage.contextualized",
        CallStage.EMBEDDER,
        "POST …/contextualizedembeddings with inputs",
        _is_contextualized,
        _read_contextualized,
    ),
    Api(
        "voyage.multimodal",
        CallStage.EMBEDDER,
        "POST …/multimodalembeddings with inputs",
        _is_multimodal,
        _read_multimodal,
    ),
    Api(
        "voyage.rerank",
        CallStage.RERANKER,
        "POST …/rerank with a query and documents at Voyage's host",
        _is_rerank,
        read_ranking,
    ),
)

"""Snowflake Cortex: complete, embed and search; its newer chat has OpenAI's address."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after, operation, posts
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    count,
    mappings,
    name,
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
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    RetrieverReading,
    Search,
)

_IDS = ("id", "chunk_id", "doc_id", "document_id", "ID", "CHUNK_ID", "DOC_ID", "DOCUMENT_ID")


def _is_complete(exchange: Exchange) -> bool:
    return posts(exchange) and (
        operation(exchange) == ("inference", "complete")
        or exchange.segments[-3:] == ("cortex", "inference", "complete")
    )


def _read_complete(exchange: Exchange) -> LlmReading:
    return chat_reading(exchange, text(exchange.request, "model"))


def _is_embed(exchange: Exchange) -> bool:
    return posts(exchange) and operation(exchange) == ("inference", "embed")


def _read_embed(exchange: Exchange) -> EmbedderReading:
    return EmbedderReading(
        model=text(exchange.request, "model"),
        inputs=texts(exchange.request, "text"),
        vectors=complete(
            vector(item, "embedding") or vector(item, "embedding", 0)
            for item in mappings(exchange.response, "data")
        ),
        tokens=count(exchange.response, "usage", "total_tokens"),
    )


def _is_search(exchange: Exchange) -> bool:
    return (
        posts(exchange)
        and operation(exchange)[1] == "query"
        and "cortex-search-services" in exchange.segments
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    service = after(exchange, "cortex-search-services")
    return RetrieverReading(
        searches=(
            Search(
                query=text(exchange.request, "query"),
                documents=tuple(_document(row) for row in mappings(exchange.response, "results")),
            ),
        ),
        top_k=count(exchange.request, "limit"),
        filters=at(exchange.request, "filter"),
        collection=service.removesuffix(":query") if service else None,
    )


def _document(row: Json) -> Document:
    """Return a row of columns as a document; its longest text is what was searched."""
    columns = {key: value for key, value in row.items() if isinstance(value, str)}
    longest = max(columns, key=lambda key: len(columns[key]), default=None)
    identity = next((key for key in _IDS if name(row, key) and key != longest), None)
    return Document(
        id=name(row, identity) if identity else None,
        text=columns[longest] if longest else None,
        score=number(row, "@scores", "cosine_similarity"),
        metadata={
            key: value
            for key, value in row.items()
            if key not in {longest, identity} and not key.startswith("@")
        },
    )


APIS = (
    Api(
        "cortex.complete",
        CallStage.LLM,
        "POST …/cortex/inference:complete",
        _is_complete,
        _read_complete,
    ),
    Api("cortex.embed", CallStage.EMBEDDER, "POST …/inference:embed", _is_embed, _read_embed),
    Api(
        "cortex.search",
        CallStage.RETRIEVER,
        "POST …/cortex-search-services/{name}:query",
        _is_search,
        _read_search,
    ),
)

"""Jina AI's APIs: embeddings, a reranker, and a search that gives pages to read."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import posts
from otel_raglog_proxy_bridge.formats.embed_parts import (
    numbered,
    paired,
    text_of,
    vectors_by_type,
)
from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    items,
    mapping,
    mappings,
    name,
    text,
    vector,
)
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.rank_parts import is_ranking, read_ranking
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    EmbedderReading,
    Exchange,
    RetrieverReading,
    Search,
)

_API = "api.jina.ai"
_SEARCH = frozenset({"s.jina.ai", "svip.jina.ai", "eu-s-beta.jina.ai"})
_ELSEWHERE = (".jina.ai",)
_MODEL_OPERATIONS = frozenset({"completions", "responses"})


def _inputs(exchange: Exchange) -> tuple[str, ...]:
    found = at(exchange.request, "input")
    listed = found if isinstance(found, list) else [found]
    return tuple(text_of(item) for item in listed if isinstance(item, str | dict))


def _is_embeddings(exchange: Exchange) -> bool:
    """Tell Jina's by a task or inputs that are objects, which OpenAI's have not."""
    posted = posts(exchange, "embeddings") or posts(exchange, "multi-vector")
    if not posted or not _inputs(exchange):
        return False
    request = mapping(exchange.request)
    return (
        exchange.host == _API
        or "task" in request
        or any(isinstance(item, dict) for item in items(request, "input"))
    )


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    inputs = _inputs(exchange)
    found = (
        vector(item, "embedding") or next(iter(vectors_by_type(mapping(item, "embedding"))), None)
        for item in numbered(exchange.response, "data")
    )
    return EmbedderReading(
        model=text(exchange.request, "model"),
        inputs=inputs,
        vectors=paired(inputs, found),
        tokens=count(exchange.response, "usage", "total_tokens"),
        purpose=purpose_of(text(exchange.request, "task"), text(exchange.request, "input_type")),
    )


def _is_rerank(exchange: Exchange) -> bool:
    return exchange.host == _API and posts(exchange, "rerank") and is_ranking(exchange.request)


def _query(exchange: Exchange) -> str | None:
    return (
        text(exchange.request, "q")
        or exchange.query.get("q")
        or ("/".join(exchange.segments) or None)
    )


def _is_search(exchange: Exchange) -> bool:
    return (
        exchange.host in _SEARCH
        and exchange.call.method.upper() in {"GET", "POST"}
        and _query(exchange) is not None
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    documents = tuple(
        Document(
            id=text(item, "url"),
            text=text(item, "content") or text(item, "description"),
            metadata={"title": title} if (title := text(item, "title")) else {},
        )
        for item in mappings(exchange.response, "data")
    )
    asked = name(exchange.request, "num") or exchange.query.get("num") or ""
    return RetrieverReading(
        searches=(Search(query=_query(exchange), documents=documents),),
        top_k=int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else None,  # noqa: PLR2004
    )


def _is_other(exchange: Exchange) -> bool:
    return exchange.host.endswith(_ELSEWHERE) and not _MODEL_OPERATIONS.intersection(
        exchange.segments[-1:]
    )


APIS: tuple[Api, ...] = (
    Api(
        "jina.embeddings",
        CallStage.EMBEDDER,
        "POST …/embeddings with a task or inputs that are objects, or at Jina's host",
        _is_embeddings,
        _read_embeddings,
    ),
    Api(
        "jina.rerank",
        CallStage.RERANKER,
        "POST …/rerank with a query and documents at Jina's host",
        _is_rerank,
        read_ranking,
    ),
    Api("jina.search", CallStage.RETRIEVER, "a query to s.jina.ai", _is_search, _read_search),
    Api(
        "jina.other",
        CallStage.IRRELEVANT,
        "Jina's reader, segmenter and classifier",
        _is_other,
    ),
)

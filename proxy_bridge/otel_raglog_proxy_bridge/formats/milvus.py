"""Milvus' and Zilliz Cloud's REST API, in both versions: searches and their entities."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog_proxy_bridge.formats.fields import at, count, items, mapping, mappings, texts
from otel_raglog_proxy_bridge.formats.passages import document_of, id_in
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    filter_in,
    merged,
    score_in,
    several,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to, passes
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_SCORES = ("distance", "score")


def _is_search(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "vectordb/entities/search") or goes_to(
        exchange, "POST", "v1/vector/search"
    )


def _is_hybrid(exchange: Exchange) -> bool:
    return any(
        goes_to(exchange, "POST", f"vectordb/entities/{name}")
        for name in ("hybrid_search", "advanced_search")
    )


def _is_filtered(exchange: Exchange) -> bool:
    counts = any("count(" in name for name in texts(exchange.request, "outputFields"))
    return not counts and (
        goes_to(exchange, "POST", "vectordb/entities/query")
        or goes_to(exchange, "POST", "v1/vector/query")
    )


def _read(exchange: Exchange, queries: Sequence[Search]) -> RetrieverReading:
    request = exchange.request
    limit = count_in(request, "limit")
    return RetrieverReading(
        searches=answered(queries, _rows(exchange.response, len(queries), limit)),
        top_k=limit,
        filters=filter_in(request, "filter") or filter_in(at(request, "search", 0), "filter"),
        collection=text_in(request, "collectionName"),
    )


def _rows(response: object, queries: int, limit: int | None) -> list[tuple[Document, ...]]:
    """Return the hits of each query.

    The API answers a batch with one list: ``topks`` says how many of it are each query's; where it
    does not, each but the last query counts as having all the hits it asked for.
    """
    data = items(response, "data")
    if data and all(isinstance(row, list) for row in data):
        return [_documents(items(row)) for row in data]
    if queries < 2:  # noqa: PLR2004
        return [_documents(data)]
    counts = [count(found) or 0 for found in items(response, "topks")]
    if sum(counts) != len(data) or len(counts) != queries:
        counts = [limit or -(-len(data) // queries)] * queries
    rows = []
    for size in counts:
        rows.append(_documents(data[:size]))
        data = data[size:]
    return rows


def _documents(hits: Sequence[object]) -> tuple[Document, ...]:
    found = []
    for hit in mappings(list(hits)):
        fields = {key: value for key, value in hit.items() if key not in _SCORES}
        fields |= mapping(fields.pop("entity", None))
        identifier = id_in(fields)
        fields.pop("id", None)
        found.append(document_of(fields, identifier=identifier, score=score_in(hit, *_SCORES)))
    return tuple(found)


def _read_search(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    return _read(exchange, several(at(request, "data")) or several(at(request, "vector")))


def _read_hybrid(exchange: Exchange) -> RetrieverReading:
    ways = [several(at(way, "data")) for way in mappings(exchange.request, "search")]
    longest = max(map(len, ways), default=0)
    queries = [
        merged(query for way in ways for query in way[place : place + 1])
        for place in range(longest)
    ]
    return _read(exchange, queries)


def _read_filtered(exchange: Exchange) -> RetrieverReading:
    return _read(exchange, [Search()])


def _is_other(exchange: Exchange) -> bool:
    return passes(exchange, "v2/vectordb") or passes(exchange, "v1/vector")


APIS: tuple[Api, ...] = (
    Api(
        "milvus.search",
        CallStage.RETRIEVER,
        "POST …/vectordb/entities/search or …/v1/vector/search",
        _is_search,
        _read_search,
    ),
    Api(
        "milvus.hybrid_search",
        CallStage.RETRIEVER,
        "POST …/vectordb/entities/hybrid_search",
        _is_hybrid,
        _read_hybrid,
    ),
    Api(
        "milvus.query",
        CallStage.RETRIEVER,
        "POST …/vectordb/entities/query by a filter that does not count",
        _is_filtered,
        _read_filtered,
    ),
    Api(
        "milvus.other",
        CallStage.IRRELEVANT,
        "collections, indexes and entities kept in Milvus",
        _is_other,
    ),
)

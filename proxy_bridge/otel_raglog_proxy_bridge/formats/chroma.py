"""Chroma's queries and searches, in both versions of its API, and their documents."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    items,
    mapping,
    mappings,
    name,
    number,
    text,
)
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    filter_in,
    merged,
    query_of,
    several,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to, on_host
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_OTHER = frozenset(
    {
        "",
        "auth",
        "collections",
        "collections_count",
        "count_collections",
        "databases",
        "healthcheck",
        "heartbeat",
        "pre-flight-checks",
        "reset",
        "tenants",
        "version",
    }
)
_DEEPEST = 8


def _is_query(exchange: Exchange) -> bool:
    request = mapping(exchange.request)
    return goes_to(exchange, "POST", "collections/*/query") and (
        "query_embeddings" in request or "query_texts" in request
    )


def _read_query(exchange: Exchange) -> RetrieverReading:
    request, response = exchange.request, exchange.response
    words = several(at(request, "query_texts"))
    meanings = several(at(request, "query_embeddings"))
    longest = max(len(words), len(meanings))
    queries = [merged([*words[at_ : at_ + 1], *meanings[at_ : at_ + 1]]) for at_ in range(longest)]
    return RetrieverReading(
        searches=answered(queries, _rows(response)),
        top_k=count_in(request, "n_results"),
        filters=_filter(request),
        collection=after(exchange, "collections"),
    )


def _rows(response: object) -> list[tuple[Document, ...]]:
    """Return the documents of each query: columns of lists, one list for each query."""
    return [
        tuple(
            document_of(
                at(response, "metadatas", row, place),
                identifier=name(response, "ids", row, place),
                score=number(response, "distances", row, place)
                if number(response, "scores", row, place) is None
                else number(response, "scores", row, place),
                passage=text(response, "documents", row, place),
            )
            for place in range(len(items(response, "ids", row)))
        )
        for row in range(len(items(response, "ids")))
    ]


def _filter(request: object) -> object:
    """Return the filter by metadata, with the one by text where both are given."""
    where = filter_in(request, "where")
    contains = filter_in(request, "where_document")
    if where is not None and contains is not None:
        return {"where": where, "where_document": contains}
    return contains if where is None else where


def _is_search(exchange: Exchange) -> bool:
    searches = at(exchange.request, "searches")
    return (
        goes_to(exchange, "POST", "collections/*/search")
        and isinstance(searches, list)
        and all(isinstance(one, dict) for one in searches)
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    batch = items(exchange.request, "searches")
    first = at(list(batch), 0)
    return RetrieverReading(
        searches=answered(
            [merged(_ranked_by(at(one, "rank"))) for one in batch], _rows(exchange.response)
        ),
        top_k=count_in(at(first, "limit"), "limit") or count_in(first, "limit"),
        filters=filter_in(first, "filter"),
        collection=after(exchange, "collections"),
    )


def _ranked_by(rank: object, depth: int = 0) -> Iterator[Search]:
    """Yield what each nearest-neighbour search within an expression asks with."""
    if depth > _DEEPEST:
        return
    if isinstance(rank, dict):
        yield query_of(at(rank, "$knn", "query"))
        for inner in rank.values():
            yield from _ranked_by(inner, depth + 1)
    for inner in items(rank):
        yield from _ranked_by(inner, depth + 1)


def _is_keyword_get(exchange: Exchange) -> bool:
    """Return whether it gets by words: LangChain and others fetch by id, which is no search."""
    return goes_to(exchange, "POST", "collections/*/get") and (
        _contained(at(exchange.request, "where_document")) is not None
    )


def _contained(condition: object, depth: int = 0) -> str | None:
    found = text_in(condition, "$contains", "$regex")
    for key in ("$and", "$or"):
        for inner in mappings(condition, key) if depth < _DEEPEST else ():
            found = found or _contained(inner, depth + 1)
    return found


def _read_keyword_get(exchange: Exchange) -> RetrieverReading:
    request, response = exchange.request, exchange.response
    flat: Json = {key: [at(response, key)] for key in ("ids", "documents", "metadatas")}
    return RetrieverReading(
        searches=answered([Search(query=_contained(at(request, "where_document")))], _rows(flat)),
        top_k=count_in(request, "limit"),
        filters=_filter(request),
        collection=after(exchange, "collections"),
    )


def _is_other(exchange: Exchange) -> bool:
    api, version, first = (*exchange.segments, "", "", "")[:3]
    return on_host(exchange, "trychroma.com") or (
        api == "api" and version in {"v1", "v2"} and first in _OTHER
    )


APIS: tuple[Api, ...] = (
    Api(
        "chroma.query",
        CallStage.RETRIEVER,
        "POST …/collections/{collection}/query with query embeddings or texts",
        _is_query,
        _read_query,
    ),
    Api(
        "chroma.search",
        CallStage.RETRIEVER,
        "POST …/collections/{collection}/search with searches",
        _is_search,
        _read_search,
    ),
    Api(
        "chroma.keyword_get",
        CallStage.RETRIEVER,
        "POST …/collections/{collection}/get of documents that contain words",
        _is_keyword_get,
        _read_keyword_get,
    ),
    Api(
        "chroma.other",
        CallStage.IRRELEVANT,
        "other calls below /api/v1 and /api/v2 of Chroma",
        _is_other,
    ),
)

"""Meilisearch's searches, one or several at once, and their hits."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, number, text
from otel_raglog_proxy_bridge.formats.passages import document_of, id_in
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_OTHER = frozenset({"documents", "settings", "stats", "facet-search"})
_STATES = frozenset({"enqueued", "processing", "succeeded"})


def _body(exchange: Exchange) -> Json:
    return mapping(exchange.request) or exchange.query


def _is_search(exchange: Exchange) -> bool:
    body = _body(exchange)
    return goes_to(exchange, "GET POST", "indexes/*/search") and ("q" in body or "vector" in body)


def _asked(body: object) -> Search:
    return Search(query=text_in(body, "q"), vector=dense(body, "vector"))


def _hits(answer: object) -> tuple[Document, ...]:
    return tuple(
        document_of(
            {key: value for key, value in hit.items() if not key.startswith("_")},
            identifier=id_in(hit),
            score=number(hit, "_rankingScore"),
        )
        for hit in mappings(answer, "hits")
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    body = _body(exchange)
    return RetrieverReading(
        searches=answered([_asked(body)], [_hits(exchange.response)]),
        top_k=count_in(body, "limit", "hitsPerPage"),
        filters=filter_in(body, "filter"),
        collection=after(exchange, "indexes"),
    )


def _is_batch(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "multi-search") and isinstance(
        at(exchange.request, "queries"), list
    )


def _read_batch(exchange: Exchange) -> RetrieverReading:
    """Read several searches; where they are merged into one list, the first has all its hits."""
    response = exchange.response
    batch = items(exchange.request, "queries")
    first = at(list(batch), 0)
    federated = items(response, "hits")
    return RetrieverReading(
        searches=answered(
            [_asked(query) for query in batch],
            [_hits(response)]
            if federated
            else [_hits(answer) for answer in items(response, "results")],
        ),
        top_k=count_in(first, "limit") or count_in(at(exchange.request, "federation"), "limit"),
        filters=filter_in(first, "filter"),
        collection=text_in(first, "indexUid"),
    )


def _is_other(exchange: Exchange) -> bool:
    """Return whether it keeps documents or asks for a task, which only Meilisearch has."""
    answer = mapping(exchange.response)
    return (
        exchange.segments[:1] == ("indexes",)
        and len(exchange.segments) > 2  # noqa: PLR2004
        and exchange.segments[2] in _OTHER
    ) or (text(answer, "status") in _STATES and "indexUid" in answer)


APIS: tuple[Api, ...] = (
    Api(
        "meilisearch.search",
        CallStage.RETRIEVER,
        "GET or POST …/indexes/{index}/search with q or a vector",
        _is_search,
        _read_search,
    ),
    Api(
        "meilisearch.multi_search",
        CallStage.RETRIEVER,
        "POST …/multi-search with queries",
        _is_batch,
        _read_batch,
    ),
    Api(
        "meilisearch.other",
        CallStage.IRRELEVANT,
        "documents, settings and tasks of Meilisearch",
        _is_other,
    ),
)

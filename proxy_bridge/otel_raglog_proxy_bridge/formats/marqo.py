"""Marqo's searches and their hits, each with the part of it that was found."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, mapping, mappings, name, number
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    filter_in,
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

_OWN_OPTIONS = frozenset(
    {
        "approximate",
        "boost",
        "context",
        "efSearch",
        "hybridParameters",
        "imageDownloadHeaders",
        "mediaDownloadHeaders",
        "modelAuth",
        "reRanker",
        "scoreModifiers",
        "searchMethod",
        "searchableAttributes",
        "showHighlights",
    }
)
_PORT = 8882


def _is_marqo(exchange: Exchange) -> bool:
    """Return whether it is Marqo's, not Meilisearch's, whose addresses are the same."""
    return (
        on_host(exchange, "marqo.ai")
        or exchange.port == _PORT
        or not _OWN_OPTIONS.isdisjoint(mapping(exchange.request))
        or "_highlights" in mapping(exchange.response, "hits", 0)
    )


def _is_search(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "indexes/*/search") and _is_marqo(exchange)


def _query(request: object) -> str | None:
    """Return the query; of several with weights, the weightiest."""
    weighted = {
        words: weight
        for words in mapping(request, "q")
        if (weight := number(request, "q", words)) is not None
    }
    return text_in(request, "q") or max(weighted, key=weighted.__getitem__, default=None)


def _document(hit: Json) -> Document:
    lit = at(hit, "_highlights")
    fields = mapping(lit) or mapping(lit, 0)
    return document_of(
        {key: value for key, value in hit.items() if not key.startswith("_")},
        *fields,
        identifier=name(hit, "_id"),
        score=number(hit, "_score"),
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    hits = tuple(map(_document, mappings(exchange.response, "hits")))
    return RetrieverReading(
        searches=answered([Search(query=_query(exchange.request))], [hits]),
        top_k=count_in(exchange.request, "limit"),
        filters=filter_in(exchange.request, "filter"),
        collection=after(exchange, "indexes"),
    )


def _is_other(exchange: Exchange) -> bool:
    return exchange.segments[:1] == ("indexes",) and (
        on_host(exchange, "marqo.ai") or exchange.port == _PORT
    )


APIS: tuple[Api, ...] = (
    Api(
        "marqo.search",
        CallStage.RETRIEVER,
        "POST …/indexes/{index}/search with options or hits that only Marqo has",
        _is_search,
        _read_search,
    ),
    Api(
        "marqo.other",
        CallStage.IRRELEVANT,
        "indexes and documents kept in Marqo",
        _is_other,
    ),
)

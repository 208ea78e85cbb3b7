"""Algolia's searches, one or several at once, and their hits."""

from __future__ import annotations

from urllib.parse import parse_qsl

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, name, text
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

_HOSTS = ("algolia.net", "algolianet.com", "algolia.io")


def _options(asked: object) -> Json:
    """Return the options of a search, of which some may be in a query string: ``params``."""
    return {**dict(parse_qsl(text(asked, "params") or "")), **mapping(asked)}


def _is_search(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) and goes_to(exchange, "POST", "1/indexes/*/query")


def _is_batch(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) and goes_to(exchange, "POST", "1/indexes/*/queries")


def _hits(answer: object) -> tuple[Document, ...]:
    return tuple(
        document_of(
            {
                key: value
                for key, value in hit.items()
                if not key.startswith("_") and key != "objectID"
            },
            identifier=name(hit, "objectID"),
        )
        for hit in mappings(answer, "hits")
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    options = _options(exchange.request)
    return RetrieverReading(
        searches=answered([Search(query=text_in(options, "query"))], [_hits(exchange.response)]),
        top_k=count_in(options, "hitsPerPage"),
        filters=filter_in(options, "filters", "facetFilters"),
        collection=after(exchange, "indexes"),
    )


def _read_batch(exchange: Exchange) -> RetrieverReading:
    batch = [_options(one) for one in items(exchange.request, "requests")]
    first = at(batch, 0)
    return RetrieverReading(
        searches=answered(
            [Search(query=text_in(options, "query")) for options in batch],
            [_hits(answer) for answer in items(exchange.response, "results")],
        ),
        top_k=count_in(first, "hitsPerPage"),
        filters=filter_in(first, "filters", "facetFilters"),
        collection=text_in(first, "indexName"),
    )


def _is_other(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS)


APIS: tuple[Api, ...] = (
    Api(
        "algolia.search",
        CallStage.RETRIEVER,
        "POST …/1/indexes/{index}/query at Algolia",
        _is_search,
        _read_search,
    ),
    Api(
        "algolia.multi_search",
        CallStage.RETRIEVER,
        "POST …/1/indexes/*/queries at Algolia",
        _is_batch,
        _read_batch,
    ),
    Api("algolia.other", CallStage.IRRELEVANT, "other calls to Algolia", _is_other),
)

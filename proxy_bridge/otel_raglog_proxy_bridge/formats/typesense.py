"""Typesense's searches, one or several at once, and their hits."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mappings, name
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    score_in,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to, on_host, passes
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_VECTOR_QUERY = re.compile(r":\s*\(\s*(\[[^\]]*\])")
_NEIGHBOURS = re.compile(r"\bk\s*:\s*(\d{1,6})")


def _is_search(exchange: Exchange) -> bool:
    return goes_to(exchange, "GET", "collections/*/documents/search")


def _is_batch(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "multi_search") and isinstance(
        at(exchange.request, "searches"), list
    )


def _asked(search: object) -> Search:
    found = _VECTOR_QUERY.search(text_in(search, "vector_query") or "")
    return Search(query=text_in(search, "q"), vector=dense([found[1]], 0) if found else None)


def _top_k(search: object) -> int | None:
    found = _NEIGHBOURS.search(text_in(search, "vector_query") or "")
    return count_in(search, "per_page", "limit") or (int(found[1]) if found else None)


def _hits(answer: object) -> tuple[Document, ...]:
    return tuple(
        document_of(at(hit, "document"), identifier=name(hit, "document", "id"), score=_score(hit))
        for hit in mappings(answer, "hits")
    )


def _score(hit: Json) -> float | None:
    """Return the score that the order follows: of a hybrid search its fusion's."""
    fused = score_in(at(hit, "hybrid_search_info"), "rank_fusion_score")
    return score_in(hit, "vector_distance", "text_match") if fused is None else fused


def _read_search(exchange: Exchange) -> RetrieverReading:
    asked = exchange.query
    return RetrieverReading(
        searches=answered([_asked(asked)], [_hits(exchange.response)]),
        top_k=_top_k(asked),
        filters=filter_in(asked, "filter_by"),
        collection=after(exchange, "collections"),
    )


def _read_batch(exchange: Exchange) -> RetrieverReading:
    """Read several searches; what one leaves out may be in the query string for all."""
    batch = [{**exchange.query, **search} for search in mappings(exchange.request, "searches")]
    first: Json = batch[0] if batch else {}
    answers = items(exchange.response, "results")
    return RetrieverReading(
        searches=answered([_asked(search) for search in batch], [_hits(one) for one in answers]),
        top_k=_top_k(first),
        filters=filter_in(first, "filter_by"),
        collection=text_in(first, "collection"),
    )


def _is_other(exchange: Exchange) -> bool:
    return (
        passes(exchange, "collections/*/documents")
        or on_host(exchange, "typesense.net")
        or "x-typesense-api-key" in exchange.call.request_headers
    )


APIS: tuple[Api, ...] = (
    Api(
        "typesense.search",
        CallStage.RETRIEVER,
        "GET …/collections/{collection}/documents/search",
        _is_search,
        _read_search,
    ),
    Api(
        "typesense.multi_search",
        CallStage.RETRIEVER,
        "POST …/multi_search with searches",
        _is_batch,
        _read_batch,
    ),
    Api(
        "typesense.other",
        CallStage.IRRELEVANT,
        "collections and documents kept in Typesense",
        _is_other,
    ),
)

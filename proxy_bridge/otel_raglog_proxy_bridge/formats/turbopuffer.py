"""turbopuffer's queries, one or several at once, and their rows."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, name, text
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    merged,
    query_of,
    score_in,
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

_RANKINGS = frozenset({"ANN", "kNN", "BM25"})
_SCORES = ("$dist", "dist", "$score")
_DEEPEST = 6


def _is_query(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "namespaces/*/query") or (
        on_host(exchange, "turbopuffer.com") and goes_to(exchange, "POST", "vectors/*/query")
    )


def _asked(query: object) -> Search:
    return merged([*_ranked_by(at(query, "rank_by"), 0), Search(vector=dense(query, "vector"))])


def _ranked_by(ranking: object, depth: int) -> Sequence[Search]:
    """Return what ``[field, how, query]``, or a sum of such, asks with."""
    parts = items(ranking)
    if text(list(parts), 1) in _RANKINGS:
        return [query_of(at(list(parts), 2))]
    if depth > _DEEPEST:
        return []
    return [found for part in parts for found in _ranked_by(part, depth + 1)]


def _rows(answer: object) -> tuple[Document, ...]:
    rows = answer if isinstance(answer, list) else items(answer, "rows")
    return tuple(_document(row) for row in mappings(list(rows)))


def _document(row: Json) -> Document:
    fields = {key: value for key, value in row.items() if key not in {"id", *_SCORES}}
    fields |= mapping(fields.pop("attributes", None))
    return document_of(fields, identifier=name(row, "id"), score=score_in(row, *_SCORES))


def _read_query(exchange: Exchange) -> RetrieverReading:
    batch = items(exchange.request, "queries")
    first = at(list(batch), 0) if batch else exchange.request
    hits = (
        [_rows(result) for result in items(exchange.response, "results")]
        if batch
        else [_rows(exchange.response)]
    )
    return RetrieverReading(
        searches=answered([_asked(query) for query in batch or [exchange.request]], hits),
        top_k=count_in(first, "top_k", "limit"),
        filters=filter_in(first, "filters"),
        collection=after(exchange, "namespaces", "vectors"),
    )


def _is_other(exchange: Exchange) -> bool:
    return on_host(exchange, "turbopuffer.com")


APIS: tuple[Api, ...] = (
    Api(
        "turbopuffer.query",
        CallStage.RETRIEVER,
        "POST …/namespaces/{namespace}/query",
        _is_query,
        _read_query,
    ),
    Api(
        "turbopuffer.other",
        CallStage.IRRELEVANT,
        "other calls to turbopuffer.com",
        _is_other,
    ),
)

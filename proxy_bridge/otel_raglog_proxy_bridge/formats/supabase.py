"""Supabase's and PostgREST's calls of search functions (pgvector) and the rows they return."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, mapping, mappings
from otel_raglog_proxy_bridge.formats.passages import document_of, id_in
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
    Vector,
)

_SEARCHING = ("match", "search", "hybrid", "query", "similar", "retrieve", "kw_match", "nearest")
_TEXTS = ("query_text", "query", "search_query", "search_text", "question", "keyword", "q")
_SCORES = ("similarity", "score", "rank", "rrf_score", "distance")


def _vector(request: object) -> Vector | None:
    """Return the first argument that is a list of numbers; its name is the user's."""
    for value in mapping(request).values():
        found = dense([value], 0)
        if found is not None:
            return found
    return None


def _is_search(exchange: Exchange) -> bool:
    function = (after(exchange, "rpc") or "").lower()
    return goes_to(exchange, "POST", "rpc/*") and (
        _vector(exchange.request) is not None
        or (function.startswith(_SEARCHING) and text_in(exchange.request, *_TEXTS) is not None)
    )


def _document(row: Json) -> Document:
    scored = next((key for key in _SCORES if score_in(row, key) is not None), None)
    return document_of(
        {key: value for key, value in row.items() if key not in {"id", scored}},
        identifier=id_in(row),
        score=score_in(row, scored) if scored else None,
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    rows = tuple(map(_document, mappings(exchange.response)))
    return RetrieverReading(
        searches=answered(
            [Search(query=text_in(request, *_TEXTS), vector=_vector(request))], [rows]
        ),
        top_k=count_in(request, "match_count", "match_limit", "top_k", "k", "limit_count")
        or count_in(exchange.query, "limit"),
        filters=filter_in(request, "filter", "filters", "metadata_filter"),
        collection=after(exchange, "rpc"),
    )


def _is_other(exchange: Exchange) -> bool:
    return passes(exchange, "rest/v1") or (
        on_host(exchange, "supabase.co", "supabase.in")
        and exchange.segments[:1] in {("auth",), ("storage",), ("realtime",)}
    )


APIS: tuple[Api, ...] = (
    Api(
        "supabase.rpc",
        CallStage.RETRIEVER,
        "POST …/rpc/{function} with an embedding, or a search function with a query's text",
        _is_search,
        _read_search,
    ),
    Api(
        "supabase.other",
        CallStage.IRRELEVANT,
        "tables, sign-in and files of Supabase",
        _is_other,
    ),
)

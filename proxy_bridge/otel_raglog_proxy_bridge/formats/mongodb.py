"""MongoDB's Data API: aggregations that search Atlas by vector or words, and their documents."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import Json, at, mapping, mappings, text
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
)

_SCORES = ("score", "vs_score", "searchScore", "vectorSearchScore")
_WORDS = ("text", "phrase", "autocomplete", "queryString")


def _stage(exchange: Exchange, name: str) -> Json:
    """Return the first stage of the pipeline that has this name, also within a fusion."""
    for stage in mappings(exchange.request, "pipeline"):
        if name in stage:
            return mapping(stage, name)
        for inner in mapping(stage, "$rankFusion", "input", "pipelines").values():
            found = next((mapping(one, name) for one in mappings(inner) if name in one), None)
            if found is not None:
                return found
    return {}


def _is_search(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "action/aggregate") and bool(
        _stage(exchange, "$vectorSearch") or _stage(exchange, "$search")
    )


def _words(exchange: Exchange) -> str | None:
    search = _stage(exchange, "$search")
    for kind in _WORDS:
        found = text_in(at(search, kind), "query")
        if found is not None:
            return found
    near = at(_stage(exchange, "$vectorSearch"), "query")
    return text_in(near, "text") or text_in({"query": near}, "query")


def _document(hit: Json) -> Document:
    scored = next((key for key in _SCORES if score_in(hit, key) is not None), None)
    return document_of(
        {key: value for key, value in hit.items() if key not in {"_id", scored}},
        identifier=id_in({"id": hit.get("_id")}) or id_in(hit),
        score=score_in(hit, scored) if scored else None,
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    near = _stage(exchange, "$vectorSearch")
    limits = [count_in(stage, "$limit") for stage in mappings(exchange.request, "pipeline")]
    hits = tuple(map(_document, mappings(exchange.response, "documents")))
    return RetrieverReading(
        searches=answered(
            [Search(query=_words(exchange), vector=dense(near, "queryVector"))], [hits]
        ),
        top_k=count_in(near, "limit") or next((limit for limit in limits if limit), None),
        filters=filter_in(near, "filter"),
        collection=text_in(exchange.request, "collection"),
    )


def _is_other(exchange: Exchange) -> bool:
    return passes(exchange, "action/*") and (
        on_host(exchange, "data.mongodb-api.com")
        or text(exchange.request, "dataSource") is not None
    )


APIS: tuple[Api, ...] = (
    Api(
        "mongodb.search",
        CallStage.RETRIEVER,
        "POST …/action/aggregate with $vectorSearch or $search",
        _is_search,
        _read_search,
    ),
    Api(
        "mongodb.other",
        CallStage.IRRELEVANT,
        "other actions of MongoDB's Data API",
        _is_other,
    ),
)

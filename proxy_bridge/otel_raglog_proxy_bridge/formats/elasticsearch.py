"""Elasticsearch's and OpenSearch's searches, one or several at once, and their hits."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.elastic_queries import asked_for, asked_with, filter_of
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    items,
    mapping,
    mappings,
    name,
    number,
    text,
    texts,
)
from otel_raglog_proxy_bridge.formats.passages import document_of, passage_in
from otel_raglog_proxy_bridge.formats.search_parts import answered, count_in, text_in
from otel_raglog_proxy_bridge.formats.search_routes import goes_to
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)
from otel_raglog_proxy_bridge.parsing import parse_json

_SEARCHES = ("_search", "_async_search", "_search/template")
_MODELS = frozenset({"_inference", "_predict"})
"""Operations that embed or rank: no searches, and not irrelevant either."""

_CLIENTS = ("elasticsearch-py", "elastic-transport", "elasticsearch-js", "opensearch-py")
_OPERATIONS = frozenset(
    {
        "_alias",
        "_aliases",
        "_all",
        "_analyze",
        "_bulk",
        "_cat",
        "_close",
        "_cluster",
        "_component_template",
        "_count",
        "_create",
        "_data_stream",
        "_delete_by_query",
        "_doc",
        "_explain",
        "_field_caps",
        "_flush",
        "_forcemerge",
        "_ilm",
        "_index_template",
        "_ingest",
        "_license",
        "_mapping",
        "_mappings",
        "_mget",
        "_msearch",
        "_ml",
        "_nodes",
        "_open",
        "_pit",
        "_plugins",
        "_rank_eval",
        "_refresh",
        "_reindex",
        "_reload_search_analyzers",
        "_resolve",
        "_rollover",
        "_scripts",
        "_search",
        "_security",
        "_settings",
        "_snapshot",
        "_source",
        "_stats",
        "_tasks",
        "_template",
        "_termvectors",
        "_update",
        "_update_by_query",
        "_validate",
        "_xpack",
    }
)


def _body(exchange: Exchange) -> Json:
    """Return the search body, which a GET may carry in its query string."""
    query = exchange.query
    if isinstance(exchange.request, dict):
        return exchange.request
    found = mapping(parse_json(query.get("source", "")))
    if found or "q" not in query:
        return found
    return {"query": {"query_string": {"query": query["q"]}}, "size": count_in(query, "size")}


def _asked(exchange: Exchange) -> Search:
    body = _body(exchange)
    if goes_to(exchange, "GET POST", "_search/template"):
        params = mapping(body, "params")
        return Search(query=text_in(params, "query", "query_string", "query_text", "q", *params))
    return asked_with(body)


def _is_search(exchange: Exchange) -> bool:
    if not any(goes_to(exchange, "GET POST", path) for path in _SEARCHES):
        return False
    asked = _asked(exchange)
    return asked.query is not None or asked.vector is not None


def _read_search(exchange: Exchange) -> RetrieverReading:
    body = _body(exchange)
    answer = exchange.response
    if goes_to(exchange, "GET POST", "_async_search"):
        answer = at(answer, "response")
    return RetrieverReading(
        searches=answered([_asked(exchange)], [_hits(answer)]),
        top_k=asked_for(body) or count_in(exchange.query, "size"),
        filters=filter_of(body),
        collection=_index(exchange),
    )


def _index(exchange: Exchange) -> str | None:
    first = exchange.segments[0] if exchange.segments else "_"
    return None if first.startswith("_") else first


def _hits(answer: object) -> tuple[Document, ...]:
    return tuple(_document(hit) for hit in mappings(answer, "hits", "hits"))


def _document(hit: Json) -> Document:
    source = mapping(hit, "_source") or mapping(hit, "fields")
    passage = passage_in(source)
    document = document_of(source, identifier=name(hit, "_id"), score=number(hit, "_score"))
    if passage is None:
        lit = [part for key in mapping(hit, "highlight") for part in texts(hit, "highlight", key)]
        return Document(document.id, "\n".join(lit) or None, document.score, document.metadata)
    return document


def _is_batch(exchange: Exchange) -> bool:
    return goes_to(exchange, "GET POST", "_msearch") and any(
        asked.query is not None or asked.vector is not None
        for asked in map(asked_with, _bodies(exchange))
    )


def _bodies(exchange: Exchange) -> list[object]:
    """Return the bodies of several searches, each of which follows a line that names its index."""
    return list(items(exchange.request)[1::2])


def _read_batch(exchange: Exchange) -> RetrieverReading:
    bodies = _bodies(exchange)
    first = bodies[0] if bodies else None
    return RetrieverReading(
        searches=answered(
            [asked_with(body) for body in bodies],
            [_hits(answer) for answer in items(exchange.response, "responses")],
        ),
        top_k=asked_for(first),
        filters=filter_of(first),
        collection=_name(at(exchange.request, 0, "index")) or _index(exchange),
    )


def _name(index: object) -> str | None:
    named = texts(index)
    return named[0] if named else None


def _is_other(exchange: Exchange) -> bool:
    if _MODELS.intersection(exchange.segments):
        return False
    call = exchange.call
    return (
        not _OPERATIONS.isdisjoint(exchange.segments)
        or "x-elastic-product" in call.response_headers
        or call.request_headers.get("user-agent", "").lower().startswith(_CLIENTS)
        or text(exchange.response, "tagline") == "You Know, for Search"
    )


APIS: tuple[Api, ...] = (
    Api(
        "elasticsearch.search",
        CallStage.RETRIEVER,
        "GET or POST …/_search that asks with a text or a vector",
        _is_search,
        _read_search,
    ),
    Api(
        "elasticsearch.msearch",
        CallStage.RETRIEVER,
        "POST …/_msearch of which one asks with a text or a vector",
        _is_batch,
        _read_batch,
    ),
    Api(
        "elasticsearch.other",
        CallStage.IRRELEVANT,
        "other operations of Elasticsearch and OpenSearch, whose names begin with _",
        _is_other,
    ),
)

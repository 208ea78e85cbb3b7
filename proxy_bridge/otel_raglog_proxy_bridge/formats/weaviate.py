"""Weaviate's GraphQL searches (Get with a search operator) and their objects."""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, name, text
from otel_raglog_proxy_bridge.formats.graphql_fields import Field, fields_of
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    count_in,
    dense,
    filter_in,
    merged,
    query_of,
    score_in,
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

_ASKING = ("nearText", "nearVector", "hybrid", "bm25", "ask", "nearObject", "nearImage")
_GET = re.compile(r"\bGet\s*\{")
_ASKED = re.compile(rf"\b(?:{'|'.join(_ASKING)})\s*:")
_OTHER = frozenset(
    {"schema", "meta", "objects", "batch", "nodes", ".well-known", "backups", "graphql", "tenants"}
)


def _is_search(exchange: Exchange) -> bool:
    """Tell Weaviate by its ``Get`` and an operator: other GraphQL services have that path, too."""
    query = text(exchange.request, "query") or ""
    return (
        goes_to(exchange, "POST", "v1/graphql")
        and _GET.search(query) is not None
        and _ASKED.search(query) is not None
    )


def _gets(request: object) -> list[tuple[Field, Field]]:
    """Return each search, with the ``Get`` that it stands in."""
    variables = mapping(request, "variables")
    return [
        (get, found)
        for get in fields_of(text(request, "query") or "", variables)
        if get.name == "Get"
        for found in get.fields
    ]


def _asked(arguments: Json) -> Search:
    found = []
    for operator in _ASKING:
        given = arguments.get(operator)
        concepts = at(given, "concepts")
        words = [item for item in items(concepts) if isinstance(item, str)]
        found += [
            query_of(" ".join(words) if words else concepts),
            Search(
                query=text_in(given, "query", "question"),
                vector=dense(given, "vector"),
            ),
        ]
    return merged(found)


def _document(item: Json) -> Document:
    more = mapping(item, "_additional")
    fields = {key: value for key, value in item.items() if key != "_additional"}
    return document_of(
        fields, identifier=name(more, "id"), score=score_in(more, "score", "certainty", "distance")
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    gets = _gets(exchange.request)
    searches = [
        Search(
            asked.query,
            asked.vector,
            tuple(
                _document(item)
                for item in mappings(exchange.response, "data", get.alias, each.alias)
            ),
        )
        for get, each in gets
        for asked in [_asked(each.arguments)]
    ]
    first: Mapping[str, object] = gets[0][1].arguments if gets else {}
    return RetrieverReading(
        searches=tuple(searches),
        top_k=count_in(first, "limit"),
        filters=filter_in(first, "where"),
        collection=gets[0][1].name if gets else None,
    )


def _is_other(exchange: Exchange) -> bool:
    first, second = (*exchange.segments, "", "")[:2]
    return first == "v1" and (
        (second in _OTHER and (second != "batch" or len(exchange.segments) > 2))  # noqa: PLR2004
        or on_host(exchange, "weaviate.network", "weaviate.cloud")
    )


APIS: tuple[Api, ...] = (
    Api(
        "weaviate.search",
        CallStage.RETRIEVER,
        "POST …/v1/graphql with a Get and near…, hybrid, bm25 or ask",
        _is_search,
        _read_search,
    ),
    Api(
        "weaviate.other",
        CallStage.IRRELEVANT,
        "schema, objects, state and other queries of Weaviate",
        _is_other,
    ),
)

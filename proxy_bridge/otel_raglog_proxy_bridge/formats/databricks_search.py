"""Databricks' vector search: queries of an index and their rows."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import at, items, mappings, number, text
from otel_raglog_proxy_bridge.formats.passages import document_of, id_in
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to, passes
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)
from otel_raglog_proxy_bridge.parsing import parse_json


def _is_query(exchange: Exchange) -> bool:
    return goes_to(exchange, "GET POST", "vector-search/indexes/*/query")


def _rows(response: object) -> tuple[Document, ...]:
    """Return the rows, whose last column is the score and whose first is the primary key."""
    columns = [text(column, "name") or "" for column in mappings(response, "manifest", "columns")]
    found = []
    for row in items(response, "result", "data_array"):
        values = list(items(row))
        fields = dict(zip(columns, values, strict=False))
        score = number(fields, "score") if columns[-1:] == ["score"] else None
        if score is not None:
            del fields["score"]
        identifier = id_in(fields) or id_in({"id": at(values, 0)})
        found.append(document_of(fields, identifier=identifier, score=score))
    return tuple(found)


def _read_query(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    filters = filter_in(request, "filters_json", "filter_string", "filters")
    parsed = parse_json(filters) if isinstance(filters, str) else None
    return RetrieverReading(
        searches=answered(
            [Search(query=text_in(request, "query_text"), vector=dense(request, "query_vector"))],
            [_rows(exchange.response)],
        ),
        top_k=count_in(request, "num_results"),
        filters=filters if parsed is None else parsed or None,
        collection=after(exchange, "indexes"),
    )


def _is_other(exchange: Exchange) -> bool:
    return passes(exchange, "vector-search/indexes") or passes(exchange, "vector-search/endpoints")


APIS: tuple[Api, ...] = (
    Api(
        "databricks.vector_search",
        CallStage.RETRIEVER,
        "POST …/vector-search/indexes/{index}/query",
        _is_query,
        _read_query,
    ),
    Api(
        "databricks.vector_search_other",
        CallStage.IRRELEVANT,
        "indexes and endpoints of Databricks' vector search",
        _is_other,
    ),
)

"""Pinecone's index API, records and assistants: queries and their matches."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import at, mapping, mappings, name, text, texts
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

_ASKED_BY = ("vector", "id", "sparseVector", "queries")
_OTHER_PATHS = (
    "vectors/upsert",
    "vectors/update",
    "vectors/delete",
    "vectors/fetch",
    "vectors/list",
    "describe_index_stats",
    "records/namespaces/*/upsert",
    "bulk/imports",
)
_OTHER_STARTS = frozenset(
    {
        "indexes",
        "collections",
        "databases",
        "namespaces",
        "backups",
        "restore-jobs",
        "models",
        "actions",
        "assistants",
        "files",
    }
)


def _is_query(exchange: Exchange) -> bool:
    request, answer = mapping(exchange.request), mapping(exchange.response)
    if exchange.ok and answer and "matches" not in answer and "results" not in answer:
        return False
    return goes_to(exchange, "POST", "query") and (
        ("topK" in request or "top_k" in request) and any(key in request for key in _ASKED_BY)
    )


def _matches(answer: object) -> tuple[Document, ...]:
    return tuple(
        document_of(
            at(match, "metadata"), identifier=name(match, "id"), score=score_in(match, "score")
        )
        for match in mappings(answer, "matches")
    )


def _read_query(exchange: Exchange) -> RetrieverReading:
    request, response = exchange.request, exchange.response
    batch = tuple(mappings(request, "queries"))  # of the first version of the API
    if batch:
        queries = [Search(vector=dense(query, "values")) for query in batch]
        hits = [_matches(result) for result in mappings(response, "results")]
    else:
        queries = [Search(vector=dense(request, "vector"))]
        hits = [_matches(response)]
    return RetrieverReading(
        searches=answered(queries, hits),
        top_k=count_in(request, "topK", "top_k"),
        filters=filter_in(request, "filter"),
        collection=text_in(request, "namespace"),
    )


def _is_records(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "records/namespaces/*/search")


def _read_records(exchange: Exchange) -> RetrieverReading:
    query = at(exchange.request, "query")
    inputs = mapping(query, "inputs")
    ranked = texts(exchange.request, "rerank", "rank_fields")
    hits = tuple(
        document_of(
            at(hit, "fields"),
            *ranked,
            identifier=name(hit, "_id") or name(hit, "id"),
            score=score_in(hit, "_score", "score"),
        )
        for hit in mappings(exchange.response, "result", "hits")
    )
    asked = Search(query=text_in(inputs, "text", *inputs), vector=dense(query, "vector", "values"))
    return RetrieverReading(
        searches=answered([asked], [hits]),
        top_k=count_in(query, "top_k", "topK"),
        filters=filter_in(query, "filter"),
        collection=after(exchange, "namespaces"),
    )


def _is_context(exchange: Exchange) -> bool:
    return goes_to(exchange, "POST", "assistant/chat/*/context")


def _read_context(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    asked = [
        text(message, "content")
        for message in mappings(request, "messages")
        if text(message, "role") in {None, "user"}
    ]
    query = text_in(request, "query") or (asked[-1] if asked else None)
    hits = tuple(
        Document(
            id=name(snippet, "reference", "file", "id"),
            text=text(snippet, "content"),
            score=score_in(snippet, "score"),
            metadata=mapping(snippet, "reference"),
        )
        for snippet in mappings(exchange.response, "snippets")
    )
    return RetrieverReading(
        searches=answered([Search(query=query)], [hits]),
        top_k=count_in(request, "top_k"),
        filters=filter_in(request, "filter"),
        collection=after(exchange, "chat"),
    )


def _is_other(exchange: Exchange) -> bool:
    first = exchange.segments[:1]
    if on_host(exchange, "pinecone.io"):
        return first == () or first[0] in _OTHER_STARTS or _is_upkeep(exchange)
    return first in {("vectors",), ("records",), ("describe_index_stats",)} and _is_upkeep(exchange)


def _is_upkeep(exchange: Exchange) -> bool:
    return any(passes(exchange, path) for path in _OTHER_PATHS)


APIS: tuple[Api, ...] = (
    Api(
        "pinecone.query",
        CallStage.RETRIEVER,
        "POST …/query with topK and a vector, a sparse vector or an id",
        _is_query,
        _read_query,
    ),
    Api(
        "pinecone.records_search",
        CallStage.RETRIEVER,
        "POST …/records/namespaces/{namespace}/search",
        _is_records,
        _read_records,
    ),
    Api(
        "pinecone.assistant_context",
        CallStage.RETRIEVER,
        "POST …/assistant/chat/{assistant}/context",
        _is_context,
        _read_context,
    ),
    Api(
        "pinecone.other",
        CallStage.IRRELEVANT,
        "indexes, collections, upserts, fetches and statistics of Pinecone",
        _is_other,
    ),
)

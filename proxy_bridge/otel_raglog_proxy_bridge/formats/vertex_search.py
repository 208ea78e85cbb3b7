"""Google's vector search, RAG engine and Discovery Engine: queries and what they find."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, name, number
from otel_raglog_proxy_bridge.formats.passages import document_of, passage_in
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    score_in,
    text_in,
)
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_PASSAGES = ("extractive_segments", "extractive_answers", "snippets")
"""What a document's answer quotes of it, the longest first."""


def _asks(exchange: Exchange, verb: str) -> bool:
    return exchange.call.method.upper() == "POST" and exchange.path.endswith(f":{verb}")


def _is_neighbors(exchange: Exchange) -> bool:
    return _asks(exchange, "findNeighbors")


def _read_neighbors(exchange: Exchange) -> RetrieverReading:
    batch = items(exchange.request, "queries")
    hits = [
        tuple(
            Document(
                id=name(one, "datapoint", "datapointId"),
                score=score_in(one, "distance"),
                metadata=mapping(one, "datapoint", "embeddingMetadata"),
            )
            for one in mappings(found, "neighbors")
        )
        for found in items(exchange.response, "nearestNeighbors")
    ]
    first = at(list(batch), 0)
    return RetrieverReading(
        searches=answered(
            [Search(vector=dense(query, "datapoint", "featureVector")) for query in batch], hits
        ),
        top_k=count_in(first, "neighborCount"),
        filters=filter_in(at(first, "datapoint"), "restricts", "numericRestricts"),
        collection=text_in(exchange.request, "deployedIndexId"),
    )


def _is_contexts(exchange: Exchange) -> bool:
    return _asks(exchange, "retrieveContexts")


def _read_contexts(exchange: Exchange) -> RetrieverReading:
    query = at(exchange.request, "query")
    settings = at(query, "ragRetrievalConfig")
    hits = tuple(
        Document(
            id=name(one, "chunk", "chunkId") or name(one, "sourceUri"),
            text=passage_in(one),
            score=score_in(one, "score", "distance"),
            metadata={key: one[key] for key in ("sourceUri", "sourceDisplayName") if one.get(key)},
        )
        for one in mappings(exchange.response, "contexts", "contexts")
    )
    return RetrieverReading(
        searches=answered([Search(query=text_in(query, "text"))], [hits]),
        top_k=count_in(query, "similarityTopK") or count_in(settings, "topK"),
        filters=filter_in(at(settings, "filter"), "metadataFilter"),
        collection=name(exchange.request, "vertexRagStore", "ragResources", 0, "ragCorpus"),
    )


def _is_search(exchange: Exchange) -> bool:
    return "servingConfigs" in exchange.segments and (
        _asks(exchange, "search") or _asks(exchange, "searchLite")
    )


def _found(result: Json) -> Document:
    """Return a document, or a chunk where the search asks for chunks."""
    document = mapping(result, "document")
    derived = mapping(document, "derivedStructData")
    chunk = mapping(result, "chunk")
    if chunk:
        return document_of(
            mapping(chunk, "documentMetadata"),
            identifier=name(chunk, "id") or name(chunk, "name"),
            score=score_in(chunk, "relevanceScore"),
            passage=passage_in(chunk, "content"),
        )
    by_kind = (
        "\n".join(filter(None, map(passage_in, mappings(derived, kind)))) for kind in _PASSAGES
    )
    fields = {**mapping(document, "structData"), **derived}
    whole = next(filter(None, by_kind), None)
    return document_of(
        {
            key: value
            for key, value in fields.items()
            if whole is None or not isinstance(value, list)
        },
        identifier=name(result, "id") or name(document, "id"),
        score=number(result, "modelScores", "relevance_score", "values", 0),
        passage=whole,
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    return RetrieverReading(
        searches=answered(
            [Search(query=text_in(request, "query"))],
            [tuple(map(_found, mappings(exchange.response, "results")))],
        ),
        top_k=count_in(request, "pageSize"),
        filters=filter_in(request, "filter"),
        collection=after(exchange, "dataStores", "engines"),
    )


def _is_other(exchange: Exchange) -> bool:
    verbs = ("upsertDatapoints", "removeDatapoints", "readIndexDatapoints")
    at_google = exchange.host.endswith(
        ("discoveryengine.googleapis.com", "aiplatform.googleapis.com")
    )
    return any(_asks(exchange, verb) for verb in verbs) or (at_google and _keeps(exchange))


def _keeps(exchange: Exchange) -> bool:
    """Return whether it is about the things kept there themselves: corpora, indexes, documents."""
    kept = {"branches", "ragCorpora", "ragFiles", "indexes", "indexEndpoints", "dataStores"}
    return not kept.isdisjoint(exchange.segments) and ":" not in exchange.segments[-1]


APIS: tuple[Api, ...] = (
    Api(
        "vertex.find_neighbors",
        CallStage.RETRIEVER,
        "POST …/indexEndpoints/{id}:findNeighbors",
        _is_neighbors,
        _read_neighbors,
    ),
    Api(
        "vertex.retrieve_contexts",
        CallStage.RETRIEVER,
        "POST …/locations/{location}:retrieveContexts",
        _is_contexts,
        _read_contexts,
    ),
    Api(
        "vertex.discovery_search",
        CallStage.RETRIEVER,
        "POST …/servingConfigs/{config}:search",
        _is_search,
        _read_search,
    ),
    Api(
        "vertex.kept_data",
        CallStage.IRRELEVANT,
        "datapoints, indexes, corpora and data stores kept at Google",
        _is_other,
    ),
)

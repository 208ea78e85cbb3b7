"""OpenAI's vector stores: a search of one."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after, ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, content_of
from otel_raglog_proxy_bridge.formats.fields import at, count, mappings, name, number, texts
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)


def _is_search(exchange: Exchange) -> bool:
    return posts(exchange) and "vector_stores" in exchange.segments and ends(exchange, "search")


def _read_search(exchange: Exchange) -> RetrieverReading:
    query = "\n".join(texts(exchange.request, "query"))
    found = tuple(
        Document(
            id=name(hit, "file_id"),
            text=content_of(at(hit, "content")) or None,
            score=number(hit, "score"),
            metadata=chosen(hit, ("filename", "attributes")),
        )
        for hit in mappings(exchange.response, "data")
    )
    return RetrieverReading(
        searches=(Search(query=query or None, documents=found),),
        top_k=count(exchange.request, "max_num_results"),
        filters=at(exchange.request, "filters"),
        collection=after(exchange, "vector_stores"),
    )


APIS = (
    Api(
        "openai.vector_store_search",
        CallStage.RETRIEVER,
        "POST …/vector_stores/{id}/search",
        _is_search,
        _read_search,
    ),
)

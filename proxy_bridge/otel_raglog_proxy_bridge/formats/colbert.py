"""ColBERT's search server, as DSPy and others ask it, and its passages."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import Json, at, mapping, mappings, name
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
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

_ASKED = frozenset({"query", "k"})


def _body(exchange: Exchange) -> Json:
    return mapping(exchange.request) or exchange.query


def _is_search(exchange: Exchange) -> bool:
    """Return whether it asks with ``query`` and ``k`` alone; a POST needs the answer to tell."""
    if exchange.call.method.upper() == "GET":
        return exchange.query.keys() == _ASKED
    return _body(exchange).keys() >= _ASKED and isinstance(at(exchange.response, "topk"), list)


def _document(hit: Json) -> Document:
    text = text_in(hit, "long_text", "text", "passage")
    known = {"long_text", "pid", "score"}
    fields = {key: value for key, value in hit.items() if key not in known and value != text}
    return document_of(
        fields,
        identifier=name(hit, "pid") or name(hit, "id"),
        score=score_in(hit, "score"),
        passage=text,
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    body = _body(exchange)
    hits = tuple(map(_document, mappings(exchange.response, "topk")))
    return RetrieverReading(
        searches=answered([Search(query=text_in(body, "query"))], [hits]),
        top_k=count_in(body, "k"),
    )


APIS: tuple[Api, ...] = (
    Api(
        "colbert.search",
        CallStage.RETRIEVER,
        "GET with query and k alone, or POST with them that is answered by topk",
        _is_search,
        _read_search,
    ),
)

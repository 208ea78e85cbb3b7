"""Vespa's search API: queries in YQL, and their hits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.fields import Json, at, mapping, mappings, name, number, text
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
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
    Vector,
)

_INPUT = re.compile(r"^(?:input\.query|ranking\.features\.query)\(")
_USER_INPUT = re.compile(r"userInput\(\s*(?:@(?P<name>[\w.]+)|\"(?P<text>[^\"]*)\")", re.IGNORECASE)
_EMBED = re.compile(
    r"^embed\((?:[\w.-]+\s*,\s*)?(?:@(?P<name>[\w.]+)|[\"'](?P<text>.*)[\"'])\s*\)$"
)
_SOURCE = re.compile(r"\bfrom\s+(?:sources\s+)?([\w-]+)", re.IGNORECASE)
_DEEPEST = 5


def _asked(exchange: Exchange) -> Json:
    """Return the parameters of a query, from its body or its query string."""
    body = mapping(exchange.request)
    nested = mapping(body, "input")
    flat = {
        f"input.{key}" if key.startswith("query(") else key: value for key, value in nested.items()
    }
    return {**exchange.query, **flat, **body}


def _is_search(exchange: Exchange) -> bool:
    asked = _asked(exchange)
    return goes_to(exchange, "GET POST", "search") and (
        text(asked, "yql") is not None or any(_INPUT.match(key) for key in asked)
    )


def _words(asked: Json) -> str | None:
    """Return the user's words: the query, or the input that the YQL or an embedder names."""
    found = text_in(asked, "query")
    texts = [text(asked, "yql") or "", *_inputs(asked)]
    for written in texts:
        match = _USER_INPUT.search(written) or _EMBED.match(written)
        if found is None and match:
            found = match["text"] or text_in(asked, match["name"] or "")
    return found


def _inputs(asked: Json) -> Iterator[str]:
    for key, value in asked.items():
        if _INPUT.match(key) and isinstance(value, str):
            yield value


def _vector(asked: Json) -> Vector | None:
    for key, value in asked.items():
        if _INPUT.match(key):
            found = dense([value], 0) or dense(value, "values")
            if found is not None:
                return found
    return None


def _hits(node: object, depth: int = 0) -> Iterator[Document]:
    """Yield the hits below a node of the result, which may be grouped."""
    for child in mappings(node, "children"):
        if "fields" in child and mapping(child, "fields"):
            yield document_of(
                at(child, "fields"), identifier=_id(child), score=number(child, "relevance")
            )
        elif depth < _DEEPEST:
            yield from _hits(child, depth + 1)


def _id(hit: Json) -> str | None:
    """Return the document's id; an index has one of its own for hits without a summary."""
    own = name(hit, "id")
    if own is None or own.startswith("index:"):
        return name(hit, "fields", "documentid") or name(hit, "fields", "id") or own
    return own


def _read_search(exchange: Exchange) -> RetrieverReading:
    asked = _asked(exchange)
    source = _SOURCE.search(text(asked, "yql") or "")
    return RetrieverReading(
        searches=answered(
            [Search(query=_words(asked), vector=_vector(asked))],
            [tuple(_hits(at(exchange.response, "root")))],
        ),
        top_k=count_in(asked, "hits"),
        collection=text_in(asked, "model.restrict") or (source[1] if source else None),
    )


def _is_other(exchange: Exchange) -> bool:
    return (
        passes(exchange, "document/v1")
        or passes(exchange, "application/v2")
        or passes(exchange, "state/v1")
        or exchange.segments == ("ApplicationStatus",)
    )


APIS: tuple[Api, ...] = (
    Api(
        "vespa.search",
        CallStage.RETRIEVER,
        "GET or POST …/search with yql or input.query(…)",
        _is_search,
        _read_search,
    ),
    Api(
        "vespa.other",
        CallStage.IRRELEVANT,
        "documents, state and applications of Vespa",
        _is_other,
    ),
)

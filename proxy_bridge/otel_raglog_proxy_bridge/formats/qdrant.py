"""Qdrant's points API: searches, queries with prefetches, batches and groups, and their points."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import after
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mappings, name
from otel_raglog_proxy_bridge.formats.passages import document_of
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    merged,
    score_in,
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

_ONE = ("search", "query", "recommend", "discover")
_DEEPEST = 5


def _is_search(exchange: Exchange) -> bool:
    return any(
        goes_to(exchange, "POST", f"collections/*/points/{one}")
        or goes_to(exchange, "POST", f"collections/*/points/{one}/groups")
        for one in _ONE
    )


def _is_batch(exchange: Exchange) -> bool:
    return any(goes_to(exchange, "POST", f"collections/*/points/{one}/batch") for one in _ONE)


def _asked(request: object, depth: int = 0) -> Iterator[Search]:
    """Yield the texts and vectors asked with, the outermost first.

    A fusion asks with those of its prefetches alone.
    """
    for key in ("query", "vector", "target"):
        query = at(request, key)
        yield from _inputs(query)
        for kind in ("nearest", "vector"):
            yield from _inputs(at(query, kind))
    for example in (*items(request, "positive"), *items(request, "query", "recommend", "positive")):
        yield from _inputs(example)
    prefetch = at(request, "prefetch")
    if depth < _DEEPEST:
        for inner in mappings(prefetch) if isinstance(prefetch, list) else (prefetch,):
            if inner is not None:
                yield from _asked(inner, depth + 1)


def _inputs(query: object) -> Iterator[Search]:
    yield Search(query=text_in(query, "text"), vector=dense([query], 0))


def _points(answer: object) -> tuple[Document, ...]:
    """Return the points of a result: a list, an object with one, or groups of them."""
    groups = items(answer, "groups")
    if groups:
        return tuple(
            _point(hit) for group in mappings(answer, "groups") for hit in mappings(group, "hits")
        )
    listed = answer if isinstance(answer, list) else items(answer, "points")
    return tuple(_point(hit) for hit in mappings(list(listed)))


def _point(hit: Json) -> Document:
    return document_of(at(hit, "payload"), identifier=name(hit, "id"), score=score_in(hit, "score"))


def _filter(request: object) -> object:
    found = filter_in(request, "filter")
    if found is not None:
        return found
    return next(
        (inner for one in mappings(request, "prefetch") if (inner := filter_in(one, "filter"))),
        None,
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    request = exchange.request
    return RetrieverReading(
        searches=answered([merged(_asked(request))], [_points(at(exchange.response, "result"))]),
        top_k=count_in(request, "limit", "top"),
        filters=_filter(request),
        collection=after(exchange, "collections"),
    )


def _read_batch(exchange: Exchange) -> RetrieverReading:
    batch = items(exchange.request, "searches")
    first = at(list(batch), 0)
    return RetrieverReading(
        searches=answered(
            [merged(_asked(one)) for one in batch],
            [_points(result) for result in items(exchange.response, "result")],
        ),
        top_k=count_in(first, "limit", "top"),
        filters=_filter(first),
        collection=after(exchange, "collections"),
    )


def _is_other(exchange: Exchange) -> bool:
    return (
        passes(exchange, "collections/*/points")
        or passes(exchange, "collections/*/index")
        or passes(exchange, "collections/*/exists")
        or passes(exchange, "collections/*/snapshots")
        or (
            exchange.segments[:1] in {("collections",), ("aliases",), ("cluster",)}
            and _is_collection(exchange)
        )
    )


def _is_collection(exchange: Exchange) -> bool:
    """Return whether it is about collections themselves; others have a path like that, too."""
    asked = ("vectors", "sparse_vectors", "optimizers_config", "actions")
    return (
        "result" in (answer := exchange.response if isinstance(exchange.response, dict) else {})
        and "status" in answer
    ) or any(at(exchange.request, key) is not None for key in asked)


APIS: tuple[Api, ...] = (
    Api(
        "qdrant.search",
        CallStage.RETRIEVER,
        "POST …/collections/{collection}/points/search, query, recommend or discover",
        _is_search,
        _read_search,
    ),
    Api(
        "qdrant.batch",
        CallStage.RETRIEVER,
        "POST …/collections/{collection}/points/search/batch, query/batch or recommend/batch",
        _is_batch,
        _read_batch,
    ),
    Api(
        "qdrant.other",
        CallStage.IRRELEVANT,
        "points, collections and their indexes kept in Qdrant",
        _is_other,
    ),
)

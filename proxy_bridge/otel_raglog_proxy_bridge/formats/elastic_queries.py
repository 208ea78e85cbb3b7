"""Search bodies of Elasticsearch and OpenSearch to what they ask with."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.fields import at, count, items, mapping
from otel_raglog_proxy_bridge.formats.search_parts import (
    count_in,
    dense,
    filter_in,
    merged,
    text_in,
)
from otel_raglog_proxy_bridge.model import Search

_BY_FIELD = frozenset({"match", "match_phrase", "match_phrase_prefix", "match_bool_prefix"})
"""Queries of the form ``{field: text}`` or ``{field: {"query": text}}``."""

_TEXTS = ("query", "query_text", "model_text", "inference_text", "like")
_VECTORS = ("query_vector", "queryVector", "query_value", "vector")
_PASSED_OVER = frozenset(
    {
        "_source",
        "aggregations",
        "aggs",
        "exists",
        "fields",
        "filter",
        "highlight",
        "ids",
        "must_not",
        "post_filter",
        "prefix",
        "range",
        "runtime_mappings",
        "sort",
        "suggest",
        "term",
        "terms",
    }
)
_DEEPEST = 30


def asked_with(body: object) -> Search:
    """Return the first text and the first vector that ``body`` asks with, filters left out.

    The clauses that ask may be nested in any others: bool, hybrid, script_score, retrievers.
    """
    return merged(_asked(body, 0))


def asked_for(body: object) -> int | None:
    """Return how many hits ``body`` asks for: its size, else the neighbours it asks for."""
    size = count_in(body, "size")
    if size is not None:
        return size
    return next((found for part in _parts(body, 0) if (found := count(part, "k"))), None)


def filter_of(body: object) -> object:
    """Return the first filter in ``body``."""
    for part in _parts(body, 0):
        found = filter_in(part, "filter", "post_filter")
        if found is not None:
            return found
    return None


def _parts(data: object, depth: int) -> Iterator[object]:
    """Yield the objects in ``data``, the outer ones first."""
    if depth > _DEEPEST:
        return
    if isinstance(data, dict):
        yield data
        for key, value in data.items():
            if key not in _PASSED_OVER:
                yield from _parts(value, depth + 1)
    elif isinstance(data, list) and dense(data) is None:
        for value in data:
            yield from _parts(value, depth + 1)


def _asked(data: object, depth: int) -> Iterator[Search]:
    for part in _parts(data, depth):
        yield Search(query=text_in(part, *_TEXTS) or _first_like(part))
        for key in _VECTORS:
            yield Search(vector=dense([at(part, key)], 0))
        for key in _BY_FIELD:
            for wanted in mapping(part, key).values():
                yield Search(query=text_in({"query": wanted}, "query"))


def _first_like(part: object) -> str | None:
    return next((item for item in items(part, "like") if isinstance(item, str)), None)

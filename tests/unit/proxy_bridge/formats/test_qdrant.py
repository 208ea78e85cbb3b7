"""Qdrant's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

POINTS = "/collections/c/points"


@pytest.mark.parametrize(
    ("method", "path", "request_", "expected"),
    [
        ("POST", f"{POINTS}/search", {"vector": [0.1]}, "qdrant.search"),
        ("POST", f"{POINTS}/search/groups", {"vector": [0.1]}, "qdrant.search"),
        ("POST", f"{POINTS}/discover", {"target": [0.1]}, "qdrant.search"),
        ("POST", f"{POINTS}/recommend/batch", {"searches": []}, "qdrant.batch"),
        ("POST", POINTS, {"ids": [1]}, "qdrant.other"),
        ("POST", f"{POINTS}/count", {}, "qdrant.other"),
        ("POST", f"{POINTS}/delete", {"points": [1]}, "qdrant.other"),
        ("PUT", "/collections/c/index", {"field_name": "f"}, "qdrant.other"),
        ("GET", "/collections/c/exists", None, "qdrant.other"),
        ("PUT", "/collections/c", {"vectors": {"size": 3}}, "qdrant.other"),
        ("GET", "/collections/c", None, None),
        ("GET", f"{POINTS}/search", None, "qdrant.other"),
    ],
)
def test_searches_are_told_from_upkeep(method, path, request_, expected):
    """Scrolling, counting and fetching by id rank nothing."""
    assert told(exchange_of(path, request_, method=method)) == expected


@pytest.mark.parametrize(
    ("request_", "vector"),
    [
        ({"vector": [0.1]}, (0.1,)),
        ({"vector": {"name": "v", "vector": [0.1]}}, (0.1,)),
        ({"query": [0.1]}, (0.1,)),
        ({"query": {"nearest": [0.1]}}, (0.1,)),
        ({"query": {"recommend": {"positive": [7, [0.1]]}}}, (0.1,)),
        ({"positive": [[0.1]], "negative": [[0.2]]}, (0.1,)),
        ({"target": [0.1], "context": []}, (0.1,)),
        ({"prefetch": {"prefetch": {"query": [0.2]}, "query": [0.1]}}, (0.1,)),
        ({"query": [[0.1], [0.2]]}, None),
        ({"query": "5c56c793-69f3-4fbf-87e6-c4bf54c28c26"}, None),
        ({"query": 7}, None),
        ({"query": {"nearest": {"indices": [1], "values": [0.5]}}}, None),
    ],
)
def test_the_vector_is_found_where_the_query_has_it(request_, vector):
    """Ids, sparse vectors and matrices of late interaction are none."""
    assert read(exchange_of(f"{POINTS}/query", request_)).searches[0].vector == vector


def test_endless_prefetches_are_given_up():
    """Never an error, however deep."""
    request: dict = {"query": [0.1]}
    for _ in range(100):
        request = {"prefetch": [request]}
    assert read(exchange_of(f"{POINTS}/query", request)).searches[0].vector is None

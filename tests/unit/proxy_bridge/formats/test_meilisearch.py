"""Meilisearch's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "path", "request_", "answer", "expected"),
    [
        ("POST", "/indexes/d/search", {"vector": [0.1]}, None, "meilisearch.search"),
        ("POST", "/indexes/d/search", {"filter": "a = 1"}, None, None),
        ("PATCH", "/indexes/d/settings", {}, None, "meilisearch.other"),
        ("GET", "/tasks/1", None, {"status": "succeeded", "indexUid": "d"}, "meilisearch.other"),
        ("GET", "/tasks/1", None, {"status": {}, "indexUid": "d"}, None),
    ],
)
def test_searches_are_told_from_upkeep(method, path, request_, answer, expected):
    """A search has words or a vector."""
    assert told(exchange_of(path, request_, answer, method=method)) == expected


def test_federated_hits_are_the_first_query_s():
    """They are one list, which cannot be parted again."""
    request = {"federation": {"limit": 5}, "queries": [{"q": "a"}, {"q": "b"}]}
    reading = read(exchange_of("/multi-search", request, {"hits": [{"id": "1", "text": "x"}]}))
    assert [len(search.documents) for search in reading.searches] == [1, 0]
    assert reading.top_k == 5

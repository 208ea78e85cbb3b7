"""Google's search services."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

CONFIG = "/v1/projects/p/locations/l/collections/c/engines/e/servingConfigs/default_search"


@pytest.mark.parametrize(
    ("method", "url", "request_", "expected"),
    [
        ("POST", f"{CONFIG}:search", {"query": "a"}, "vertex.discovery_search"),
        ("POST", f"{CONFIG}:searchLite", {"query": "a"}, "vertex.discovery_search"),
        (
            "GET",
            "https://discoveryengine.googleapis.com/v1/projects/p/dataStores/d/branches/0/documents",
            None,
            "vertex.kept_data",
        ),
        (
            "GET",
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/ragCorpora",
            None,
            "vertex.kept_data",
        ),
        ("POST", "/v1/things:search", {"query": "a"}, None),
    ],
)
def test_searches_are_told_from_kept_data(method, url, request_, expected):
    """By the verb at the end of the path."""
    assert told(exchange_of(url, request_, method=method)) == expected


def test_the_engine_is_the_collection_where_no_store_is_named():
    """An engine searches several stores."""
    assert read(exchange_of(f"{CONFIG}:search", {"query": "a"})).collection == "e"


def test_snippets_are_the_text_where_nothing_longer_is_quoted():
    """All of them, in order."""
    derived = {"title": "T", "snippets": [{"snippet": "a b"}, {"snippet": "c d"}]}
    answer = {"results": [{"id": "1", "document": {"derivedStructData": derived}}]}
    (search,) = read(exchange_of(f"{CONFIG}:search", {"query": "a"}, answer)).searches
    assert search.documents[0].text == "a b\nc d"

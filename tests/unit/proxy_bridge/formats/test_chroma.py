"""Chroma's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

V1, V2 = "/api/v1/collections/c", "/api/v2/tenants/t/databases/d/collections/c"


@pytest.mark.parametrize(
    ("method", "path", "request_", "expected"),
    [
        ("POST", f"{V1}/query", {"query_embeddings": [[0.1]]}, "chroma.query"),
        ("POST", f"{V2}/query", {"query_texts": ["a"]}, "chroma.query"),
        ("POST", f"{V2}/search", {"searches": []}, "chroma.search"),
        ("POST", f"{V2}/get", {"where_document": {"$contains": "a"}}, "chroma.keyword_get"),
        ("POST", f"{V2}/get", {"where_document": {}}, "chroma.other"),
        ("POST", f"{V2}/get", {"ids": ["a"]}, "chroma.other"),
        ("POST", f"{V2}/upsert", {"ids": ["a"]}, "chroma.other"),
        ("POST", f"{V2}/delete", {"ids": ["a"]}, "chroma.other"),
        ("GET", f"{V2}/count", None, "chroma.other"),
        ("GET", "/api/v2/pre-flight-checks", None, "chroma.other"),
        ("GET", "/api/v2/tenants/t/databases/d", None, "chroma.other"),
        ("GET", "/api/v1/heartbeat", None, "chroma.other"),
        ("GET", "/api/v1", None, "chroma.other"),
        ("GET", "/api/v1/users", None, None),
    ],
)
def test_queries_are_told_from_housekeeping(method, path, request_, expected):
    """Fetching by id or by metadata is no search; fetching by words is."""
    assert told(exchange_of(path, request_, method=method)) == expected


def test_texts_and_vectors_of_the_same_place_are_one_query():
    """A client that embeds its texts may send both."""
    request = {"query_texts": ["a", "b"], "query_embeddings": [[0.1], [0.2]]}
    searches = read(exchange_of(f"{V1}/query", request)).searches
    assert [(each.query, each.vector) for each in searches] == [("a", (0.1,)), ("b", (0.2,))]


def test_columns_may_be_shorter_than_the_ids():
    """What is missing is not told."""
    answer = {"ids": [["a", "b"]], "documents": [["one"]], "distances": None}
    (search,) = read(exchange_of(f"{V1}/query", {"query_embeddings": [[0.1]]}, answer)).searches
    assert [(each.id, each.text, each.score) for each in search.documents] == [
        ("a", "one", None),
        ("b", None, None),
    ]


def test_nested_ranks_are_given_up_when_too_deep():
    """Never an error."""
    rank: dict = {"$knn": {"query": "words"}}
    for _ in range(100):
        rank = {"$sum": [rank]}
    searches = read(exchange_of(f"{V2}/search", {"searches": [{"rank": rank}]})).searches
    assert searches[0].query is None

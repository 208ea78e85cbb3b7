"""Milvus' REST operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

SEARCH = "/v2/vectordb/entities/search"


@pytest.mark.parametrize(
    ("path", "request_", "expected"),
    [
        (SEARCH, {"data": [[0.1]]}, "milvus.search"),
        ("/v1/vector/search", {"vector": [0.1]}, "milvus.search"),
        ("/v2/vectordb/entities/advanced_search", {"search": []}, "milvus.hybrid_search"),
        ("/v2/vectordb/entities/query", {"filter": "a > 1"}, "milvus.query"),
        ("/v2/vectordb/entities/query", {"outputFields": ["count(*)"]}, "milvus.other"),
        ("/v2/vectordb/entities/get", {"id": [1]}, "milvus.other"),
        ("/v2/vectordb/collections/create", {}, "milvus.other"),
        ("/v1/vector/insert", {}, "milvus.other"),
    ],
)
def test_searches_are_told_from_upkeep(path, request_, expected):
    """Counting is no retrieval."""
    assert told(exchange_of(path, request_)) == expected


def ids_of(request: dict, answer: dict) -> list[list[str | None]]:
    searches = read(exchange_of(SEARCH, request, answer)).searches
    return [[each.id for each in search.documents] for search in searches]


def hits(*ids: int) -> list:
    return [{"id": each, "distance": 0.5} for each in ids]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"data": hits(1, 2, 3), "topks": [1, 2]}, [["1"], ["2", "3"]]),
        ({"data": hits(1, 2, 3, 4)}, [["1", "2"], ["3", "4"]]),
        ({"data": hits(1, 2, 3)}, [["1", "2"], ["3"]]),
        ({"data": hits(1, 2, 3), "topks": [9, 9]}, [["1", "2"], ["3"]]),
        ({"data": [hits(1), hits(2)]}, [["1"], ["2"]]),
        ({"data": []}, [[], []]),
    ],
)
def test_one_list_of_hits_is_parted_among_the_queries(answer, expected):
    """By the counts it comes with, else by the number asked for."""
    assert ids_of({"data": [[0.1], [0.2]], "limit": 2}, answer) == expected


def test_one_query_has_all_hits():
    """Whatever number it asked for."""
    assert ids_of({"data": [[0.1]], "limit": 1}, {"data": hits(1, 2)}) == [["1", "2"]]


def test_several_questions_may_be_asked_in_two_ways_at_once():
    """A hybrid search of two questions is two searches."""
    request = {"search": [{"data": [[0.1], [0.2]]}, {"data": ["a", "b"]}], "limit": 1}
    url = "/v2/vectordb/entities/hybrid_search"
    searches = read(exchange_of(url, request, {"data": hits(1, 2)})).searches
    assert [(each.query, each.vector) for each in searches] == [("a", (0.1,)), ("b", (0.2,))]

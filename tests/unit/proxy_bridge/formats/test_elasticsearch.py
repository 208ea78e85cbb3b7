"""Elasticsearch's and OpenSearch's operations."""

from __future__ import annotations

import json

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "path", "request_", "expected"),
    [
        ("POST", "/docs/_search", {"query": {"match": {"a": "b"}}}, "elasticsearch.search"),
        ("POST", "/docs/_search", {"query": {"ids": {"values": ["1"]}}}, "elasticsearch.other"),
        ("POST", "/docs/_search", None, "elasticsearch.other"),
        ("PUT", "/docs/_doc/1", {"text": "a"}, "elasticsearch.other"),
        ("GET", "/_cat/indices", None, "elasticsearch.other"),
        ("GET", "/_cluster/health", None, "elasticsearch.other"),
        ("GET", "/docs/_doc/1", None, "elasticsearch.other"),
        ("POST", "/docs/_count", {"query": {"match": {"a": "b"}}}, "elasticsearch.other"),
        ("POST", "/_msearch", '{}\n{"query": {"match_all": {}}}\n', "elasticsearch.other"),
    ],
)
def test_a_search_asks_with_words_or_a_vector(method, path, request_, expected):
    """Whatever else is done there is irrelevant: fetching, counting, keeping house."""
    assert told(exchange_of(path, request_, method=method)) == expected


def test_models_behind_the_same_address_are_left_to_others():
    """An inference endpoint may embed or rank."""
    request = {"input": ["a", "b"], "query": "q"}
    assert told(exchange_of("/_inference/rerank/m", request)) == "rerank_servers.rerank"
    assert told(exchange_of("/_plugins/_ml/models/m/_predict", {})) != "elasticsearch.other"


def test_a_body_may_stand_in_the_query_string():
    """Clients that cannot send a body with GET write it there."""
    body = json.dumps({"query": {"match": {"a": "words"}}, "size": 2})
    reading = read(exchange_of(f"/docs/_search?source={body}", method="GET"))
    assert (reading.searches[0].query, reading.top_k) == ("words", 2)


def test_an_answer_that_comes_later_is_wrapped():
    """Asynchronous searches have it one level down."""
    hits = {"hits": {"hits": [{"_id": "1", "_source": {"text": "a"}}]}}
    request = {"query": {"match": {"a": "words"}}}
    reading = read(exchange_of("/docs/_async_search", request, {"response": hits}))
    assert reading.searches[0].documents[0].text == "a"


def test_a_search_over_everything_has_no_collection():
    """Only an index that is named is one."""
    request = {"query": {"match": {"a": "words"}}}
    assert read(exchange_of("/_search", request)).collection is None

"""Vespa's operations."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "url", "request_", "expected"),
    [
        ("GET", "/search/?yql=select+*+from+d+where+true", None, "vespa.search"),
        ("POST", "/search/", {"query": "a", "input.query(q)": [0.1]}, "vespa.search"),
        ("POST", "/search/", {"query": "a", "input": {"query(q)": [0.1]}}, "vespa.search"),
        ("POST", "/search/", {"query": "a"}, None),
        ("GET", "/document/v1/ns/d/docid/1", None, "vespa.other"),
        ("GET", "/state/v1/health", None, "vespa.other"),
        ("GET", "/ApplicationStatus", None, "vespa.other"),
    ],
)
def test_a_search_has_yql_or_query_inputs(method, url, request_, expected):
    """Many services search at such an address."""
    assert told(exchange_of(url, request_, method=method)) == expected


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ({"yql": "where userQuery()", "query": "a"}, "a"),
        ({"yql": "where userInput(@words)", "words": "a"}, "a"),
        ({"yql": 'where userInput("a b")'}, "a b"),
        ({"yql": "where true", "input.query(q)": "embed(@text)", "text": "a"}, "a"),
        ({"yql": "where true", "input.query(q)": "embed(e5, 'a (b)')"}, "a (b)"),
        ({"yql": "where true", "input.query(q)": 'embed("a")'}, "a"),
        ({"yql": "where true", "input.query(q)": "embed(@missing)"}, None),
        ({"yql": "where true"}, None),
    ],
)
def test_the_words_are_where_the_query_refers_to(asked, query):
    """In the query, another parameter, the YQL itself or what an embedder is given."""
    assert read(exchange_of("/search/", asked)).searches[0].query == query
    in_url = exchange_of(f"/search/?{urlencode(asked)}", method="GET")
    assert read(in_url).searches[0].query == query


@pytest.mark.parametrize("vector", [[0.1, 0.2], "[0.1, 0.2]", {"values": [0.1, 0.2]}])
def test_a_vector_may_be_written_in_several_ways(vector):
    """As a list, in writing or as a tensor."""
    for key in ("input.query(q)", "ranking.features.query(q)"):
        reading = read(exchange_of("/search/", {"yql": "select", key: vector}))
        assert reading.searches[0].vector == (0.1, 0.2)


def test_endless_groups_are_given_up():
    """Never an error."""
    node: dict = {"fields": {"text": "a"}}
    for _ in range(100):
        node = {"children": [node]}
    assert read(exchange_of("/search/", {"yql": "x"}, {"root": node})).searches[0].documents == ()

"""Weaviate's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


def asked(arguments: str, variables: dict | None = None):
    request = {"query": "{Get{Doc(%s){text}}}" % arguments, "variables": variables}
    return read(exchange_of("/v1/graphql", request))


@pytest.mark.parametrize(
    ("path", "request_", "expected"),
    [
        ("/v1/graphql", {"query": '{Get{Doc(bm25: {query: "a"}){text}}}'}, "weaviate.search"),
        ("/v1/graphql", {"query": "{Get{Doc(limit: 3){text}}}"}, "weaviate.other"),
        ("/v1/graphql", {"query": "{Aggregate{Doc(nearText: {}){meta{count}}}}"}, "weaviate.other"),
        ("/api/graphql", {"query": '{Get{Doc(bm25: {query: "a"}){text}}}'}, None),
        ("/v1/meta", None, "weaviate.other"),
        ("/v1/.well-known/ready", None, "weaviate.other"),
        ("/v1/objects", {"class": "Doc"}, "weaviate.other"),
        ("/v1/batch", {}, "openai.management"),
    ],
)
def test_a_search_is_a_get_with_a_search_operator(path, request_, expected):
    """Other GraphQL servers have other addresses."""
    assert told(exchange_of(path, request_)) == expected


@pytest.mark.parametrize(
    ("arguments", "query", "vector"),
    [
        ('nearText: {concepts: ["a", "b"], distance: 0.6}', "a b", None),
        ('nearText: {concepts: "a"}', "a", None),
        ("nearVector: {vector: [0.5]}", None, (0.5,)),
        ('hybrid: {query: "a", alpha: 0.5}', "a", None),
        ('ask: {question: "a?", properties: ["text"]}', "a?", None),
        ('nearObject: {id: "36dd"}', None, None),
        ("nearVector: {vector: $v}", None, (0.5,)),
    ],
)
def test_each_operator_says_what_is_asked(arguments, query, vector):
    """Words, a vector, or an object of which there is neither."""
    (search,) = asked(arguments, {"v": [0.5]}).searches
    assert (search.query, search.vector) == (query, vector)


def test_a_query_that_cannot_be_read_has_no_searches():
    """It stays a search."""
    assert read(exchange_of("/v1/graphql", {"query": "{Get{Doc(bm25: {quer"})).searches == ()


def test_another_service_with_the_same_address_is_no_search():
    """Hasura's tasks are neither asked nor got from an index."""
    tasks = {"query": "query GetTasks { tasks(limit: 5) { id ask } }"}
    assert told(exchange_of("/v1/graphql", tasks, {"data": {"tasks": []}})) == "weaviate.other"

"""Search bodies of Elasticsearch and OpenSearch."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.elastic_queries import asked_for, asked_with, filter_of
from otel_raglog_proxy_bridge.model import Search


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"match": {"text": "words"}}, "words"),
        ({"match": {"text": {"query": "words", "operator": "and"}}}, "words"),
        ({"multi_match": {"query": "words", "fields": ["a", "b"]}}, "words"),
        ({"simple_query_string": {"query": "words"}}, "words"),
        ({"combined_fields": {"query": "words", "fields": ["a"]}}, "words"),
        ({"semantic": {"field": "a", "query": "words"}}, "words"),
        ({"sparse_vector": {"field": "a", "inference_id": "m", "query": "words"}}, "words"),
        ({"text_expansion": {"a": {"model_id": "m", "model_text": "words"}}}, "words"),
        ({"neural_sparse": {"a": {"query_text": "words"}}}, "words"),
        ({"more_like_this": {"fields": ["a"], "like": ["words", "more"]}}, "words"),
        ({"bool": {"should": [{"term": {"a": "no"}}, {"match": {"a": "words"}}]}}, "words"),
        ({"function_score": {"query": {"match": {"a": "words"}}}}, "words"),
        ({"bool": {"filter": [{"match": {"a": "no"}}]}}, None),
        ({"bool": {"must_not": {"match": {"a": "no"}}}}, None),
        ({"term": {"query": "no"}}, None),
        ({"ids": {"values": ["no"]}}, None),
        ({"match_all": {}}, None),
    ],
)
def test_the_words_are_found_in_any_kind_of_query(query, expected):
    """Filters, terms and ids are no question."""
    assert asked_with({"query": query}) == Search(query=expected)


@pytest.mark.parametrize(
    "body",
    [
        {"knn": {"field": "v", "query_vector": [0.5]}},
        {"knn": [{"field": "v", "query_vector": [0.5]}, {"field": "w", "query_vector": [0.6]}]},
        {"query": {"knn": {"v": {"vector": [0.5], "k": 3}}}},
        {"query": {"script_score": {"script": {"params": {"query_value": [0.5]}}}}},
        {"retriever": {"rrf": {"retrievers": [{"knn": {"query_vector": [0.5]}}]}}},
        {"query": {"nested": {"path": "p", "query": {"knn": {"query_vector": [0.5]}}}}},
    ],
)
def test_the_vector_is_found_in_any_kind_of_query(body):
    """The first one, where several fields are searched."""
    assert asked_with(body) == Search(vector=(0.5,))


def test_a_model_s_query_is_a_text():
    """The server embeds it itself."""
    body = {"knn": {"query_vector_builder": {"text_embedding": {"model_text": "words"}}}}
    assert asked_with(body) == Search(query="words")


def test_the_size_is_how_many_are_asked_for():
    """Else the neighbours of the vector search."""
    assert asked_for({"size": 3, "knn": {"k": 5}}) == 3
    assert asked_for({"query": {"knn": {"v": {"vector": [0.5], "k": 5}}}}) == 5
    assert asked_for({"query": {"match_all": {}}}) is None


def test_the_outermost_filter_is_the_filter():
    """That of a bool query, of a vector search or after the query."""
    assert filter_of({"query": {"bool": {"filter": [{"term": {"a": 1}}]}}}) == [{"term": {"a": 1}}]
    assert filter_of({"knn": {"filter": {"term": {"a": 1}}}, "post_filter": {"x": 1}}) == {"x": 1}
    assert filter_of({"query": {"bool": {"filter": []}}}) is None


def test_deep_bodies_are_given_up():
    """Never an error."""
    body: object = {"match": {"a": "words"}}
    for _ in range(300):
        body = {"query": [body]}
    assert asked_with(body) == Search()

"""Requests and answers of rerankers, in the many ways in which servers write them."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.rank_parts import (
    best_first,
    document_text,
    documents_of,
    is_ranking,
    read_ranking,
    results_of,
)
from otel_raglog_proxy_bridge.model import Document, Ranked


@pytest.mark.parametrize(
    "request_",
    [
        {"query": "q", "documents": []},
        {"query": "q", "texts": ["a"]},
        {"query": {"text": "q"}, "passages": [{"text": "a"}]},
        {"input": {"query": "q", "documents": ["a"]}},
        {"text_1": "q", "text_2": "a"},
        {"queries": ["q"], "documents": ["a"]},
        {"inputs": [["q", "a"], ["q", "b"]]},
    ],
)
def test_a_query_with_candidates_is_a_ranking(request_):
    """The candidates may be none, one, texts, objects, or pairs with the query."""
    assert is_ranking(request_)


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        {"query": "q"},
        {"documents": ["a"]},
        {"query": "q", "documents": "a"},
        {"queries": ["q", "another"], "documents": ["a"]},
        {"inputs": [["q", "a"], ["another", "b"]]},
        {"inputs": ["a", "b"]},
        {"inputs": [["q", "a"], "b"]},
    ],
)
def test_what_lacks_a_query_or_candidates_is_none(request_):
    """Several queries at once cannot be told apart in the answer."""
    assert not is_ranking(request_)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a", "a"),
        ({"text": "a", "content": "b"}, "a"),
        ({"title": "T", "content": "b"}, "T\nb"),
        ({"title": "T", "text": "a"}, "a"),
        ({"document": {"page_content": "a"}}, "a"),
        ({"id": "7", "type": "x", "city": "Brest", "tide": "low"}, "Brest\nlow"),
        ({"id": "7", "hour": 6}, None),
        (7, None),
    ],
)
def test_the_text_of_a_candidate_is_found(given, expected):
    """The usual names first, else whatever texts it has but ids."""
    assert document_text(given) == expected


def test_fields_to_rank_by_are_the_text():
    """Those that a candidate lacks are passed over; without any, the usual names count."""
    assert document_text({"text": "a", "port": "Brest"}, ["port", "none"]) == "Brest"
    assert document_text({"text": "a"}, ["port"]) == "a"


def test_endless_nesting_is_not_followed():
    """A candidate is somebody's JSON."""
    nested: object = "a"
    for _ in range(5000):
        nested = {"document": nested}
    assert document_text(nested) is None


def test_ids_are_texts_or_numbers():
    """Of documents and of results, in the result or in its document."""
    assert documents_of([{"id": 7, "text": "a"}]) == (Document(id="7", text="a"),)
    found = results_of({"data": [{"score": 1, "document": {"_id": "x"}}, {"document_id": 3}]})
    assert [one.id for one in found] == ["x", "3"]


def test_bare_scores_belong_to_the_candidates_in_order():
    """They come out best first, each with its place."""
    expected = (Ranked(index=1, score=0.9), Ranked(index=0, score=0.1))
    assert results_of([0.1, 0.9]) == expected
    assert results_of({"scores": [0.1, 0.9]}) == expected


def test_what_is_no_result_is_left_out():
    """Errors and odd entries give none."""
    assert results_of({"error": "x"}) == ()
    assert results_of(None) == ()
    assert results_of({"results": ["a", None, {"index": 0}]}) == (Ranked(index=0),)


def test_results_without_a_score_come_last():
    """Others fall by score."""
    one, two, none = Ranked(0, score=1.0), Ranked(1, score=2.0), Ranked(2)
    assert best_first([none, one, two]) == (two, one, none)


def test_the_order_of_an_answer_stays():
    """An API that ranks says what is best."""
    answer = {"results": [{"index": 0, "score": 0.1}, {"index": 1, "score": 0.9}]}
    reading = read_ranking(exchange_of("/rerank", {"query": "q", "documents": ["a", "b"]}, answer))
    assert [one.index for one in reading.results] == [0, 1]


def test_the_limit_has_many_names():
    """Beside the query or among the parameters; zero means none."""
    for key in ("top_n", "top_k", "topN", "topK"):
        request = {"query": "q", "documents": [], key: 3}
        assert read_ranking(exchange_of("/rerank", request)).top_n == 3
    options = {"parameters": {"return_options": {"top_n": 3}}}
    request = {"query": "q", "inputs": [{"text": "a"}], **options}
    assert read_ranking(exchange_of("/rerank", request)).top_n == 3
    request = {"query": "q", "documents": [], "top_n": 0}
    assert read_ranking(exchange_of("/rerank", request)).top_n is None

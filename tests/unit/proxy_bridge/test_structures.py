"""Requests of unknown APIs: queries, vectors, counts, models, conversations."""

import pytest
from unknown_calls import QUESTION, VECTOR, exchange_of

from otel_raglog_proxy_bridge.structures import (
    has_messages,
    is_message,
    is_query_text,
    model_in,
    queries,
    result_count,
    samples,
    vectors,
)


def test_texts_named_as_queries_come_before_other_texts():
    """From the body and from the URL."""
    exchange = exchange_of(
        {"text": "some text", "params": {"searchText": "find me"}}, url="https://a.test/?q=by+url"
    )
    assert [(each.expression, each.strong) for each in queries(exchange)] == [
        ("request.params.searchText", True),
        ("query.q", True),
        ("request.text", False),
    ]


@pytest.mark.parametrize("code", ["{ users { id } }", "query X { a }", "SELECT a FROM b", "", " "])
def test_code_is_no_query_text(code):
    """GraphQL and SQL come under the same name."""
    assert not is_query_text(code)
    assert is_query_text(QUESTION)


def test_one_vector_is_asked_with_two_are_not():
    """A list of two vectors is stored, not searched."""
    assert [each.expression for each in vectors(exchange_of({"v": VECTOR}))] == ["request.v"]
    assert [each.expression for each in vectors(exchange_of({"v": [VECTOR]}))] == ["request.v[0]"]
    assert not list(vectors(exchange_of({"v": [VECTOR, VECTOR]})))


def test_the_number_of_results_is_told_in_body_or_url():
    """Under any of its names, as a whole number."""
    assert result_count(exchange_of({"options": {"topK": 3}})) == "request.options.topK"
    assert result_count(exchange_of(url="https://a.test/?limit=5")) == "query.limit"
    assert result_count(exchange_of({"limit": True}, url="https://a.test/?limit=all")) is None


def test_models_and_sampling_speak_for_a_model():
    """The model may be named in the answer alone."""
    assert model_in(exchange_of({"model_id": "m"})) == {"model": "request.model_id"}
    assert model_in(exchange_of({}, {"model": "m"})) == {"model": "response.model"}
    assert model_in(exchange_of({"model": {"name": "m"}})) == {}
    assert samples(exchange_of({"parameters": {"max_new_tokens": 9}}))
    assert not samples(exchange_of({"top_k": 9}))


def test_messages_have_a_role_that_models_know():
    """Those of a chat among people have not."""
    assert is_message({"role": "user", "content": "x"})
    assert is_message({"author": "bot", "text": "x"})
    assert is_message({"role": "assistant", "tool_calls": []})
    assert not is_message({"from": "ann@a.test", "body": "x"})
    assert not is_message({"role": "admin", "content": "x"})
    assert not is_message("user")
    assert has_messages(exchange_of({"input": {"turns": [{"role": "user", "content": "x"}]}}))
    assert not has_messages(exchange_of({"messages": ["x"]}))

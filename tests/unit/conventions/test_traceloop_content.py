"""What OpenLLMetry wraps around the content of a step."""

import pytest

from otel_raglog.conventions.traceloop_content import (
    answer_of,
    without_wrapping,
)

BESIDE = {"tags": ["seq:step:1"], "metadata": {"a": 1}, "kwargs": {"name": "x"}}


@pytest.mark.parametrize(
    ("data", "inner"),
    [
        ({"inputs": "q?", **BESIDE}, "q?"),
        ({"inputs": {"question": "q?"}, **BESIDE}, {"question": "q?"}),
        ({"outputs": ["a"], "kwargs": {}}, ["a"]),
        ({"input_str": "{'query': 'q?'}", "inputs": {"query": "q?"}, **BESIDE}, {"query": "q?"}),
        ({"query": "q?", **BESIDE}, {"query": "q?"}),
        ({"output": {"content": "x"}, "kwargs": {}}, {"content": "x"}),
        ({"inputs": {"query": "q?", "k": 2}}, {"query": "q?", "k": 2}),
        ({"inputs": "q?"}, "q?"),
        ({"outputs": "a"}, "a"),
        ({"args": ["q?"], "kwargs": {}}, "q?"),
        ({"args": [], "kwargs": {"question": "q?"}}, {"question": "q?"}),
    ],
)
def test_the_call_around_content_is_taken_off(data, inner):
    """LangChain's run and the arguments of a decorated function."""
    assert without_wrapping(data) == inner


@pytest.mark.parametrize(
    "data",
    [
        {"output": "a"},
        {"query": "q?"},
        {"inputs": "q?", "question": "x", "tags": []},
        {"args": ["a", "b"], "kwargs": {}},
        {"args": ["a"], "kwargs": {"b": 1}},
        {"str_or_query_bundle": "q?"},
        ["a"],
        "a",
        None,
        {},
    ],
)
def test_other_data_stay_as_they_are(data):
    """An application's own names are its own."""
    assert without_wrapping(data) == data


def test_the_answer_of_llamaindex():
    """A response without its sources; a lone key may be anything."""
    assert answer_of({"response": "a", "metadata": {"1": {}}}) == "a"
    for data in ({"response": "a"}, {"response": 1, "metadata": {}}, {"response": "a", "x": 1}, []):
        assert answer_of(data) is None

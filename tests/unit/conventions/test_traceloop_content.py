"""What OpenLLMetry wraps around the content of a step, and JSON that it cut."""

import pytest

from otel_raglog.conventions.traceloop_content import (
    answer_of,
    beginning_of_text,
    unquoted,
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
        {"inputs": "q?"},
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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('"a \\"b\\""', 'a "b"'),
        ('""', ""),
        ('"\\ud800"', "?"),
        ("a", None),
        ('"', None),
        ('"a"b"', None),
    ],
)
def test_texts_in_quotes(text, plain):
    """A text alone is JSON, too."""
    assert unquoted(text) == plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"inputs": "what is", "tags": [', ("what is", True)),
        ('{"inputs": "what', ("what", False)),
        ('{"inputs": {"question": "what', ("what", False)),
        ('"an ans', ("an ans", False)),
        ('{"inputs": [1, 2', ("", False)),
        ('{"inputs": "', ("", False)),
        ('{"inputs": "a\\', ("a", False)),
        ("", ("", False)),
    ],
)
def test_the_text_at_the_beginning_of_cut_json(text, found):
    """Whole if the cut came after it."""
    assert beginning_of_text(text) == found


def test_a_cut_state_is_no_answer():
    """A cut output that begins with what was asked holds no answer before the cut."""
    state = '{"outputs": {"question": "When does it leave?", "documents": [{'
    assert beginning_of_text(state) == ("When does it leave?", True)
    assert beginning_of_text(state, spoken=False) == ("", False)
    assert beginning_of_text('{"outputs": "At 22', spoken=False) == ("At 22", False)

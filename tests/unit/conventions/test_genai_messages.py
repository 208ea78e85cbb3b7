"""What messages of the GenAI conventions say, in the shapes that instrumentations give them."""

import pytest

from otel_raglog.conventions.genai_messages import (
    beginning_of_list,
    calls_of,
    instructions_in,
    result_text,
    talk_in,
)
from otel_raglog.model import Message

TEXT = {"type": "text", "content": "Why?"}


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ([{"role": "user", "parts": [TEXT]}], [("user", "Why?")]),
        ({"messages": [{"role": "user", "parts": [TEXT]}]}, [("user", "Why?")]),
        ({"role": "human", "content": "Why?"}, [("user", "Why?")]),
        ([[{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]], [("user", "Why?")]),
        ([TEXT], [("user", "Why?")]),
        ("Why?", [("user", "Why?")]),
        (["Why?", "How?"], [("user", "Why?"), ("user", "How?")]),
        ([{"content": "Why?"}], [("user", "Why?")]),
        ({"prompt": "Why?"}, [("user", "Why?")]),
        ("", []),
        ([], []),
    ],
)
def test_messages_of_any_shape(data, messages):
    """Roles with parts, plain contents, wrapped lists, lone parts and texts are messages."""
    assert talk_in(data, "user").messages == tuple(Message(*m) for m in messages)


@pytest.mark.parametrize("data", [7, None, [7], {"a": 1}, [{"a": 1}], b"x"])
def test_other_data_holds_no_messages(data):
    """Numbers and foreign objects are no messages."""
    assert talk_in(data, "user") is None


def test_results_of_tools_are_the_tools_messages():
    """A result in a user message is what the tool said; reasoning and images are not said."""
    talk = talk_in(
        [
            {
                "role": "user",
                "parts": [
                    {"type": "tool_call_response", "id": "1", "result": [{"text": "found"}]},
                    {"type": "reasoning", "content": "hm"},
                    {"type": "blob", "content": "aGk="},
                    TEXT,
                ],
            }
        ],
        "user",
    )
    assert talk.messages == (Message("user", "Why?"), Message("tool", '[{"text": "found"}]'))


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"response": "one"}, "one"),
        ({"result": {"a": 1}}, '{"a": 1}'),
        ({"content": [{"type": "text", "text": "two"}]}, "two"),
        ({}, ""),
    ],
)
def test_what_a_tool_gave_back(part, text):
    """The key is `response` or `result`; structures are written as JSON."""
    assert result_text(part) == text


def test_calls_of_tools():
    """Calls stand among the parts, or in OpenAI's list, also as a JSON string."""
    part = {"type": "tool_call", "name": "find", "arguments": {"query": "q"}}
    assert calls_of({"parts": [part]}) == [{"name": "find", "arguments": {"query": "q"}}]
    function = {"function": {"name": "find", "arguments": "{}"}}
    assert calls_of({"tool_calls": [function]}) == [{"name": "find", "arguments": "{}"}]
    text = '[{"name": "find", "arguments": "{}"}]'
    assert calls_of({"tool_calls": text}) == [{"name": "find", "arguments": "{}"}]
    talk = talk_in([{"role": "assistant", "parts": [part], "finish_reason": "tool_call"}], "x")
    assert (talk.messages, talk.finish_reason) == ((Message("assistant", ""),), "tool_call")
    only = talk_in([{"role": "assistant", "tool_calls": [function]}], "x")
    assert (only.messages, len(only.calls)) == ((Message("assistant", ""),), 1)


@pytest.mark.parametrize(
    ("parts", "bare"),
    [
        ([{"type": "text"}], True),
        ([{"type": "tool_call_response", "id": "1"}], True),
        ([{"type": "tool_call", "name": "find"}], False),
        ([{"type": "text"}, TEXT], False),
        ([7], False),
    ],
)
def test_parts_without_their_content(parts, bare):
    """Parts whose content was left out say nothing: that is not an empty message."""
    assert talk_in([{"role": "user", "parts": parts}], "user").bare is bare


def test_instructions():
    """System instructions are a text, parts or messages."""
    assert instructions_in([{"type": "text", "content": "Be brief."}]) == "Be brief."
    assert instructions_in("Be brief.") == "Be brief."
    assert instructions_in([{"role": "system", "parts": [TEXT]}]) == "Why?"
    assert instructions_in(7) == ""


def test_a_list_that_was_cut():
    """Elements before the cut are whole."""
    assert beginning_of_list('[{"a": 1}, {"b": 2}, {"c": "x') == [{"a": 1}, {"b": 2}]
    assert beginning_of_list("no list") == []

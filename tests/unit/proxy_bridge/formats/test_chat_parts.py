"""Messages and their content parts, as chat APIs write them, to plain messages."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.chat_parts import (
    are_messages,
    arguments_of,
    chosen,
    content_of,
    openai_messages,
    openai_tool_calls,
    role_of,
    said,
)
from otel_raglog_proxy_bridge.model import ChatMessage, ToolCall

PARTS = [
    {"type": "text", "text": "one"},
    {"type": "image_url", "image_url": {"url": "x"}},
    "two",
    {"text": "three"},
    {"type": "reasoning", "text": "hidden"},
]


@pytest.mark.parametrize(
    ("role", "plain"),
    [("developer", "system"), ("MODEL", "assistant"), ("CHATBOT", "assistant"), ("user", "user")],
)
def test_roles_have_one_name_each(role, plain):
    """APIs name the same roles differently."""
    assert role_of({"role": role}, "role") == plain
    assert role_of({}, "role", default="assistant") == "assistant"


def test_parts_of_a_message_are_lines_and_those_of_an_answer_run_on():
    """An answer is cut where a citation begins, a question where a part ends."""
    assert content_of(PARTS) == "one\ntwo\nthree"
    assert said(PARTS) == "onetwothree"
    assert content_of("text") == said("text") == "text"


@pytest.mark.parametrize("nothing", [None, "", [], 7, [{"type": "image"}], [None]])
def test_an_answer_without_text_is_none(nothing):
    """A message without text is empty."""
    assert said(nothing) is None
    assert content_of(nothing) == ""


def test_messages_keep_their_tool_calls():
    """Whoever is no object is no message."""
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert openai_messages([{"role": "assistant", "content": None, "tool_calls": [call]}, 7]) == (
        ChatMessage("assistant", "", (ToolCall("f", "{}"),)),
    )


def test_tool_calls_of_three_generations():
    """Functions, custom tools, and the single function call of before; arguments may be objects."""
    custom = {"type": "custom", "custom": {"name": "sh", "input": "ls"}}
    asked = {"function": {"name": "f", "arguments": {"a": 1}}}
    assert openai_tool_calls({"tool_calls": [asked, custom]}) == (
        ToolCall("f", '{"a": 1}'),
        ToolCall("sh", "ls"),
    )
    old = {"function_call": {"name": "g", "arguments": "{}"}}
    assert openai_tool_calls(old) == (ToolCall("g", "{}"),)
    assert openai_tool_calls({"function_call": {"name": "", "arguments": ""}}) == ()


def test_chosen_parameters_are_those_given():
    """Zero is a value, null is none."""
    assert chosen({"a": 0, "b": None, "c": 1}, ("a", "b")) == {"a": 0}
    assert chosen(None, ("a",)) == {}


def test_arguments_are_json_text():
    """What is a text already stays as it is, cut or not."""
    assert arguments_of({"a": 1}) == '{"a": 1}'
    assert arguments_of('{"a": ') == '{"a": '
    assert arguments_of(None) == ""


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([{"role": "user", "content": "Hi"}, {"role": "assistant"}], True),
        ([{"role": "user"}, {"to": "+1", "text": "Hi"}], False),
        ([], False),
        ("Hi", False),
        ([None], False),
    ],
)
def test_messages_of_a_chat_have_roles(data, expected):
    """Short messages, mails and posts are messages, too."""
    assert are_messages(data) is expected

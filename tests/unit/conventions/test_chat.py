"""In which shapes chat messages and LLM responses are recognised."""

import pytest

from otel_raglog.conventions.chat import (
    content_text,
    finish_reason_in,
    message_from_item,
    messages_in,
    normal_role,
    responses_in,
    tool_calls_of,
    without_speaker,
)
from otel_raglog.model import Message


def test_multi_part_message():
    """The text parts of a message are joined; images are left out."""
    item = {
        "message.role": "human",
        "message.contents.0.message_content.type": "text",
        "message.contents.0.message_content.text": "a",
        "message.contents.1.message_content.image.image.url": "x",
        "message.contents.2.message_content.text": "b",
    }
    assert message_from_item(item) == Message("user", "a\nb")


@pytest.mark.parametrize(
    "item",
    [
        {"message.contents": '[{"message_content": {"type": "text", "text": "a"}}]'},
        {"message.contents": ({"type": "text", "text": "a"},)},
        {"message.content": '[{"type": "text", "text": "a"}, {"type": "image"}]'},
        {"message.contents.0.message_content.document.document.content": "a"},
    ],
)
def test_contents_in_one_value(item):
    """Parts may come as JSON or as a structure; the text of a file is text."""
    assert message_from_item(item) == Message("user", "a")


def test_thoughts_are_not_said():
    """What a model thought is no part of its message; JSON that is no list of parts is text."""
    item = {
        "message.role": "assistant",
        "message.contents.0.message_content.type": "reasoning",
        "message.contents.0.message_content.text": "hm",
        "message.contents.1.message_content.text": "a",
    }
    assert message_from_item(item).content == "a"
    assert content_text([{"type": "thinking", "text": "hm"}, {"type": [], "text": "a"}]) == "a"
    assert message_from_item({"message.content": '[{"fare": 4}]'}).content == '[{"fare": 4}]'


@pytest.mark.parametrize(
    "data",
    [
        {"messages": [{"role": "user", "content": "x"}]},
        {"messages": [[{"id": ["HumanMessage"], "kwargs": {"content": "x", "type": "human"}}]]},
        [{"type": "human", "data": {"content": [{"type": "text", "text": "x"}]}}],
        [["user", "x"]],
        {"prompt": "x"},
        {"messages": "x", "generation_kwargs": None},
        {"messages": '[{"role": "user", "content": "x"}]'},
        {"args": ["x"], "kwargs": {}},
        [
            "ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[TextBlock(block_type='text', text='x')])"
        ],
    ],
)
def test_shapes(data):
    """OpenAI, LangChain, LlamaIndex and Haystack shapes hold the same message."""
    assert messages_in(data) == (Message("user", "x"),)


def test_what_holds_no_messages():
    """Other data holds no messages, nor does endless nesting."""
    deep = []
    for _ in range(1000):
        deep = [deep]
    assert [messages_in(d) for d in ({}, [], None, [{"a": 1}], deep)] == [None] * 5


@pytest.mark.parametrize(
    "data",
    [
        {"choices": [{"message": {"content": "x", "role": "assistant"}}]},
        {"generations": [[{"text": "x"}]]},
        {"replies": ["x"]},
        {"message": {"blocks": [{"text": "x"}]}},
        {"type": "tool", "data": {"content": "x"}},
        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='x')])",
    ],
)
def test_responses(data):
    """The first text of a response is found in every provider's shape."""
    assert responses_in(data)[0] == "x"


def test_finish_reason():
    """The reason is found where providers put it."""
    assert finish_reason_in({"choices": [{"finish_reason": "length"}]}) == "length"
    assert (
        finish_reason_in({"generations": [[{"generation_info": {"finish_reason": "stop"}}]]})
        == "stop"
    )
    assert finish_reason_in({"a": 1}) is None


def test_roles_and_speakers():
    """Roles have one name each; a speaker before an output is no part of it."""
    names = ["AI", "ChatRole.USER", "MessageRole.SYSTEM", "tool", None]
    assert [normal_role(r) for r in names] == ["assistant", "user", "system", "tool", "user"]
    assert without_speaker("assistant: hi") == "hi"


def test_tool_calls():
    """Tool calls keep name and arguments."""
    key = "message.tool_calls.0.tool_call.function"
    item = {f"{key}.name": "search", f"{key}.arguments": '{"q": "x"}'}
    assert tool_calls_of(item) == [{"name": "search", "arguments": '{"q": "x"}'}]
    whole = {"message.tool_calls": [{"function": {"name": "search", "arguments": '{"q": "x"}'}}]}
    assert tool_calls_of(whole) == tool_calls_of(item)


def test_contents_written_twice():
    """A text that stands both as the content and as its parts is read once."""
    item = {
        "message.role": "assistant",
        "message.content": "It costs 4 euro.\nEach way.",
        "message.contents.0.message_content.text": "It costs 4 euro.",
        "message.contents.1.message_content.text": "Each way.",
    }
    assert message_from_item(item).content == "It costs 4 euro.\nEach way."

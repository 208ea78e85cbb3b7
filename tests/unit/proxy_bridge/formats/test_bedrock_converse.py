"""Amazon Bedrock's Converse, whole or streamed."""

from __future__ import annotations

from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.bedrock_converse import converse_reading
from otel_raglog_proxy_bridge.model import ChatMessage, LlmReading, ToolCall


def reading(request: object, response: object = None, events: list | None = None) -> LlmReading:
    return converse_reading(exchange_of("/model/m/converse", request, response, events=events), "m")


def test_results_of_tools_are_messages_of_their_own():
    """They come before the rest of a user's message; of results alone nothing else is left."""
    result = {"toolResult": {"content": [{"text": "six"}]}}
    content = [result, {"text": "Thanks."}]
    found = reading({"messages": [{"role": "user", "content": content}]})
    assert found.messages == (ChatMessage("tool", "six"), ChatMessage("user", "Thanks."))
    found = reading({"messages": [{"role": "user", "content": [result]}]})
    assert found.messages == (ChatMessage("tool", "six"),)


def test_a_document_of_chunks_is_one_document():
    """A document's source may be a text, or blocks of it; files are none."""
    sources = [{"content": [{"text": "a"}, {"text": "b"}]}, {"bytes": "AA=="}]
    content = [{"document": {"name": "n", "source": source}} for source in sources]
    found = reading({"messages": [{"role": "user", "content": content}]})
    assert [one.text for one in found.documents] == ["a\nb", None]


def test_blocks_of_a_stream_are_told_apart_by_number():
    """Deltas of several blocks may come in turns."""

    def delta(index: int, **said: object) -> dict:
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": said}}

    used = {"start": {"toolUse": {"name": "t"}}, "contentBlockIndex": 1}
    events = [
        delta(0, text="a"),
        {"contentBlockStart": used},
        delta(1, toolUse={"input": "{"}),
        delta(0, text="b"),
        delta(1, toolUse={"input": "}"}),
    ]
    found = reading({}, events=events)
    assert found.answer == "ab"
    assert found.tool_calls == (ToolCall("t", "{}"),)


def test_an_exception_within_a_stream_leaves_what_was_said():
    """The answer is what came before."""
    events = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "At"}}},
        {"modelStreamErrorException": {"message": "oh"}},
    ]
    assert reading({}, events=events).answer == "At"
    assert reading({}, {"message": "denied"}).answer is None

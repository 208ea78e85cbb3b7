"""OpenAI's responses: an input of items in, output items or a stream of events out."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.model import ChatMessage, ToolCall

ANSWERED = {"object": "response", "status": "completed", "output": []}


@pytest.mark.parametrize(
    ("path", "request_body", "response", "name"),
    [
        ("/v1/responses", {"input": "Hi", "model": "m"}, None, "openai.responses"),
        ("/v1/responses", {"input": "Hi"}, ANSWERED, "openai.responses"),
        ("/v1/responses", {"input": "I liked it", "survey": "s"}, {"status": "stored"}, None),
        ("/openai/responses?api-version=1", {"prompt": {"id": "p"}}, None, "openai.responses"),
        ("/v1/responses", None, ANSWERED, "openai.responses"),
        ("/v1/responses", {"question": "Hi"}, None, None),
        ("/v1/responses", {"input": "Hi"}, {"status": "queued"}, "openai.background_response"),
        ("/v1/responses/compact", {"input": "Hi"}, None, "openai.response_upkeep"),
    ],
)
def test_a_response_is_told_by_address_and_input(path, request_body, response, name):
    """One that is only started has said nothing yet."""
    assert told(exchange_of(path, request_body, response)) == name


def test_outputs_of_tools_are_messages_of_tools():
    """They may be texts, parts, or objects."""
    asked = [
        {"type": "function_call_output", "output": [{"type": "input_text", "text": "one"}]},
        {"type": "custom_tool_call_output", "output": {"a": 1}},
        {"type": "item_reference", "id": "x"},
    ]
    assert read(exchange_of("/v1/responses", {"model": "m", "input": asked})).messages == (
        ChatMessage("tool", "one"),
        ChatMessage("tool", '{"a": 1}'),
    )


def test_a_stream_whose_last_response_is_empty_is_read_off_its_items():
    """Some servers send the output in events alone; the status still counts."""
    call = {"type": "custom_tool_call", "name": "sh"}
    events = [
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.custom_tool_call_input.delta", "output_index": 1, "delta": "l"},
        {"type": "response.custom_tool_call_input.delta", "output_index": 1, "delta": "s"},
        {"type": "response.refusal.delta", "output_index": 0, "delta": "No."},
        {"type": "response.incomplete", "response": {"status": "incomplete", "output": []}},
    ]
    reading = read(exchange_of("/v1/responses", {"input": "Hi"}, events=events))
    assert reading.answer == "No."
    assert reading.tool_calls == (ToolCall("sh", "ls"),)
    assert reading.finish_reason == "incomplete"

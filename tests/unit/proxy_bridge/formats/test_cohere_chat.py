"""Cohere's chat and generation, whole or streamed."""

from __future__ import annotations

import json

from call_exchanges import exchange_of, read

from otel_raglog_proxy_bridge.model import ChatMessage, Document, ToolCall

V1, V2 = "https://api.cohere.com/v1/chat", "https://api.cohere.com/v2/chat"


def test_a_stream_of_json_lines_reads_like_the_whole_answer():
    """The first version streams lines, not server-sent events."""
    lines = [
        {"event_type": "stream-start"},
        {"event_type": "tool-calls-generation", "tool_calls": [{"name": "t", "parameters": {}}]},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "hi"}},
    ]
    body = "\n".join(json.dumps(line) for line in lines)
    reading = read(exchange_of(V1, {"message": "a", "stream": True}, body))
    assert reading.answer == "hi"
    assert reading.tool_calls == (ToolCall("t", "{}"),)
    assert reading.finish_reason == "COMPLETE"


def test_a_stream_cut_after_one_line_is_a_stream():
    """One line alone parses as a whole answer."""
    line = json.dumps({"event_type": "text-generation", "text": "At"})
    assert read(exchange_of(V1, {"message": "a"}, line)).answer == "At"
    line = json.dumps({"text": "At", "is_finished": False})
    url = "https://api.cohere.com/v1/generate"
    assert read(exchange_of(url, {"prompt": "a"}, line)).answer == "At"


def test_results_of_tools_in_the_history_are_messages():
    """Each of its own, in order."""
    history = [
        {"role": "TOOL", "tool_results": [{"outputs": [{"a": 1}]}, {"outputs": [{"b": 2}]}]},
        {"role": "CHATBOT", "message": "ok"},
    ]
    reading = read(exchange_of(V1, {"message": "go", "chat_history": history}))
    assert reading.messages == (
        ChatMessage("tool", '[{"a": 1}]'),
        ChatMessage("tool", '[{"b": 2}]'),
        ChatMessage("assistant", "ok"),
        ChatMessage("user", "go"),
    )


def test_an_answer_in_pieces_is_one_text():
    """The second version answers with parts."""
    parts = [{"type": "text", "text": "At "}, {"type": "text", "text": "six"}]
    answer = {"message": {"content": parts}}
    request = {"messages": [{"role": "user", "content": "a"}]}
    assert read(exchange_of(V2, request, answer)).answer == "At six"


def test_documents_given_have_any_fields():
    """Objects without the usual names count with all their texts."""
    request = {
        "messages": [{"role": "user", "content": "a"}],
        "documents": [{"data": {"port": "Brest", "tide": "low"}, "id": "1"}, 7],
    }
    expected = Document(id="1", text="Brest\nlow")
    assert read(exchange_of(V2, request)).documents == (expected,)


def test_other_generations_of_a_stream_are_passed_over():
    """Asked for several, the first counts."""
    events = [{"text": "a", "index": 0}, {"text": "b", "index": 1}, {"text": "c", "index": 0}]
    url = "https://api.cohere.com/v1/generate"
    assert read(exchange_of(url, {"prompt": "p"}, events=events)).answer == "ac"

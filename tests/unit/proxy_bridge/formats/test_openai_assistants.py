"""OpenAI's assistants: streamed runs, whose events carry what the model said."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.model import ChatMessage


@pytest.mark.parametrize(
    ("path", "request_body", "name"),
    [
        ("/v1/threads/t/runs", {"assistant_id": "a", "stream": True}, "openai.streamed_run"),
        ("/v1/threads/runs", {"assistant_id": "a", "stream": True}, "openai.streamed_run"),
        ("/v1/threads/t/runs", {"assistant_id": "a"}, "openai.management"),
        ("/v1/threads/t/messages", {"role": "user", "content": "Hi"}, "openai.management"),
    ],
)
def test_only_a_streamed_run_carries_an_answer(path, request_body, name):
    """One that is started and asked for later is housekeeping."""
    assert told(exchange_of(path, request_body, {"status": "queued"})) == name


def test_a_thread_made_with_the_run_brings_its_messages():
    """Its instructions are the call's before the assistant's own."""
    asked = {
        "stream": True,
        "instructions": "Short.",
        "thread": {"messages": [{"role": "user", "content": "Hi"}]},
    }
    whole = [
        {"object": "thread.run", "status": "completed", "instructions": "Long."},
        {"object": "thread.message", "content": [{"type": "text", "text": {"value": "Ho"}}]},
    ]
    reading = read(exchange_of("/v1/threads/runs", asked, events=whole))
    assert reading.messages == (ChatMessage("system", "Short."), ChatMessage("user", "Hi"))
    assert reading.answer == "Ho"

"""Anthropic's messages and older completions, whole or streamed, Vertex AI's address included."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.model import ChatMessage, Document

ASKED = {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
VERTEX = "/v1/projects/p/locations/l/publishers/anthropic/models/"


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/messages", "anthropic.messages"),
        ("POST", "/proxy/anthropic/v1/messages?beta=true", "anthropic.messages"),
        ("POST", VERTEX + "claude:rawPredict", "anthropic.messages"),
        ("POST", VERTEX + "count-tokens:rawPredict", "anthropic.housekeeping"),
        ("POST", "/v1/messages/count_tokens", "anthropic.housekeeping"),
        ("POST", "/v1/messages/batches", "anthropic.housekeeping"),
        ("GET", "/v1/messages/batches/b/results", "anthropic.housekeeping"),
        ("GET", "/v1/models", "openai.models"),
        ("POST", "/v1/files", "openai.management"),
    ],
)
def test_messages_are_told_from_housekeeping(method, path, name):
    """By the path's end; Vertex AI names publisher and operation."""
    assert told(exchange_of(path, ASKED, method=method)) == name


def test_a_message_that_is_stored_is_no_call_of_a_model():
    """A thread's new message has a role and a content, not messages."""
    stored = {"role": "user", "content": "Hi"}
    assert told(exchange_of("/v1/threads/t/messages", stored)) == "openai.management"


def test_a_result_of_a_tool_is_a_message_of_its_own():
    """Alone it leaves no user's message; documents within it are documents."""
    found = {"type": "search_result", "source": "s", "title": "T", "content": [{"type": "text", "text": "A"}]}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": "t", "content": [found]}
    asked = ASKED | {"messages": [{"role": "user", "content": [result]}]}
    reading = read(exchange_of("/v1/messages", asked))
    assert reading.messages == (ChatMessage("tool", ""),)
    assert reading.documents == (Document("s", "A", metadata={"title": "T"}),)


def test_a_document_s_text_may_come_in_parts():
    """One that is a file or an address has none."""
    source = {"type": "content", "content": [{"type": "text", "text": "A"}]}
    parts = [
        {"type": "document", "source": source},
        {"type": "document", "source": {"type": "url"}},
    ]
    asked = ASKED | {"messages": [{"role": "user", "content": parts}]}
    texts = [document.text for document in read(exchange_of("/v1/messages", asked)).documents]
    assert texts == ["A", None]


def test_tokens_from_the_cache_were_read_too():
    """All that was read counts as the prompt."""
    usage = {"input_tokens": 1, "cache_read_input_tokens": 10, "output_tokens": 2}
    reading = read(exchange_of("/v1/messages", ASKED, {"type": "message", "usage": usage}))
    assert reading.prompt_tokens == 11


def test_messages_without_roles_are_no_chat():
    """Text messages and mails are sent to such addresses, too."""
    sms = {"messages": [{"to": "+1", "text": "The ferry is late"}]}
    assert told(exchange_of("/messages", sms, {"messages": [{"status": "sent"}]})) is None

"""Mistral's conversations; its chat, completions and embeddings have OpenAI's form."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told


@pytest.mark.parametrize(
    ("method", "path", "request_body", "name"),
    [
        ("POST", "/v1/conversations", {"inputs": "Hi", "model": "m"}, "mistral.conversations"),
        ("POST", "/v1/conversations/c", {"inputs": []}, "mistral.conversations"),
        ("POST", "/v1/conversations/c/restart", {"inputs": "Hi"}, "mistral.conversations"),
        ("POST", "/v1/conversations", {"items": []}, "openai.management"),
        ("GET", "/v1/conversations/c", None, "openai.management"),
        ("POST", "/v1/agents/completions", {"messages": [], "agent_id": "a"}, "openai.chat"),
    ],
)
def test_conversations_are_told_by_their_inputs(method, path, request_body, name):
    """OpenAI's conversations of the same name hold items, and no model answers."""
    assert told(exchange_of(path, request_body, method=method)) == name

"""Ollama's own API: chat, generate and embeddings, whole or as JSON lines."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

ASKED = {"model": "l", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("method", "path", "request_body", "name"),
    [
        ("POST", "/api/chat", ASKED, "ollama.chat"),
        ("POST", "/ollama/api/chat", ASKED, "ollama.chat"),
        ("POST", "/api/generate", {"model": "l", "prompt": "Hi"}, "ollama.generate"),
        ("POST", "/api/generate", {"model": "l"}, "ollama.housekeeping"),
        ("POST", "/api/embed", {"model": "e", "input": "a"}, "ollama.embed"),
        ("POST", "/api/embeddings", {"model": "e", "prompt": "a"}, "ollama.embeddings"),
        ("POST", "/api/embeddings", {"model": "e", "input": "a"}, "openai.embeddings"),
        ("GET", "/api/tags", None, "ollama.housekeeping"),
        ("POST", "/api/show", {"model": "l"}, "ollama.housekeeping"),
        ("HEAD", "/api/blobs/sha256:1", None, "ollama.housekeeping"),
        ("POST", "/v1/chat/completions", ASKED, "openai.chat"),
        ("POST", "/api/chat", {"messages": []}, None),
    ],
)
def test_operations_are_told_by_address_and_request(method, path, request_body, name):
    """A web application's own ``/api/chat`` names no model."""
    assert told(exchange_of(path, request_body, method=method)) == name


@pytest.mark.parametrize(
    ("path", "response", "name"),
    [
        ("/api/chat", {"message": {"content": "Ho"}, "done": True}, "ollama.chat"),
        ("/api/generate", {"response": "Ho", "done": True}, "ollama.generate"),
        ("/api/chat", {"answer": "Ho"}, None),
    ],
)
def test_an_unread_request_is_told_by_its_answer(path, response, name):
    """It may have been cut."""
    assert told(exchange_of(path, None, response)) == name


def test_an_error_is_a_call_without_an_answer():
    """What was asked is still read."""
    reading = read(exchange_of("/api/chat", ASKED, {"error": "not found"}, status=404))
    assert reading.answer is None
    assert reading.model == "l"


def test_a_model_that_is_loaded_says_nothing():
    """A chat without messages loads it, or unloads it."""
    answer = {"message": {"role": "assistant", "content": ""}, "done_reason": "load", "done": True}
    asked = {"model": "m", "messages": []}
    assert told(exchange_of("/api/chat", asked, answer)) == "ollama.housekeeping"

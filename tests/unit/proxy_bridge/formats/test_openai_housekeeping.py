"""Calls of OpenAI-like APIs that run no model on a question: stored things, media, telemetry."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/models", "openai.models"),
        ("GET", "/openai/models?api-version=1", "openai.models"),
        ("GET", "/api/models/org/name", "openai.models"),
        ("GET", "/available-models", "openai.models"),
        ("DELETE", "/v1/models/ft:m", "openai.models"),
        ("POST", "/v1/files", "openai.management"),
        ("GET", "/v1/files/f/content", "openai.management"),
        ("POST", "/v1/uploads/u/complete", "openai.management"),
        ("POST", "/v1/batches", "openai.management"),
        ("GET", "/openai/batches/b", "openai.management"),
        ("POST", "/v1/fine_tuning/jobs", "openai.management"),
        ("POST", "/v1/images/generations", "openai.management"),
        ("POST", "/openai/v1/audio/transcriptions", "openai.management"),
        ("POST", "/v1/moderations", "openai.management"),
        ("POST", "/v1/realtime/sessions", "openai.management"),
        ("POST", "/v1/conversations", "openai.management"),
        ("GET", "/v1/conversations/c/items", "openai.management"),
        ("POST", "/v1/assistants", "openai.management"),
        ("POST", "/v1/threads", "openai.management"),
        ("GET", "/v1/threads/t/messages", "openai.management"),
        ("POST", "/v1/vector_stores", "openai.management"),
        ("DELETE", "/v1/vector_stores/v", "openai.management"),
        ("POST", "/v1/ocr", "openai.management"),
        ("GET", "/v1/responses/r", "openai.stored"),
        ("DELETE", "/v1/responses/r", "openai.stored"),
        ("GET", "/v1/responses/r/input_items", "openai.stored"),
        ("GET", "/v1/chat/completions/c/messages", "openai.stored"),
        ("POST", "/v1/responses/input_tokens", "openai.response_upkeep"),
        ("POST", "/v1/responses/r/cancel", "openai.response_upkeep"),
        ("POST", "/v1/traces/ingest", "openai.trace_ingest"),
    ],
)
def test_housekeeping_is_told_by_method_and_address(method, path, name):
    """None of them makes a model answer a question."""
    assert told(exchange_of(path, {"name": "x"}, {}, method=method)) == name


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/models/ranker:score"),
        ("POST", "/shop/files"),
        ("GET", "/v1/files/search?q=a"),
        ("POST", "/v1/chat-messages"),
        ("GET", "/v1/search"),
        ("POST", "/"),
    ],
)
def test_what_may_be_a_stage_is_nobody_s(method, path):
    """A search among files, a model that is run, and a shop's own files are left to others."""
    assert told(exchange_of(path, {"name": "x"}, {}, method=method)) is None

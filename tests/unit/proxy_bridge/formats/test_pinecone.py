"""Pinecone's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

HOST = "https://docs-1a2b3c4.svc.aped-4627-b74a.pinecone.io"


@pytest.mark.parametrize(
    ("method", "url", "request_", "expected"),
    [
        ("POST", "/query", {"vector": [0.1], "topK": 1}, "pinecone.query"),
        ("POST", "/query", {"vector": [0.1], "top_k": 1}, "pinecone.query"),
        ("POST", "/query", {"question": "a", "topK": 1}, None),
        ("POST", f"{HOST}/vectors/delete", {"ids": ["a"]}, "pinecone.other"),
        ("GET", f"{HOST}/vectors/fetch?ids=a", None, "pinecone.other"),
        ("GET", f"{HOST}/vectors/list", None, "pinecone.other"),
        ("POST", "/describe_index_stats", {}, "pinecone.other"),
        ("POST", f"{HOST}/records/namespaces/n/upsert", "{}\n{}", "pinecone.other"),
        ("GET", "https://api.pinecone.io/collections", None, "pinecone.other"),
        ("GET", "https://api.pinecone.io/", None, "pinecone.other"),
    ],
)
def test_queries_are_told_from_upkeep(method, url, request_, expected):
    """A query by its shape, since the local emulator and gateways have any address."""
    assert told(exchange_of(url, request_, method=method)) == expected


@pytest.mark.parametrize("operation", ["rerank", "embed"])
def test_models_at_the_control_plane_are_left_to_others(operation):
    """Pinecone ranks and embeds at the same host as it manages indexes."""
    request = {
        "model": "m",
        "query": "a",
        "documents": [{"text": "b"}],
        "inputs": [{"text": "a"}],
        "parameters": {"input_type": "query"},
    }
    name = told(exchange_of(f"https://api.pinecone.io/{operation}", request))
    assert name is not None
    assert not name.startswith("pinecone.")


def test_an_assistant_is_asked_the_last_question():
    """Of the messages those of the user count."""
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    messages += [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]
    reading = read(exchange_of("/assistant/chat/x/context", {"messages": messages}))
    assert reading.searches[0].query == "c"


def test_records_may_be_found_by_a_field_of_another_name():
    """The field that the index embeds is not always called text."""
    request = {"query": {"inputs": {"question": "a"}, "top_k": 1}}
    reading = read(exchange_of("/records/namespaces/n/search", request))
    assert reading.searches[0].query == "a"

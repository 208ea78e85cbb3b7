"""Cohere's API, both versions, also behind gateways."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

CHAT = {"messages": [{"role": "user", "content": "a"}], "model": "m"}


@pytest.mark.parametrize(
    ("url", "request_", "expected"),
    [
        ("https://api.cohere.ai/chat", {"message": "a"}, "cohere.chat_v1"),
        ("/v1/chat", {"message": "a", "stream": False}, "cohere.chat_v1"),
        ("/v1/chat", {"message": "a"}, None),
        ("/v2/chat", {"messages": [{"id": 1, "body": "a"}]}, None),
        ("/v1/generate", {"prompt": "a", "template": "t"}, None),
        ("https://notcohere.com/models", {}, None),
        ("/cohere/chat", {"message": "a"}, "cohere.chat_v1"),
        ("/chat", {"message": "a"}, None),
        ("/v2/chat", CHAT, "cohere.chat_v2"),
        ("https://api.cohere.com/compatibility/v1/chat/completions", CHAT, "openai.chat"),
        ("https://api.cohere.com/v1/rerank", {"query": "a", "documents": ["b"]}, "cohere.rerank"),
        ("https://api.cohere.com/v1/rerank", {"query": "a"}, "cohere.other"),
        ("https://api.cohere.com/v1/generate", {"prompt": "a"}, "cohere.generate"),
        ("/v1/embed", {"texts": ["a"]}, "cohere.embed"),
        ("https://api.cohere.com/v1/classify", {"inputs": ["a"]}, "cohere.other"),
    ],
)
def test_cohere_s_operations_are_told(url, request_, expected):
    """By host, by a gateway's segment, or by a version and a shape that are Cohere's alone."""
    assert told(exchange_of(url, request_)) == expected


def test_vectors_in_base64_are_read():
    """One of the types that can be asked for."""
    answer = {"embeddings": {"base64": ["AAAAPwAAgD4="]}}
    request = {"texts": ["a"], "input_type": "clustering", "embedding_types": ["base64"]}
    reading = read(exchange_of("https://api.cohere.com/v2/embed", request, answer))
    assert reading.vectors == ((0.5, 0.25),)
    assert reading.purpose is None

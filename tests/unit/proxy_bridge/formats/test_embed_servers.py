"""Embedding servers with shapes of their own."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told


@pytest.mark.parametrize(
    ("path", "request_", "expected"),
    [
        ("/embed", {"inputs": "a"}, "embed_servers.tei"),
        ("/embed_sparse", {"inputs": ["a"]}, "embed_servers.tei"),
        ("/embed", {"inputs": [{"text": "a"}]}, "embed_servers.pinecone"),
        ("/embed", {"texts": ["a"]}, "cohere.embed"),
        ("/api/embed", {"model": "m", "input": "a"}, "ollama.embed"),
        ("/embedding", {"content": "a"}, "embed_servers.llama_cpp"),
        ("/detokenize", {"ids": [1]}, "embed_servers.tokenize"),
        ("/embed", {}, None),
    ],
)
def test_servers_with_the_same_path_are_told_by_their_inputs(path, request_, expected):
    """Texts, objects with a text, and what other APIs call their inputs."""
    assert told(exchange_of(f"http://10.0.0.7:8080{path}", request_)) == expected

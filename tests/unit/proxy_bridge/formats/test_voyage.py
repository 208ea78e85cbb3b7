"""Voyage AI's API, also as MongoDB Atlas offers it."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("url", "request_", "expected"),
    [
        ("https://api.voyageai.com/v1/embeddings", {"input": "a"}, "voyage.embeddings"),
        ("/v1/embeddings", {"input": ["a"], "input_type": None}, "voyage.embeddings"),
        ("/v1/embeddings", {"input": ["a"]}, "openai.embeddings"),
        ("/v1/rerank", {"query": "q", "documents": ["a"]}, "rerank_servers.rerank"),
        (
            "https://ai.mongodb.com/v1/rerank",
            {"query": "q", "documents": ["a"]},
            "voyage.rerank",
        ),
    ],
)
def test_it_is_told_by_host_or_by_saying_what_vectors_are_for(url, request_, expected):
    """OpenAI's embeddings have no such thing."""
    assert told(exchange_of(url, request_)) == expected


def test_chunks_of_documents_stay_in_order():
    """A document given as a text alone is one chunk; so is each chunk of another."""
    request = {"inputs": [["a", "b"], "c"], "model": "m"}
    answer = {"data": [{"index": 0, "data": [{"embedding": [1]}, {"embedding": [2]}]}]}
    reading = read(exchange_of("/v1/contextualizedembeddings", request, answer))
    assert reading.inputs == ("a", "b", "c")
    assert reading.vectors == ()


def test_a_host_with_a_name_that_ends_alike_is_another():
    """Whose it is, nobody knows."""
    asked = {"model": "m", "input": ["a"]}
    assert told(exchange_of("https://notvoyageai.com/v1/embeddings", asked)) == "openai.embeddings"

"""Jina AI's APIs."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("url", "request_", "expected"),
    [
        ("https://api.jina.ai/v1/embeddings", {"input": "a"}, "jina.embeddings"),
        ("/v1/embeddings", {"input": ["a"], "task": "text-matching"}, "jina.embeddings"),
        ("/v1/embeddings", {"input": ["a"]}, "openai.embeddings"),
        ("https://api.jina.ai/v1/classify", {"input": ["a"], "labels": ["b"]}, "jina.other"),
        ("https://s.jina.ai/", {}, "jina.other"),
        (
            "https://deepsearch.jina.ai/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": "a"}]},
            "openai.chat",
        ),
    ],
)
def test_what_stands_at_jina_s_hosts_is_told_apart(url, request_, expected):
    """Chat in OpenAI's form is left to OpenAI's format."""
    assert told(exchange_of(url, request_)) == expected


def test_a_search_may_be_asked_by_parameter():
    """With the number of pages wanted, where it is a number."""
    url = "https://s.jina.ai/?q=low%20water&num="
    reading = read(exchange_of(f"{url}3", method="GET"))
    assert (reading.searches[0].query, reading.top_k) == ("low water", 3)
    for odd in ("many", "", "9" * 5000, "²"):
        assert read(exchange_of(url + odd, method="GET")).top_k is None

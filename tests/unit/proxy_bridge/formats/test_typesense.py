"""Typesense's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("GET", "/collections/c/documents/search?q=a", "typesense.search"),
        ("GET", "/collections/c/documents/1", "typesense.other"),
        ("GET", "https://x.a1.typesense.net/health", "typesense.other"),
    ],
)
def test_searches_are_told_from_upkeep(method, url, expected):
    """Fetching one document is no search."""
    assert told(exchange_of(url, method=method)) == expected


@pytest.mark.parametrize(
    ("written", "vector", "top_k"),
    [
        ("v:([0.1, 0.2], k: 7)", (0.1, 0.2), 7),
        ("v:([], id: abc, k: 7)", None, 7),
        ("v:([], queries: [a, b])", None, None),
        ("v:(", None, None),
    ],
)
def test_a_vector_query_is_taken_apart(written, vector, top_k):
    """It is a text of its own small language."""
    request = {"searches": [{"q": "*", "vector_query": written}]}
    reading = read(exchange_of("/multi_search", request))
    assert (reading.searches[0].vector, reading.top_k) == (vector, top_k)

"""Marqo's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

SEARCH = "/indexes/d/search"


@pytest.mark.parametrize(
    ("url", "request_", "answer", "expected"),
    [
        (SEARCH, {"q": "a", "searchMethod": "TENSOR"}, None, "marqo.search"),
        (SEARCH, {"q": "a"}, {"hits": [{"_highlights": []}]}, "marqo.search"),
        (f"http://localhost:8882{SEARCH}", {"q": "a"}, None, "marqo.search"),
        (f"https://x.dp1.marqo.ai{SEARCH}", {"q": "a"}, None, "marqo.search"),
        (SEARCH, {"q": "a"}, {"hits": [{"id": 1}]}, "meilisearch.search"),
        ("http://localhost:8882/indexes/d/stats", None, None, "marqo.other"),
    ],
)
def test_marqo_is_told_from_meilisearch(url, request_, answer, expected):
    """Their addresses are the same; options, hits, host or port tell."""
    assert told(exchange_of(url, request_, answer)) == expected


def test_highlights_may_be_an_object():
    """Of older versions; the whole field is the text, not the part of it."""
    hit = {"_id": "1", "name": "text of a name", "about": "a b c", "_highlights": {"about": "b"}}
    request = {"q": "b", "searchMethod": "LEXICAL"}
    (search,) = read(exchange_of(SEARCH, request, {"hits": [hit]})).searches
    assert search.documents[0].text == "a b c"

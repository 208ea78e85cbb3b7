"""ColBERT's search server."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "path", "request_", "answer", "expected"),
    [
        ("GET", "/any/path?query=a&k=2", None, None, "colbert.search"),
        ("GET", "/any/path?query=a&k=2&page=1", None, None, None),
        ("GET", "/any/path?query=a", None, None, None),
        ("POST", "/any/path", {"query": "a", "k": 2}, {"topk": []}, "colbert.search"),
        ("POST", "/any/path", {"query": "a", "k": 2}, {"results": []}, None),
    ],
)
def test_it_is_told_by_what_it_is_asked(method, path, request_, answer, expected):
    """Its address may be any."""
    assert told(exchange_of(path, request_, answer, method=method)) == expected


def test_a_longer_text_is_the_passage():
    """DSPy adds it; the shorter one is then left out where it is the same."""
    hit = {"text": "a", "long_text": "a b", "pid": 3, "score": 1.5}
    (search,) = read(exchange_of("/x?query=q&k=1", None, {"topk": [hit]}, method="GET")).searches
    (document,) = search.documents
    assert (document.id, document.text, document.metadata) == ("3", "a b", {"text": "a"})

"""Algolia's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://app-dsn.algolia.net/1/indexes/d/query", "algolia.search"),
        ("https://app-1.algolianet.com/1/indexes/*/queries", "algolia.multi_search"),
        ("https://insights.algolia.io/1/events", "algolia.other"),
        ("https://elsewhere.net/1/indexes/d/query", None),
    ],
)
def test_algolia_is_told_by_its_hosts(url, expected):
    """It is a service only, which nobody else runs."""
    assert told(exchange_of(url, {"query": "a"})) == expected

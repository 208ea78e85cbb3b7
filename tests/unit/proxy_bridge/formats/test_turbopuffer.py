"""turbopuffer's operations."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.model import Search

QUERY = "/v2/namespaces/n/query"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (QUERY, "turbopuffer.query"),
        ("https://api.turbopuffer.com/v1/vectors/n/query", "turbopuffer.query"),
        ("/v1/vectors/n/query", None),
        ("https://api.turbopuffer.com/v1/namespaces", "turbopuffer.other"),
    ],
)
def test_queries_are_told_from_upkeep(url, expected):
    """The older path is told at its host alone."""
    assert told(exchange_of(url, {})) == expected


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["v", "ANN", [0.1]], Search(vector=(0.1,))),
        (["v", "kNN", [0.1]], Search(vector=(0.1,))),
        (["t", "BM25", "a"], Search(query="a")),
        (["Product", 2, ["t", "BM25", "a"]], Search(query="a")),
        (["Sum", [["t", "BM25", "a"], ["v", "ANN", [0.1]]]], Search("a", (0.1,))),
        (["id", "asc"], Search()),
        ("id", Search()),
    ],
)
def test_the_ranking_says_what_is_asked(ranking, expected):
    """Also where several are added up."""
    assert read(exchange_of(QUERY, {"rank_by": ranking})).searches == (expected,)

"""Supabase's calls of functions."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

RPC = "/rest/v1/rpc"


@pytest.mark.parametrize(
    ("url", "request_", "expected"),
    [
        (f"{RPC}/nearest_chunks", {"embedding": [0.1]}, "supabase.rpc"),
        (f"{RPC}/anything", {"v": "[0.1, 0.2]"}, "supabase.rpc"),
        (f"{RPC}/kw_match_documents", {"query_text": "a"}, "supabase.rpc"),
        (f"{RPC}/log_question", {"query_text": "a"}, "supabase.other"),
        (f"{RPC}/match_user", {"id": 7}, "supabase.other"),
        ("/rest/v1/documents?select=*", None, "supabase.other"),
        ("https://x.supabase.co/auth/v1/token", {}, "supabase.other"),
        ("/rpc/add", {"a": 1}, None),
    ],
)
def test_a_search_function_is_given_an_embedding_or_words(url, request_, expected):
    """Its name and those of its arguments are the user's own."""
    assert told(exchange_of(url, request_)) == expected


@pytest.mark.parametrize(
    ("scored", "score"),
    [({"similarity": 0.8}, 0.8), ({"distance": 0.2, "rank": None}, 0.2), ({"id2": 1}, None)],
)
def test_a_row_s_score_is_under_one_of_its_usual_names(scored, score):
    """It is no metadata then."""
    rows = [{"uuid": "u", "content": "a", **scored}]
    (search,) = read(exchange_of(f"{RPC}/match_docs", {"v": [0.1]}, rows)).searches
    (document,) = search.documents
    assert (document.id, document.text, document.score) == ("u", "a", score)
    assert "similarity" not in document.metadata

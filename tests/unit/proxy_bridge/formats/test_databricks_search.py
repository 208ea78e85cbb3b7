"""Databricks' vector search."""

from __future__ import annotations

from call_exchanges import exchange_of, read

from otel_raglog_proxy_bridge.model import Document

QUERY = "/api/2.0/vector-search/indexes/main.hr.docs/query"


def test_rows_are_read_by_their_columns():
    """Without a score where the last column is none; the first one is the key."""
    columns = [{"name": "slug"}, {"name": "body"}]
    answer = {"manifest": {"columns": columns}, "result": {"data_array": [["s", "a"], ["t"]]}}
    (search,) = read(exchange_of(QUERY, {"query_text": "q"}, answer)).searches
    assert search.documents == (
        Document("s", "a", None, {"slug": "s"}),
        Document("t", None, None, {"slug": "t"}),
    )


def test_a_filter_is_json_in_writing_or_sql():
    """Whichever the kind of index has."""
    for key, written, expected in (
        ("filters_json", '{"a": 1}', {"a": 1}),
        ("filters_json", "{}", None),
        ("filter_string", "a = 1", "a = 1"),
    ):
        reading = read(exchange_of(QUERY, {"query_text": "q", key: written}))
        assert reading.filters == expected

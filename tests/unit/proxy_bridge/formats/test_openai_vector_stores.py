"""OpenAI's vector stores: a search of one."""

from __future__ import annotations

from call_exchanges import exchange_of, read, told


def test_a_search_is_told_from_the_store_s_upkeep():
    """All else of a vector store is housekeeping."""
    assert told(exchange_of("/v1/vector_stores/v/search", {"query": "a"})) == (
        "openai.vector_store_search"
    )
    assert told(exchange_of("/v1/vector_stores/v/files", {"file_id": "f"})) == "openai.management"


def test_several_queries_are_one_search():
    """Their hits come in one list."""
    reading = read(exchange_of("/v1/vector_stores/v/search", {"query": ["a", "b"]}, {"data": []}))
    assert [search.query for search in reading.searches] == ["a\nb"]

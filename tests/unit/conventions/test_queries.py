"""Where search texts, embedded texts and limits are found in inputs."""

import pytest

from otel_raglog.conventions.queries import (
    embedded_texts_in,
    filters_in,
    query_in,
    searches_in,
    top_k_in,
)


@pytest.mark.parametrize(
    "data",
    [
        {"query": "x"},
        {"query_bundle": {"query_str": "x", "custom_embedding_strs": ["y"]}},
        {"str_or_query_bundle": "x"},
        {"args": ["x"], "kwargs": {}},
        {"kwargs": {"query": "x"}},
        {"anything": "x"},
        ["x"],
    ],
)
def test_query(data):
    """The search text of LlamaIndex, LangChain, Haystack and tools is found."""
    assert query_in(data) == "x"


def test_no_query():
    """A vector is no text, and of several unknown texts none is chosen."""
    assert query_in({"query_embedding": [0.1], "top_k": 3}) is None
    assert query_in({"a": "x", "b": "y"}) is None


def test_embedded_texts():
    """Texts may be one or many; token ids are none."""
    assert embedded_texts_in({"query": "x"}) == ("x",)
    assert embedded_texts_in({"input": ["x", "y"], "model": "m"}) == ("x", "y")
    assert embedded_texts_in({"input": [[1, 2]]}) == ()


def test_limits_and_filters():
    """The number of results and the filters are found at the usual names."""
    assert top_k_in({"search_kwargs": {"k": 3}}) == 3
    assert top_k_in({"top_k": None}) is None
    assert filters_in({"filters": {"b": 1, "a": 2}}) == '{"a": 2, "b": 1}'
    assert filters_in({"filter": 'eq("year", 2025)'}) == 'eq("year", 2025)'
    assert filters_in({"filters": None}) is None


def test_written_searches():
    """All search texts that an LLM wrote as JSON, under any name of a query."""
    assert searches_in({"query": "fares", "filter": "eq(year, 2025)"}) == ("fares",)
    assert searches_in({"queries": ["a", "b"], "plan": [{"sub_question": "c"}]}) == ("a", "b", "c")
    assert searches_in({"arguments": {"search_query": "d"}, "id": "x"}) == ("d",)
    assert searches_in({"query": " "}) == searches_in("fares") == ()

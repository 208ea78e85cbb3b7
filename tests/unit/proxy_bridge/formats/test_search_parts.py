"""Parts that the requests of search services share."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    merged,
    query_of,
    score_in,
    several,
    text_in,
)
from otel_raglog_proxy_bridge.model import Document, Search


def test_a_batch_has_a_search_for_each_query():
    """Also where the answer is short, or an error; what answers no query is left out."""
    a, b = Search("a"), Search("b")
    hit = (Document("1"),)
    assert answered([a, b], [hit]) == (Search("a", None, hit), b)
    assert answered([a], []) == (a,)
    assert answered([a], [hit, hit]) == (Search("a", None, hit),)


def test_a_request_that_was_cut_has_a_search_for_each_answer():
    """What was found is known, though not what was asked."""
    hit = (Document("1"),)
    assert answered([], [hit, ()]) == (Search(documents=hit), Search())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 1], (0.5, 1.0)),
        ("[0.5, 1]", (0.5, 1.0)),
        ("abcdefghijklmnop", None),  # base64 of three floats
        ("[0.5, ", None),
        ([], None),
        ([[0.5]], None),
        ([True], None),
        ({"values": [0.5]}, None),
    ],
)
def test_a_vector_is_a_list_of_numbers(given, expected):
    """A text is one only if it is such a list in writing: words may look like base64."""
    assert dense([given], 0) == expected


def test_queries_are_texts_or_vectors():
    """One vector is one query, a list of vectors or texts is several."""
    assert query_of("words") == Search(query="words")
    assert query_of([0.5]) == Search(vector=(0.5,))
    assert several([0.5, 0.6]) == (Search(vector=(0.5, 0.6)),)
    assert several([[0.5], "words"]) == (Search(vector=(0.5,)), Search(query="words"))
    assert several(None) == ()


def test_hybrid_searches_are_one():
    """The first text and the first vector are what is asked."""
    ways = [Search(), Search("a"), Search("b", (0.5,)), Search(vector=(0.6,))]
    assert merged(ways) == Search("a", (0.5,))
    assert merged([]) == Search()


def test_a_text_says_something():
    """Blanks and the star that stands for everything are none."""
    assert text_in({"a": " ", "b": "*", "c": 7, "d": "words"}, "a", "b", "c", "d") == "words"
    assert text_in(None, "a") is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [(3, 3), ("3", 3), (3.0, 3), ("-3", None), ("9" * 5000, None), ("²", None), (True, None)],
)
def test_a_count_may_be_written_as_a_text(given, expected):
    """Query strings write all numbers so."""
    assert count_in({"k": given}, "missing", "k") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.5, 0.5), ("0.5", 0.5), ("high", None), ("nan", None), (None, None)],
)
def test_a_score_may_be_written_as_a_text(given, expected):
    """Weaviate writes some so."""
    assert score_in({"score": given}, "score") == expected


def test_the_first_score_that_is_one_counts():
    """A zero is a score."""
    assert score_in({"a": "x", "b": 0, "c": 1}, "a", "b", "c") == 0


def test_an_empty_filter_is_none():
    """Clients send filters that filter nothing."""
    assert filter_in({"a": {}, "b": [], "c": "", "d": {"x": 1}}, "a", "b", "c", "d") == {"x": 1}
    assert filter_in({"a": {}}, "a") is None

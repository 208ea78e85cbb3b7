"""Shapes of unknown JSON: places, texts, vectors, columns."""

import pytest
from unknown_calls import VECTOR

from otel_raglog_proxy_bridge.expressions import check_expression, found_by
from otel_raglog_proxy_bridge.shapes import (
    are_ids,
    are_numbers,
    columns,
    is_vector,
    joined,
    normal,
    spots,
    texts_in,
    usual_words,
    words_in,
)


def test_places_come_shallow_first_with_their_expressions():
    """So what is found first is the plainest."""
    found = list(spots({"a": {"b": 1}, "d": [{"e": 2}, {"f": 3}]}, into_lists=True))
    assert [spot.below("response") for spot in found] == [
        "response",
        "response.a",
        "response.d",
        "response.a.b",
        "response.d[0]",
        "response.d[0].e",
    ]


def test_keys_that_look_like_ids_lead_nowhere():
    """No other call has them, and they may be secret."""
    assert [spot.keys for spot in spots({"9f86d081884c7d65": {"text": "x"}, "ok": 1})] == [
        (),
        ("ok",),
    ]


def test_expressions_of_odd_keys_are_quoted():
    """And JMESPath finds the value again."""
    expression = joined("response", ("@search.score", 0, "x-y"))
    check_expression(expression)
    data = {"response": {"@search.score": [{"x-y": 5}]}}
    assert found_by(expression, data) == 5
    assert joined("", ()) == "@"


def test_wide_and_deep_data_is_looked_at_in_part_only():
    """A body of megabytes costs no more than a small one."""
    wide = {f"key{'abcdefghij'[n % 10]}{n}": n for n in range(3_000)}
    assert len(list(spots(wide))) == 400
    deep = "x"
    for _ in range(50):
        deep = {"a": deep}
    assert len(list(spots(deep, depth=4))) == 5


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (VECTOR, True),
        (VECTOR[:7], False),
        ([float(n) for n in range(20)], False),
        (list(range(1_000)), False),
        ([*VECTOR, None], False),
        ([*VECTOR, float("nan")], False),
        ([True] * 9, False),
        ("x" * 9, False),
    ],
)
def test_vectors_are_lists_of_numbers_with_fractions(value, holds):
    """Ids of tokens are none."""
    assert is_vector(value) is holds


def test_words_are_counted_in_all_scripts():
    """Two ideographs count as a word."""
    assert words_in("a few words") == 3
    assert words_in("年次有給休暇は二十五日") >= 5


def test_texts_of_a_value():
    """One, several, or none when anything else is among them."""
    assert texts_in("a") == ("a",)
    assert texts_in(["a", "b"]) == ("a", "b")
    assert texts_in(["a", 1]) == texts_in([]) == texts_in(" ") == ()


def test_columns_of_objects_have_a_value_for_each():
    """``None`` where one has none."""
    found = {each.expression: list(each.values) for each in columns([{"a": {"b": 1}}, {"a": {}}])}
    assert found == {"a": [{"b": 1}, {}], "a.b": [1, None]}
    assert list(columns([])) == []


def test_kinds_of_columns():
    """Ids are short and different, numbers are finite, usual words are the middle one's."""
    assert are_ids(["a", "b"])
    assert are_ids([1, 2])
    assert not are_ids(["a", "a"])
    assert not are_ids(["two words", "b"])
    assert not are_ids([None, "b"])
    assert are_numbers([1, 0.5])
    assert not are_numbers([])
    assert not are_numbers([1, None])
    assert usual_words(["a b c", "a", "a b c d e"]) == 3
    assert usual_words(["a b c", None, None]) == 0


def test_names_are_compared_without_marks():
    """APIs write one name in many ways."""
    assert normal("searchText") == normal("search_text") == normal("Search-Text") == "searchtext"

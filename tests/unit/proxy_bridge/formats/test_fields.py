"""Values are taken out of JSON of any shape without an error."""

from __future__ import annotations

import math

import pytest

from otel_raglog_proxy_bridge.formats.fields import (
    as_json,
    at,
    count,
    items,
    mapping,
    mappings,
    name,
    number,
    text,
    texts,
    vector,
)

DATA = {"a": [{"b": "x"}, 7, {"b": 3}], "n": 2.0, "t": True, "big": 10**400, "nan": math.nan}


def test_a_place_is_keys_and_positions():
    """What is not there is ``None``."""
    assert at(DATA, "a", 0, "b") == "x"
    assert at(DATA, "a", -1, "b") == 3
    for keys in (("a", 9), ("a", "b"), ("z",), ("a", 0, "b", 0), ("n", "x")):
        assert at(DATA, *keys) is None


def test_each_kind_is_asked_for_by_name():
    """Another kind is as if it were not there."""
    assert text(DATA, "a", 0, "b") == "x"
    assert text(DATA, "n") is None
    assert name(DATA, "a", 2, "b") == "3"
    assert name(DATA, "t") is None
    assert number(DATA, "n") == 2.0
    assert [number(DATA, key) for key in ("t", "big", "nan", "a")] == [None] * 4
    assert count(DATA, "n") == 2
    assert [count(DATA, key) for key in ("t", "nan", "a")] == [None] * 3
    assert mapping(DATA, "a") == {}
    assert items(DATA, "n") == ()
    assert [each.get("b") for each in mappings(DATA, "a")] == ["x", 3]


def test_texts_are_one_or_several():
    """APIs take both."""
    assert texts({"i": "a"}, "i") == ("a",)
    assert texts({"i": ["a", 1, "b"]}, "i") == ("a", "b")
    assert texts({}, "i") == ()


def test_vectors_are_numbers_or_packed():
    """Base64 of 32-bit floats, little-endian first."""
    assert vector([0.5, 1]) == (0.5, 1.0)
    assert vector("AAAAPwAAgD4=") == (0.5, 0.25)
    for odd in ([], ["x"], [True], "no base64!", "AAAA", [10**400], None):
        assert vector(odd) is None


@pytest.mark.parametrize(("data", "written"), [("x", "x"), ({"a": "é"}, '{"a": "é"}')])
def test_json_is_written_as_text(data, written):
    """Text stays as it is."""
    assert as_json(data) == written

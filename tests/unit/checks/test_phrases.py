"""Phrases of explanations."""

from otel_raglog.checks.phrases import chunk_name, counted, listing, number_listing
from otel_raglog.checks.text.numbers import numbers
from otel_raglog.model import Chunk


def test_lists_are_joined_as_english_does_and_bounded() -> None:
    """Three items, and how many more."""
    assert listing(["a"]) == '"a"'
    assert listing(["a", "b"]) == '"a" and "b"'
    assert listing(list("abcde")) == '"a", "b", "c" and 2 more'


def test_numbers_are_named_with_their_kind() -> None:
    """As written."""
    assert number_listing(numbers("in 2011, 25%")) == "the year 2011 and the percentage 25%"


def test_long_items_and_ids_are_shortened() -> None:
    """An id may be a whole URL."""
    assert len(chunk_name(1, Chunk("", id="x" * 500))) < 80
    assert chunk_name(3, Chunk("")) == "chunk 3"


def test_counts() -> None:
    """Singular and plural."""
    assert (counted(1, "chunk"), counted(2, "chunk")) == ("1 chunk", "2 chunks")

"""What embedding APIs call the purpose of a text to ``query`` or ``document``."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.purposes import purpose_of


@pytest.mark.parametrize(
    ("word", "purpose"),
    [
        ("RETRIEVAL_QUERY", "query"),
        ("search_query", "query"),
        ("retrieval.query", "query"),
        ("QUESTION_ANSWERING", "query"),
        ("retrieval.passage", "document"),
        ("search_document", "document"),
        ("classification", None),
        (None, None),
    ],
)
def test_words_of_different_apis_say_the_same(word, purpose):
    """Only words that mean a search's query or its documents say a purpose."""
    assert purpose_of(word) == purpose


def test_the_first_word_that_says_something_counts():
    """APIs differ in the field that says it."""
    assert purpose_of(None, "clustering", "passage", "query") == "document"

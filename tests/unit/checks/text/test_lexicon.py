"""The word lists."""

import re

from otel_raglog.checks.text import lexicon
from otel_raglog.checks.text.words import fold


def test_word_lists_are_folded() -> None:
    """They are compared with folded words, so that a capital would never match."""
    for name in ("STOPWORDS", "NEGATIONS", "QUALIFIERS", "GENERIC_NOUNS", "SENTENCE_OPENERS"):
        assert all(word == fold(word) for word in getattr(lexicon, name)), name


def test_refusal_patterns_compile() -> None:
    """Each is a regular expression of its own."""
    assert all(re.compile(pattern) for pattern in lexicon.REFUSAL_PHRASES)

"""Turns a question and a text into how much of what the question names is in the text."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.text.lexicon import QUALIFIERS
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import WordIndex, content_words

NAME_WEIGHT = 2.0
QUALIFIER_WEIGHT = 0.5


def question_weights(question: str) -> Mapping[str, float]:
    """Return the question's content words with their weights.

    Words of names, and words with a digit, weigh double, since they pick out the entity that is
    asked about; qualifiers (*first*, *current*) weigh half, since texts seldom repeat them.
    """
    of_names = {word for name in names(question) for word in name.words}
    return {word: _weight(word, word in of_names) for word in content_words(question)}


def coverage(weights: Mapping[str, float], index: WordIndex) -> float:
    """Return the weighted share of the question's words, or forms of them, in the text.

    1.0 for a question without content words: nothing is missing.
    """
    total = sum(weights.values())
    if not total:
        return 1.0
    found = sum(weight for word, weight in weights.items() if index.holds_related(word))
    return found / total


def _weight(word: str, in_name: bool) -> float:  # noqa: FBT001  private, one call
    if in_name or any(c.isdigit() for c in word):
        return NAME_WEIGHT
    return QUALIFIER_WEIGHT if word in QUALIFIERS else 1.0

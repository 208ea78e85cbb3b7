"""Turns an answer into how far it declines to answer."""

from __future__ import annotations

import re

from otel_raglog.checks.text.lexicon import REFUSAL_PHRASES
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import fold

_SENTENCES_READ = 12
_SENTENCE_LENGTH = 600
_MOSTLY, _PARTLY = 0.5, 0.34


def refusal_share(answer: str) -> float:
    """Return the share of the answer's sentences (its first twelve) that decline to answer."""
    read = sentences(answer)[:_SENTENCES_READ]
    if not read:
        return 0.0
    pattern = re.compile("|".join(REFUSAL_PHRASES))
    declined = [bool(pattern.search(fold(sentence[:_SENTENCE_LENGTH]))) for sentence in read]
    return sum(declined) / len(read)


def refuses(answer: str) -> bool:
    """Whether the answer as a whole declines: its first sentence does, or more than half of it."""
    read = sentences(answer)[:_SENTENCES_READ]
    if not read:
        return False
    share = refusal_share(answer)
    return share > _MOSTLY or (share >= _PARTLY and refusal_share(read[0]) > 0)

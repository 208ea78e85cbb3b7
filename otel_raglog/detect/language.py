"""The texts of a run to whether they are in the language that the checks know."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog.checks.reading import claims_of
from otel_raglog.checks.text.lexicon import STOPWORDS
from otel_raglog.checks.text.words import words
from otel_raglog.model import Run

_FEWEST_WORDS = 10
_LEAST_SHARE = 0.13
"""English running text has a quarter of function words and more, in short technical sentences
a sixth; related languages share some of their forms and stay below an eighth."""
_TABLES_SHARE = 0.11
"""For chunks alone: English tables have fewer function words than sentences."""
_MOST_FOREIGN = 0.3
_LAST_LATIN = 0x24F  # the end of Latin Extended-B
_MOST_CHARACTERS = 20_000


def reads_as_english(run: Run) -> bool:
    """Tell whether question, answer and chunks read as English; a few words are taken to.

    Decided by the share of English function words, or by letters of other scripts.
    """
    chunks = "\n".join(_chunk_texts(run))
    asked = "\n".join(_asked_texts(run))
    # An English question over other documents is no English run.
    whole = f"{asked}\n{chunks}"
    return _has_function_words(whole, _LEAST_SHARE) and _has_function_words(chunks, _TABLES_SHARE)


def _has_function_words(whole: str, least_share: float) -> bool:
    text = whole[:_MOST_CHARACTERS]
    letters = [character for character in text if character.isalpha()]
    foreign = sum(ord(character) > _LAST_LATIN for character in letters)
    if letters and foreign > _MOST_FOREIGN * len(letters):
        return False
    found = words(text)
    if len(found) < _FEWEST_WORDS:
        return True
    return sum(word in STOPWORDS for word in found) >= least_share * len(found)


def _asked_texts(run: Run) -> Iterator[str]:
    if run.question.usable and run.question.value:
        yield run.question.value
    answer = claims_of(run)
    if answer:
        yield answer


def _chunk_texts(run: Run) -> Iterator[str]:
    for step in run.retrievers:
        for chunk in step.chunks.value or ():
            yield chunk.text

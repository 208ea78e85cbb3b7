"""Relevance of texts to a question."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from handbook_runs import HANDBOOK, FakeEncoder

from otel_raglog.checks.similarity.relevance import (
    MAX_PASSAGES,
    PASSAGE_WORDS,
    passages,
    relevances,
    spearman,
)


def test_a_text_that_fits_is_one_passage_unchanged() -> None:
    """Chunks are short as a rule."""
    assert passages("One.  Two.") == ("One.  Two.",)


def test_a_long_text_is_cut_at_sentences_and_bounded() -> None:
    """No passage is longer than the encoder's window; the last one is always kept."""
    text = " ".join(f"Sentence number {i} is here." for i in range(2_000)) + " The end."
    pieces = passages(text)
    assert len(pieces) == MAX_PASSAGES
    assert all(len(piece.split()) <= PASSAGE_WORDS for piece in pieces)
    assert pieces[-1].endswith("The end.")


def test_a_long_sentence_is_cut_too() -> None:
    """Text without full stops has passages as well."""
    assert all(len(piece.split()) <= PASSAGE_WORDS for piece in passages("word " * 500))


def test_the_relevant_text_has_the_highest_relevance() -> None:
    """By words and vectors together, each in [0, 1]."""
    found = relevances(
        ("How long is parental leave in Germany?",), list(HANDBOOK.values()), FakeEncoder()
    )
    totals = [relevance.total for relevance in found]
    assert totals.index(max(totals)) == list(HANDBOOK).index("parental")
    assert all(0 <= total <= 1 for total in totals)


def test_evidence_at_the_end_of_a_long_text_is_encoded() -> None:
    """It would lie outside the encoder's window."""
    seen: list[str] = []

    class Spy(FakeEncoder):
        def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            seen.extend(texts)
            return super().encode(texts)

    relevances(("leave?",), ["Nothing of note. " * 150 + HANDBOOK["parental"]], Spy())
    assert seen[-1].endswith(HANDBOOK["parental"])
    assert all(len(text.split()) <= PASSAGE_WORDS for text in seen)


def test_the_form_that_fits_best_counts() -> None:
    """A follow-up is relevant with its conversation."""
    text = [HANDBOOK["parental"]]
    (alone,) = relevances(("And in Austria?",), text, FakeEncoder())
    (told,) = relevances(
        ("And in Austria?", "How long is parental leave?\nAnd in Austria?"), text, FakeEncoder()
    )
    assert told.total >= alone.total


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 2], [1, 2], None),
        ([1, 1, 1], [1, 2, 3], None),
    ],
)
def test_spearman(one: list[float], other: list[float], expected: float | None) -> None:
    """Undefined for fewer than three values, or without variation."""
    assert spearman(one, other) == (pytest.approx(expected) if expected is not None else None)

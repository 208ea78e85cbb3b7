"""Long texts in passages, and how well they answer."""

from collections.abc import Sequence

import pytest
from handbook_runs import HANDBOOK, FakeCrossEncoder

from otel_raglog.checks.crossencoder.passages import (
    MAX_TEXTS,
    MAX_WINDOWS,
    WINDOW_WORDS,
    answered_by,
    clearly,
    clearly_not,
    likeliest,
    windows_of,
)
from otel_raglog.checks.crossencoder.reader import Reading

LEAVE = "How long is parental leave in Germany?"


class Spy(FakeCrossEncoder):
    """Keeps the pairs that it read."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        self.pairs += pairs
        return super().read(pairs)


@pytest.mark.parametrize("text", ["", "   ", "One.  Two.\n\n", "\x00\ud800 🏖", "word " * 75])
def test_a_text_that_fits_is_one_passage_unchanged(text: str) -> None:
    """Chunks are short as a rule."""
    assert windows_of(text) == (text,)


def test_a_longer_text_is_cut_at_sentences_and_loses_no_word() -> None:
    """As many sentences as fit are one passage."""
    text = " ".join(f"Sentence {n} of this text has eight words." for n in range(30))
    found = windows_of(text)
    assert " ".join(found) == text
    assert [len(window.split()) for window in found] == [72, 72, 72, 24]
    assert all(window.startswith("Sentence") and window.endswith("words.") for window in found)


def test_a_sentence_that_is_too_long_is_cut_too() -> None:
    """Text without full stops has passages as well."""
    text = " ".join(f"word{n}" for n in range(76))
    assert [len(window.split()) for window in windows_of(text)] == [WINDOW_WORDS, 1]
    assert " ".join(windows_of(text)) == text


@pytest.mark.parametrize("part", ["word ", "One sentence. ", "line\n", "🏖\x00\ud800 ", "语言。 "])
def test_of_a_very_long_text_the_first_three_passages_and_the_last_are_read(part: str) -> None:
    """Whatever its characters are."""
    found = windows_of(part * 10_000 + "The end.")
    assert len(found) == MAX_WINDOWS
    assert all(0 < len(window.split()) <= WINDOW_WORDS for window in found)
    assert " ".join((part * 10_000).split()).startswith(" ".join(found[:3]))
    assert found[-1].endswith("The end.")


def test_the_text_with_the_answer_answers_best() -> None:
    """Texts keep their order."""
    found = answered_by((LEAVE,), tuple(HANDBOOK.values()), FakeCrossEncoder())
    assert len(found) == len(HANDBOOK)
    best = max(range(len(found)), key=lambda i: found[i].answers)
    assert list(HANDBOOK)[best] == "parental"
    assert clearly(found[best].answers)
    assert clearly_not(found[list(HANDBOOK).index("laptops")].answers)


def test_a_long_text_answers_as_well_as_its_best_passage() -> None:
    """And its likeliest answer stands there."""
    filler = "Nothing of note stands in this sentence here. " * 20
    (alone,) = answered_by((LEAVE,), (HANDBOOK["parental"],), FakeCrossEncoder())
    (found,) = answered_by((LEAVE,), (f"{filler}{HANDBOOK['parental']}",), FakeCrossEncoder())
    assert found.answers == alone.answers
    assert found.span is not None
    assert found.span.text == "16"
    assert len(found.passages) == 3
    assert found.passages[-1].passage.endswith(HANDBOOK["parental"])
    assert found.passages[-1].reading.answers == found.answers


def test_the_form_of_the_question_that_a_text_answers_best_counts() -> None:
    """A follow-up is answered with its conversation."""
    follow_up, told = "And there?", "How long is parental leave in Germany?\nAnd there?"
    texts = (HANDBOOK["parental"], HANDBOOK["laptops"])
    alone = answered_by((follow_up,), texts, FakeCrossEncoder())
    both = answered_by((follow_up, told), texts, FakeCrossEncoder())
    assert both[0].answers > alone[0].answers
    assert both[1].answers == alone[1].answers


def test_the_first_twelve_texts_are_read() -> None:
    """A list of thousands costs no more."""
    spy = Spy()
    found = answered_by((LEAVE,), ["Some text. " * 1_000] * 500, spy)
    assert len(found) == MAX_TEXTS == 12
    assert len(spy.pairs) == MAX_TEXTS * MAX_WINDOWS


def test_without_texts_nothing_answers() -> None:
    """And there is no likeliest answer."""
    assert answered_by((LEAVE, "more"), (), FakeCrossEncoder()) == ()
    assert likeliest(()) is None


def test_the_likeliest_answer_is_that_of_all_texts() -> None:
    """There is none where the model tells no spans."""
    texts = (HANDBOOK["laptops"], HANDBOOK["parental"])
    span = likeliest(answered_by((LEAVE,), texts, FakeCrossEncoder()))
    assert span is not None
    assert span.text == "16"
    named = answered_by((LEAVE,), texts, FakeCrossEncoder(answers_only=True))
    assert [each.span for each in named] == [None, None]
    assert likeliest(named) is None


def test_what_is_clear_one_way_is_not_clear_the_other() -> None:
    """Between both lies doubt: even odds are neither."""
    assert not clearly(0.0)
    assert not clearly_not(0.0)
    assert [(clearly(x), clearly_not(x)) for x in (-2.0, 2.0)] == [(False, True), (True, False)]


def test_long_sentences_cost_no_text_of_an_ordinary_chunk() -> None:
    """Each sentence of 40 words is a passage of its own; six of them are all read."""
    parts = [" ".join([f"Part{number}", *["word"] * 38, "end."]) for number in range(6)]
    assert windows_of(" ".join(parts)) == tuple(parts)

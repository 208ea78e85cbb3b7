"""Sentences."""

from otel_raglog.checks.text.sentences import sentences


def test_abbreviations_and_initials_end_no_sentence() -> None:
    """Only a full stop before a new sentence does."""
    assert sentences("Dr. Smith met J. Doe in the U.S. in May. He left.") == (
        "Dr. Smith met J. Doe in the U.S. in May.",
        "He left.",
    )


def test_a_line_break_ends_a_sentence_and_empty_ones_are_left_out() -> None:
    """List items are sentences."""
    assert sentences("- one\n\n- two\n") == ("- one", "- two")

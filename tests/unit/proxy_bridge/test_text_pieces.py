"""Which pieces of text are looked for in prompts, and when they are found there."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.text_pieces import (
    beginning,
    parts_of,
    piece_of,
    plain,
    shown,
    tells,
    weight,
)


def test_texts_are_compared_without_case_and_spaces():
    """Templates wrap and indent."""
    assert plain("  How\n much\tLEAVE ") == "how much leave"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("how much leave is there", True),
        ("ow much leave is the", True),
        ("leave", True),
        ("eav", True),
        ("much leave", True),
        ("how many leave is there", False),
        ("how mu leave", False),
        ("年假", True),
    ],
)
def test_a_piece_is_found_wherever_it_stands(text, found):
    """Also in the middle of words: the word that rules others out is one inside the piece."""
    assert shown(plain("So how MUCH leave is there? 年假为二十七天")).holds(piece_of(text)) is found


@pytest.mark.parametrize(
    ("text", "enough"),
    [
        ("a", False),
        ("how much leave", True),
        ("abcdefghijkl", True),
        ("two words", False),
        ("多少天年假", True),
        ("多少", False),
    ],
)
def test_short_texts_tell_nothing(text, enough):
    """They are found anywhere; a sign of Chinese says more than a letter."""
    assert tells(text) is enough


def test_weight_counts_signs_as_several_letters():
    """Accents make no difference."""
    assert [weight("leave"), weight("Ürlaub"), weight("年假")] == [5, 6, 6]


def test_the_beginning_of_a_long_text_is_short():
    """A prompt may cut what it shows."""
    assert beginning("Annual  leave " * 1_000) == ("annual leave " * 13)[:160]


def test_what_may_be_a_question_is_a_line_what_follows_a_colon_or_a_quotation():
    """A prompt for a rewriter has the question somewhere; a model's answer has the queries."""
    told = 'Rewrite for search: How much leave?\n\n1. "annual leave"\n{"query": "Leave days"}'
    assert {"how much leave?", "annual leave", "leave days"} <= parts_of(told)
    assert "1." not in parts_of(told)
    assert parts_of("x" * 500) == frozenset()
    assert parts_of("") == frozenset()


def test_of_many_lines_the_first_and_the_last_are_read():
    """Prompts may be a megabyte long."""
    parts = parts_of("\n".join(f"line {number}" for number in range(100_000)))
    assert {"line 0", "line 99999"} <= parts
    assert len(parts) < 100

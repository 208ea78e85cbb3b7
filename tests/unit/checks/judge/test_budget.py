"""Sharing a budget of tokens among texts."""

import pytest

from otel_raglog.checks.judge.budget import Excerpt, estimated_tokens, excerpt, fair_shares


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("東京都", 3),
        ("Мост", 3),
        ("\x00" * 5, 7),
        ("\ud800", 1),
    ],
)
def test_tokens_are_estimated_by_characters(text: str, tokens: int) -> None:
    """Four ASCII characters, or three bytes of others, to a token; controls count one each."""
    assert estimated_tokens(text) == tokens


@pytest.mark.parametrize(
    ("needs", "budget", "shares"),
    [
        ((10, 20, 30), 100, (10, 20, 30)),
        ((10, 100, 100), 110, (10, 50, 50)),
        ((100, 10, 40), 90, (40, 10, 40)),
        ((5, 5), 0, (0, 0)),
        ((5, 5), -3, (0, 0)),
        ((), 10, ()),
    ],
)
def test_small_needs_are_met_and_great_ones_share_the_rest(
    needs: tuple[int, ...], budget: int, shares: tuple[int, ...]
) -> None:
    """Nobody with a small need gives anything up for a great one."""
    assert fair_shares(needs, budget) == shares


def test_a_text_that_fits_is_whole() -> None:
    """Nothing is left out for nothing."""
    assert excerpt("short", 2) == Excerpt("short")


@pytest.mark.parametrize("letter", ["a", "東", "🙂", "b東"])
def test_a_long_text_keeps_its_beginning_and_its_end(letter: str) -> None:
    """Within its tokens, and the characters between are counted."""
    text = f"BEGIN{letter * 5_000}END"
    found = excerpt(text, 100)
    assert found.head.startswith("BEGIN")
    assert found.tail.endswith("END")
    assert len(found.head) > len(found.tail)
    assert len(found.head) + found.left_out + len(found.tail) == len(text)
    assert 90 <= estimated_tokens(found.head) + estimated_tokens(found.tail) <= 99
    assert estimated_tokens(found.text) <= 100
    assert found.text == f"{found.head}\n{found.tail}"


def test_without_tokens_nothing_is_kept() -> None:
    """And all of it is counted."""
    assert excerpt("abc", 0) == Excerpt("", 3, "")

"""Numbers in figures and words."""

import pytest

from otel_raglog.checks.text.numbers import NumberIndex, NumberKind, numbers


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("in 2011", 2011, NumberKind.YEAR),
        ("25% of staff", 25, NumberKind.PERCENT),
        ("1,234 people", 1234, NumberKind.PLAIN),
        ("$3.5 million", 3.5e6, NumberKind.MONEY),
        ("the 19th floor", 19, NumberKind.ORDINAL),
        ("twenty-five days", 25, NumberKind.PLAIN),
        ("three hundred days", 300, NumberKind.PLAIN),
        ("in September", 9, NumberKind.MONTH),
        ("10k users", 10_000, NumberKind.PLAIN),
    ],
)
def test_a_number_has_a_value_and_a_kind(text: str, value: float, kind: NumberKind) -> None:
    """Figures, units, scale words and written numbers are read alike."""
    assert [(n.value, n.kind) for n in numbers(text)] == [(value, kind)]


@pytest.mark.parametrize(
    "text", ["one may march", "the F-22 and the A4", "1. Ask\n2. Go", "as [1]"]
)
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    """Pronouns, modal verbs, identifiers, list marks and citation marks are no numbers."""
    assert numbers(text) == ()


def test_one_number_in_two_spellings_is_held() -> None:
    """Written and grouped forms state the same number."""
    index = NumberIndex(["two million people, 1,400 cats, 2010-09-08"])
    assert all(index.holds(n) for n in numbers("2,000,000 and 1400 on 8 September 2010"))


def test_a_rounded_number_is_held_but_another_year_is_not() -> None:
    """An answer may round; a year is exact."""
    index = NumberIndex(["17,786,419 people in 2011"])
    assert all(index.holds_about(n) for n in numbers("about 18 million"))
    assert not any(index.holds_about(n) for n in numbers("in 2012"))


def test_a_near_number_that_rounds_nothing_is_not_held() -> None:
    """Neither 26 nor 30 is a rounding of 25."""
    index = NumberIndex(["25 days"])
    assert not any(index.holds_about(n) for n in numbers("26 or 30 days"))


def test_millions_in_either_spelling_are_one_number() -> None:
    """Whatever their two decimals."""
    for cents in range(1, 1000):
        spelled = f"${cents / 100:.2f} million"
        (number,) = numbers(f"${cents * 10_000:,}")
        assert number.value == cents * 10_000
        assert [n.value for n in numbers(spelled)] == [number.value]
        assert NumberIndex([spelled]).holds(number)


def test_numbers_of_many_digits_are_not_rounded() -> None:
    """One more is another number."""
    assert not NumberIndex(["1700000000001"]).holds(numbers("1700000000002")[0])


def test_a_list_mark_below_blank_lines_is_no_number() -> None:
    """Indented or not."""
    assert numbers("Do\n\n \n  1. this\n\n\n2) that") == ()


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    [
        "a" + "\n" * 50_000 + "b",
        "a\n" + " \n" * 25_000,
        "two " * 50_000,
        "1," * 25_000,
        "[" * 50_000,
    ],
    ids=["blank lines", "white lines", "words", "commas", "brackets"],
)
def test_no_text_takes_long(text: str) -> None:
    """Work grows with the text's length, no faster."""
    assert len(numbers(text)) <= len(text) // 2


@pytest.mark.timeout(5)
def test_many_numbers_are_looked_up_among_many() -> None:
    """Also those that may be rounded."""
    index = NumberIndex([" ".join(str(n) for n in range(100_000, 120_000))])
    assert all(index.holds_about(n) for n in numbers(" ".join(["110000", "119000"] * 2_000)))

"""Which texts are verdicts or grades."""

import pytest

from otel_raglog.mapping.verdicts import (
    begins_as_verdict,
    is_bare,
    is_grade,
    is_verdict,
    says_yes_or_no,
)


@pytest.mark.parametrize("text", ["yes", "Nein.", "**oui**", "no", "Да", "\u662f", "True"])
def test_yes_and_no(text):
    """In the languages of most applications, with marks around them."""
    assert says_yes_or_no(text)
    assert is_bare(text)
    assert is_verdict(text)


@pytest.mark.parametrize(
    "text", ["SAFE", "not supported", "irrelevant", '{"grounded": true, "n": 1}']
)
def test_bare_verdicts(text):
    """A word that says how good something is, also as JSON; a question has none for an answer."""
    assert is_bare(text)
    assert not says_yes_or_no(text)


@pytest.mark.parametrize("text", ["4", "8/10", "0.7", "very useful", "low"])
def test_grades(text):
    """Numbers and grades are verdicts, too."""
    assert is_grade(text)
    assert is_verdict(text)
    assert not is_bare(text)


@pytest.mark.parametrize(
    "text", ["", "Yes, on deck 4.", "22:15", "{}", '{"fare": "4 euro"}', "nobody"]
)
def test_what_says_more(text):
    """Answers, times, other words and nothing at all are no verdicts."""
    assert not is_verdict(text)


def test_beginnings():
    """A reason may follow, or JSON."""
    for text in (
        "Yes, it is.",
        " **NO**: not there",
        "0.85",
        "100 of 100",
        '```json\n{"a": 1}',
        "[1]",
    ):
        assert begins_as_verdict(text), text
    for text in ("", "Nobody knows.", "The score is 4."):
        assert not begins_as_verdict(text), text

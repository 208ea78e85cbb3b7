"""How much of what a question names is in a text."""

from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.words import WordIndex


def test_names_and_numbers_weigh_double_and_qualifiers_half() -> None:
    """They pick out the entity; qualifiers are seldom repeated."""
    weights = question_weights("the first office in Germany since 2011")
    assert weights["germany"] == weights["2011"] == 2.0
    assert weights["first"] == 0.5
    assert weights["office"] == 1.0


def test_coverage_is_the_weighted_share() -> None:
    """Two thirds of the weight is the name's."""
    weights = question_weights("the office in Germany")
    assert coverage(weights, WordIndex(["Germany is large"])) == 2 / 3


def test_a_question_without_content_words_is_covered() -> None:
    """Nothing is missing."""
    assert coverage(question_weights("what is it"), WordIndex([""])) == 1.0

"""Words of a text, and numbers that are not taken apart."""

import pytest

from otel_raglog.lab.references.whole_words import whole_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Café's last_name, isn't it?", ["the", "cafe", "last", "name", "isn't", "it"]),
        ("about 3,500.", ["about", "3500"]),
        ("3 500 of 12 000", ["3 500", "of", "12 000"]),
        ("3.14, 22:15, 2019-05-14", ["3.14", "22:15", "2019-05-14"]),
        ("1.5\n million", ["1.5 million"]),
        ("1.5 million people", ["1.5 million", "people"]),
        ("10\u201312 or 10-12 days", ["10\u201312", "or", "10-12", "days"]),
        ("-5 and \u22125 and .5", ["-5", "and", "-5", "and", ".5"]),
        ("one hundred and five", ["one hundred five"]),
        ("twenty-five, twenty-first", ["twenty five", "twenty first"]),
        ("covid-19 in A4, the 1990s", ["covid", "19", "in", "a4", "the", "1990s"]),
        ("May 1, 1931 and 1932", ["may", "1", "1931", "and", "1932"]),
        ("in 1931 500 came", ["in", "1931", "500", "came"]),
        ("he and five others", ["he", "and", "five", "others"]),
        ("", []),
    ],
)
def test_a_number_is_one_word(text, words):
    """With its separators, its sign and its multiplier, in figures or in words."""
    assert list(whole_words(text)) == words

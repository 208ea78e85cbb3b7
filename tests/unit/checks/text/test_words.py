"""Words, light stems, and the index that finds related words."""

import pytest

from otel_raglog.checks.text.words import WordIndex, content_words, fold, stem, words


def test_folding_removes_case_and_diacritics() -> None:
    """Names are the same however they are accented or capitalised."""
    assert fold("Béla’S") == "bela's"


def test_hyphens_and_underscores_separate_words() -> None:
    """Search keywords use them for spaces; a possessive is no part of a word."""
    assert words("tampa-bay_team's plan") == ("tampa", "bay", "team", "plan")


@pytest.mark.parametrize(
    ("one", "other"),
    [("policy", "policies"), ("stopped", "stopping"), ("house", "houses"), ("plan", "planned")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    """Plural, -ing and -ed make no other word."""
    assert stem(one) == stem(other)


def test_content_words_leave_stopwords_out() -> None:
    """Only what carries content is compared."""
    assert content_words("what is the dose of a drug") == ("dose", "drug")


def test_related_words_share_a_long_prefix() -> None:
    """A noun and its derivation are related; two words that begin alike are not."""
    index = WordIndex(["criticism of the contest"])
    assert index.holds_related("critic")
    assert not index.holds_related("context")


def test_names_match_more_strictly_than_words() -> None:
    """An adjective is its country; Austria is not Australia."""
    index = WordIndex(["Indian trains in Australia"])
    assert index.holds_name("india")
    assert not index.holds_name("austria")


def test_a_number_in_words_is_its_figure() -> None:
    """A context that says four supports an answer that says 4, and the other way round."""
    assert WordIndex(["It has four wheels."]).holds_related("4")
    assert WordIndex(["for 30 days"]).holds("thirty")
    assert not WordIndex(["It has four wheels."]).holds("5")


def test_an_index_that_is_kept_says_the_same_as_a_new_one() -> None:
    """Of long texts none is kept, so that memory stays bounded."""
    text = "Four wheels of criticism."
    assert WordIndex.of(text) is WordIndex.of(text)
    for word in ("4", "wheel", "critic", "context"):
        assert WordIndex.of(text).holds_related(word) == WordIndex((text,)).holds_related(word)
    long = "word " * 2_000
    assert WordIndex.of(long) is not WordIndex.of(long)
    assert words(long) == ("word",) * 2_000

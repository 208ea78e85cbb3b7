"""Words, light stems, and the index that finds related words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog.checks.text.words import WordIndex, _stemmed, content_words, fold, stem, words


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


def test_a_word_of_more_than_forty_characters_is_its_own_stem() -> None:
    """It is data, and is not kept."""
    before = _stemmed.cache_info()
    assert stem("policies" * 6) == "policies" * 6
    assert _stemmed.cache_info() == before


def _share(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    needed = max(5, -(-3 * shorter // 4))
    return shorter >= needed and one[:needed] == other[:needed]


def _extends(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and long.startswith(short) and len(long) - len(short) <= 3


@given(st.lists(st.text("ab", min_size=1, max_size=14), max_size=8), st.text("ab", max_size=14))
def test_the_index_says_what_a_comparison_with_each_word_says(held: list[str], word: str) -> None:
    """Related by a long common prefix, names by a short ending."""
    index, stems = WordIndex(held), {stem(w) for w in held}
    same = word in held or stem(word) in stems
    assert index.holds_related(word) == (same or any(_share(stem(word), s) for s in stems))
    assert index.holds_name(word) == (same or any(_extends(stem(word), s) for s in stems))


@pytest.mark.timeout(10)
def test_many_words_that_begin_alike_are_looked_up_fast() -> None:
    """As in logs and lists of parts."""
    index = WordIndex([" ".join(f"item{n:07}" for n in range(4_000))])
    for _ in range(20_000):
        assert not index.holds_related("itemz")
        assert not index.holds_name("itemz")


@pytest.mark.timeout(5)
def test_no_text_takes_long_to_fold() -> None:
    """Not even a letter with 50,000 marks; other signs in long rows stay."""
    assert fold("a" + "\u0301\u0316" * 25_000) == "a"
    assert fold("a" + "\u05b0\u05c1" * 25_000 + "b") == "ab"
    assert fold("\u2500" * 100) == "\u2500" * 100
    assert words("a'" * 25_000) == ("'".join("a" * 25_000),)

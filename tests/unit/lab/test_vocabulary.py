"""Vocabulary: which words are specific, generic or names in a corpus."""

from otel_raglog.lab.vocabulary import Vocabulary


def _vocabulary():
    common = [f"The town number {n} has a harbour." for n in range(60)]
    return Vocabulary([*common, "A ferry goes to Orvik. In Orvik it stops. We saw Orvik."])


def test_rare_words_are_specific_and_common_ones_generic():
    """By the number of passages that hold them."""
    vocabulary = _vocabulary()
    assert vocabulary.specific("ferry")
    assert vocabulary.generic("harbour")
    assert not vocabulary.specific("harbour")
    assert vocabulary.rarity("ferry") > vocabulary.rarity("harbour")


def test_words_without_content_are_generic_however_rare():
    """They narrow nothing."""
    assert not _vocabulary().specific("whose")
    assert _vocabulary().generic("whose")


def test_names_are_what_is_capitalised_inside_sentences():
    """The first word of a sentence says nothing, a word never seen neither."""
    vocabulary = _vocabulary()
    assert vocabulary.name_like("orvik")
    assert not vocabulary.name_like("the")
    assert not vocabulary.name_like("zanzibar")

"""Tokens of sentences, and their matches."""

import numpy as np
from handbook_runs import FakeEncoder

from otel_raglog.checks.alignment.tokens import (
    Sentences,
    sentences_of,
    text_tokens,
    word_matches,
)

PIECES = ("The ferry leaves at ten. It takes an hour.", "Bikes are free. Dogs pay.")


def made() -> Sentences:
    found = sentences_of(PIECES, FakeEncoder())
    assert found is not None
    return found


def test_sentences_know_their_piece_and_their_tokens() -> None:
    """In order, none without tokens."""
    found = made()
    assert found.texts[1] == "It takes an hour."
    assert found.pieces.tolist() == [0, 0, 1, 1]
    assert np.diff([*found.begins, len(found.tokens)]).tolist() == [5, 4, 3, 2]
    assert sentences_of(("", " "), FakeEncoder()) is None


def test_a_token_matches_where_its_word_stands() -> None:
    """By the highest cosine of a sentence."""
    tokens = text_tokens("Which dogs?", FakeEncoder())
    assert [word.folded for word in tokens.words] == ["dogs"]
    matches = made().matches(tokens.of(lambda _: True))
    assert matches.shape == (1, 4)
    assert matches[0, 3] > 0.99 > 0.5 > matches[0, :3].max()


def test_windows_end_where_a_piece_does() -> None:
    """The best of a sentence and its neighbours of the same chunk."""
    windows = made().windows(np.asarray([[0.1, 0.9, 0.2, 0.3]], dtype=np.float32))
    assert np.allclose(windows, [[0.9, 0.9, 0.3, 0.3]])


def test_words_are_held_in_any_form() -> None:
    """One row a word."""
    assert made().held(["leaving", "dog"]).tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


def test_a_sentence_that_the_encoder_did_not_reach_is_encoded_alone() -> None:
    """A long text is read to its end."""

    class Short(FakeEncoder):
        def encode_tokens(self, texts):
            return tuple(type(t)(t.vectors[:4], t.starts[:4]) for t in super().encode_tokens(texts))

    found = sentences_of(PIECES[:1], Short())
    assert found is not None
    assert len(found.texts) == 2
    assert np.diff([*found.begins, len(found.tokens)]).tolist() == [4, 4]


def test_without_other_tokens_nothing_matches() -> None:
    """An empty text backs nothing."""
    tokens = text_tokens("dogs", FakeEncoder())
    assert word_matches(tokens.words, tokens.vectors, tokens.vectors[:0]) == (0.0,)


def test_a_text_may_be_read_from_a_place_on() -> None:
    """The answer behind its question."""
    tokens = text_tokens("dogs pay fares", FakeEncoder(), start=5)
    assert [word.folded for word in tokens.words] == ["pay", "fares"]
    assert len(tokens.vectors) == 2

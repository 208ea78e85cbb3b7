"""The bundled encoder."""

from pathlib import Path

import numpy as np
import pytest

from otel_raglog.checks.similarity.encoder import (
    DIMENSIONS,
    Encoder,
    MiniLmEncoder,
    TokenCache,
    TokenEncoder,
    TokenVectors,
    VectorCache,
)
from otel_raglog.errors import ConfigError

TEXTS = ["How many vacation days?", "Laptops are replaced.", "", "Wie viele Urlaubstage? 🏖"]


def test_vectors_have_unit_length(encoder: MiniLmEncoder) -> None:
    """One row a text, float32, of 384 numbers."""
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_depends_on_its_text_alone(encoder: MiniLmEncoder) -> None:
    """Neither order nor neighbours change a bit of it."""
    fresh = MiniLmEncoder(workers=1)
    together = encoder.encode(TEXTS)
    alone = np.concatenate([fresh.encode([text]) for text in reversed(TEXTS)])
    assert np.array_equal(together, alone[::-1])


def test_similar_meanings_are_nearer_than_others(encoder: MiniLmEncoder) -> None:
    """The pooling is right: the model knows paraphrases."""
    a, b, c = encoder.encode(
        ["How much vacation do I get?", "Number of days of paid leave", "Laptops are replaced"]
    )
    assert a @ b > 0.4 > a @ c


def test_vectors_are_cached_by_text() -> None:
    """A repeated text is not run again, also within one call."""
    fresh = MiniLmEncoder(workers=1)
    fresh.encode(["one", "two", "one"])
    fresh.encode(["two", "one"])
    assert (fresh.counts.hits, fresh.counts.misses, fresh.counts.size) == (2, 2, 2)


def test_the_cache_is_bounded_and_drops_what_was_used_longest_ago() -> None:
    """Memory does not grow with traffic."""
    cache = VectorCache(2)
    for key in (b"a", b"b"):
        cache.put(key, np.zeros(1, dtype=np.float32))
    assert cache.get(b"a") is not None
    cache.put(b"c", np.zeros(1, dtype=np.float32))
    assert cache.get(b"b") is None
    assert cache.get(b"a") is not None


def test_tokens_are_unit_vectors_with_their_places(encoder: MiniLmEncoder) -> None:
    """One row a token, of 384 numbers in half precision, and where it begins in the text."""
    (tokens,) = encoder.encode_tokens(["Laptops are replaced."])
    assert tokens.vectors.shape == (len(tokens.starts), DIMENSIONS)
    assert tokens.vectors.dtype == np.float16
    assert np.allclose(np.linalg.norm(tokens.vectors.astype(np.float32), axis=1), 1.0, atol=2e-3)
    assert tokens.starts.tolist()[0] == 0
    assert {8, 12} <= set(tokens.starts.tolist())
    assert len(encoder.encode_tokens([""])[0].vectors) == 0


def test_a_texts_tokens_depend_on_that_text_alone(encoder: MiniLmEncoder) -> None:
    """As its vector does."""
    together = encoder.encode_tokens(TEXTS)
    for text, tokens in zip(reversed(TEXTS), reversed(together), strict=True):
        (alone,) = MiniLmEncoder(workers=1).encode_tokens([text])
        assert np.array_equal(alone.vectors, tokens.vectors)


def test_one_run_gives_vector_and_tokens() -> None:
    """Tokens of a text that was encoded cost nothing, and the other way round."""
    fresh = MiniLmEncoder(workers=1)
    fresh.encode(["one", "two"])
    fresh._loaded = None
    fresh._model = lambda: pytest.fail("ran again")
    assert len(fresh.encode_tokens(["two", "one"])) == 2


def test_tokens_are_bounded_in_bytes_and_may_be_kept_not_at_all() -> None:
    """What was used longest ago goes first; what does not fit is not kept."""
    tokens = TokenVectors(np.zeros((2, 4), np.float16), np.zeros(2, np.int32))
    cache = TokenCache(2 * tokens.size_bytes)
    for key in (b"a", b"b", b"a"):
        cache.put(key, tokens)
    assert cache.size_bytes == 2 * tokens.size_bytes
    assert cache.get(b"b") is not None
    cache.put(b"c", tokens)
    assert (cache.get(b"a"), cache.size_bytes) == (None, 2 * tokens.size_bytes)
    none = MiniLmEncoder(workers=1, max_cached_token_bytes=0)
    assert len(none.encode_tokens(["one"])[0].vectors) == 1
    assert none.token_bytes == 0


def test_a_lone_surrogate_and_a_very_long_text_are_encoded(encoder: MiniLmEncoder) -> None:
    """Whatever comes in a span has a vector."""
    assert np.isfinite(encoder.encode(["\ud800 half", "word " * 20_000])).all()


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    """Start fails loudly; the message says whose model it is."""
    with pytest.raises(ConfigError, match=r"^encoder: .*manifest\.json"):
        MiniLmEncoder(tmp_path).load()


def test_numbers_below_one_are_refused() -> None:
    """With the options' names."""
    with pytest.raises(ConfigError, match="workers"):
        MiniLmEncoder(workers=0)


def test_it_is_an_encoder_and_works_again_after_close(encoder: MiniLmEncoder) -> None:
    """Closing stops threads, no more."""
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, TokenEncoder)
    fresh = MiniLmEncoder(workers=2)
    before = fresh.encode(["one"])
    fresh.close()
    assert np.array_equal(before, fresh.encode(["one", "two"])[:1])
    fresh.close()

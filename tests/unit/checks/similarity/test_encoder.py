"""The bundled encoder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from otel_raglog.checks.similarity.encoder import (
    BUNDLED_MODEL,
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


def test_sums_do_not_depend_on_the_number_of_cores(encoder: MiniLmEncoder) -> None:
    """Once the model is loaded, matrices are multiplied on one thread."""
    from threadpoolctl import threadpool_info

    encoder.load()
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} <= {1}


def test_a_lone_surrogate_and_a_very_long_text_are_encoded(encoder: MiniLmEncoder) -> None:
    """Whatever comes in a span has a vector."""
    assert np.isfinite(encoder.encode(["\ud800 half", "word " * 20_000])).all()


def test_a_changed_model_file_is_refused(tmp_path: Path) -> None:
    """By the manifest's hash, before anything is run."""
    for name in ("tokenizer.json", "manifest.json"):
        shutil.copy(BUNDLED_MODEL / name, tmp_path / name)
    (tmp_path / "model-int8.onnx").write_bytes(b"another model")
    with pytest.raises(ConfigError, match="sha256"):
        MiniLmEncoder(tmp_path).load()


@pytest.mark.parametrize("manifest", [None, "{", json.dumps({"sha256": {}})])
def test_a_missing_or_broken_manifest_is_refused(tmp_path: Path, manifest: str | None) -> None:
    """Start fails loudly."""
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigError, match="encoder"):
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


def test_the_runtime_sends_nothing_and_leaves_nothing_behind(tmp_path) -> None:
    """onnxruntime would write a device id and a queue of usage data; we must not phone home."""
    environment = os.environ | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    code = (
        "from otel_raglog.checks.similarity.encoder import MiniLmEncoder\n"
        "MiniLmEncoder().encode(['one text'])"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

"""Turns texts, and their tokens, into unit vectors with the bundled all-MiniLM-L6-v2 (int8 ONNX)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.onnx import OnnxModel, load_onnx, readable_text, text_key
from otel_raglog.errors import ConfigError

_T = TypeVar("_T")
Vectors: TypeAlias = npt.NDArray[np.float32]

DIMENSIONS = 384
MAX_TOKENS = 256
_SMALLEST = 1e-6
HalfVectors: TypeAlias = npt.NDArray[np.float16]
Offsets: TypeAlias = npt.NDArray[np.int32]

BUNDLED_MODEL = Path(__file__).parent / "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The tokens of one text, in the context of that text.

    ``vectors`` has shape ``(tokens, d)``, float16, rows of unit length; ``starts`` (int32) are the
    characters at which the tokens begin. Marks of the model's own ([CLS], [SEP]) are left out.
    """

    vectors: HalfVectors
    starts: Offsets

    @property
    def size_bytes(self) -> int:
        """What both arrays take."""
        return int(self.vectors.nbytes + self.starts.nbytes)


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors; a text's vectors depend on that text alone."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape ``(len(texts), d)``, float32, each row of unit length."""
        ...


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that also tells a text's tokens apart."""

    def encode_tokens(self, texts: Sequence[str]) -> tuple[TokenVectors, ...]:
        """Return each text's tokens, as far as the model reads it, in order."""
        ...


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """How often a vector was found in the cache, and how many are held."""

    hits: int
    misses: int
    size: int


class VectorCache:
    """The vectors of the texts seen last, by hash of the text; thread-safe, bounded."""

    def __init__(self, max_vectors: int) -> None:
        self._max_vectors = max_vectors
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0

    def get(self, key: bytes) -> Vectors | None:
        """Return the vector and mark it as used last, or None; counts a hit or a miss."""
        with self._lock:
            vector = self._vectors.get(key)
            if vector is None:
                self._misses += 1
                return None
            self._hits += 1
            self._vectors.move_to_end(key)
            return vector

    def put(self, key: bytes, vector: Vectors) -> None:
        """Keep a vector, dropping the one that was used longest ago when the cache is full."""
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._max_vectors:
                self._vectors.popitem(last=False)

    @property
    def counts(self) -> CacheCounts:
        """Hits and misses since the start, and the vectors held now."""
        with self._lock:
            return CacheCounts(self._hits, self._misses, len(self._vectors))


class TokenCache:
    """The tokens of the texts seen last, by hash of the text; thread-safe, bounded in bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._tokens: OrderedDict[bytes, TokenVectors] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> TokenVectors | None:
        """Return the tokens and mark them as used last, or None."""
        with self._lock:
            tokens = self._tokens.get(key)
            if tokens is not None:
                self._tokens.move_to_end(key)
            return tokens

    def put(self, key: bytes, tokens: TokenVectors) -> None:
        """Keep tokens, dropping those that were used longest ago when there is no room."""
        with self._lock:
            old = self._tokens.pop(key, None)
            self._bytes += tokens.size_bytes - (old.size_bytes if old is not None else 0)
            self._tokens[key] = tokens
            while self._bytes > self._max_bytes:
                _, dropped = self._tokens.popitem(last=False)
                self._bytes -= dropped.size_bytes

    @property
    def size_bytes(self) -> int:
        """What is held now."""
        with self._lock:
            return self._bytes


class MiniLmEncoder:
    """all-MiniLM-L6-v2: a text's vector is the mean over its tokens (attention mask), then L2 norm.

    One run of the model gives both a text's vector and its tokens, and both are cached: whoever
    asks for the tokens of a text that was just encoded pays nothing, as long as at most
    ``max_cached_token_bytes`` of tokens came in between (0: no tokens are kept).

    Each text is run alone: the int8 export computes its scales from everything in a batch,
    so a batch would make a vector depend on its neighbours. ``workers`` texts run at a time,
    each on ``intra_op_threads`` threads. A text is cut at 256 tokens; whoever needs the rest
    encodes it as texts of its own (see ``relevance.passages``). The model is loaded, and its
    files checked against the manifest, at the first use (or by ``load``).

    Raises:
        ConfigError: a file of the model is missing or is not the one of the manifest.
    """

    def __init__(
        self,
        folder: Path = BUNDLED_MODEL,
        *,
        intra_op_threads: int = 1,
        workers: int = 2,
        max_cached_vectors: int = 20_000,
        max_cached_token_bytes: int = 64 << 20,
    ) -> None:
        if min(intra_op_threads, workers, max_cached_vectors) < 1 or max_cached_token_bytes < 0:
            raise ConfigError(
                "encoder: intra_op_threads, workers and max_cached_vectors must be at least 1, "
                "max_cached_token_bytes at least 0"
            )
        self._folder = folder
        self._intra_op_threads = intra_op_threads
        self._workers = workers
        self._cache = VectorCache(max_cached_vectors)
        self._tokens = TokenCache(max_cached_token_bytes)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def counts(self) -> CacheCounts:
        """Hits, misses and size of the vector cache."""
        return self._cache.counts

    @property
    def token_bytes(self) -> int:
        """Bytes of tokens in the cache."""
        return self._tokens.size_bytes

    def load(self) -> None:
        """Load the model now instead of at the first text."""
        self._model()

    def close(self) -> None:
        """Stop the threads; the encoder loads again when it is used again."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.pool.shutdown(wait=True)
                self._loaded = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape ``(len(texts), 384)``, float32, each row of unit length."""
        vectors = self._each(texts, self._cache.get, lambda encoded: encoded[0])
        rows = np.empty((len(vectors), DIMENSIONS), dtype=np.float32)
        for row, vector in enumerate(vectors):
            rows[row] = vector
        return rows

    def encode_tokens(self, texts: Sequence[str]) -> tuple[TokenVectors, ...]:
        """Return the tokens of each text, of its first 256 with the model's two marks."""
        return tuple(self._each(texts, self._tokens.get, lambda encoded: encoded[1]))

    def _each(
        self,
        texts: Sequence[str],
        cached: Callable[[bytes], _T | None],
        part: Callable[[tuple[Vectors, TokenVectors]], _T],
    ) -> list[_T]:
        """Return what is cached of each text, or that part of its encoding; a text is run once."""
        keys = [text_key(text) for text in texts]
        found: dict[bytes, _T] = {}
        wanted: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in found or key in wanted:
                continue
            known = cached(key)
            if known is None:
                wanted[key] = text
            else:
                found[key] = known
        for key, encoded in self._run(wanted).items():
            found[key] = part(encoded)
        return [found[key] for key in keys]

    def _run(self, wanted: Mapping[bytes, str]) -> Mapping[bytes, tuple[Vectors, TokenVectors]]:
        """Return vector and tokens of texts by key, and cache them."""
        if not wanted:
            return {}
        model = self._model()
        outputs = (
            map(model.output, wanted.values())
            if len(wanted) == 1
            else model.pool.map(model.output, wanted.values())
        )
        made = dict(zip(wanted, outputs, strict=True))
        for key, (vector, tokens) in made.items():
            self._cache.put(key, vector)
            self._tokens.put(key, tokens)
        return made

    def _model(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._intra_op_threads, self._workers)
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A loaded model, and the threads that it runs on."""

    model: OnnxModel
    pool: ThreadPoolExecutor

    def output(self, text: str) -> tuple[Vectors, TokenVectors]:
        """Return the text's vector and its tokens, read-only."""
        model = self.model
        encoding = model.tokenizer.encode(readable_text(text))
        ids = np.asarray([encoding.ids], dtype=np.int64)
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden, *_) = model.session.run(None, {name: feed[name] for name in model.input_names})
        each = np.asarray(hidden[0], dtype=np.float32)
        mean = each.mean(axis=0)
        unit: Vectors = np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
        # The first and the last are the model's marks.
        inner = each[1:-1]
        lengths = np.linalg.norm(inner, axis=1, keepdims=True)
        tokens = TokenVectors(
            np.asarray(inner / np.maximum(lengths, _SMALLEST), dtype=np.float16),
            np.asarray([start for start, _ in encoding.offsets[1:-1]], dtype=np.int32),
        )
        for array in (unit, tokens.vectors, tokens.starts):
            array.setflags(write=False)
        return unit, tokens


def _load(folder: Path, intra_op_threads: int, workers: int) -> _Loaded:
    model = load_onnx(folder, "encoder", intra_op_threads=intra_op_threads)
    model.tokenizer.enable_truncation(max_length=MAX_TOKENS)
    return _Loaded(model, ThreadPoolExecutor(max_workers=workers, thread_name_prefix="encoder"))

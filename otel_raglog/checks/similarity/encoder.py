"""Turns texts into unit vectors with the bundled all-MiniLM-L6-v2 (int8 ONNX, on the CPU)."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from otel_raglog.errors import ConfigError

Vectors: TypeAlias = npt.NDArray[np.float32]

DIMENSIONS = 384
MAX_TOKENS = 256
BUNDLED_MODEL = Path(__file__).parent / "all-MiniLM-L6-v2"


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors; a text's vector depends on that text alone."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape ``(len(texts), d)``, float32, each row of unit length."""
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


class MiniLmEncoder:
    """all-MiniLM-L6-v2 with mean pooling over the attention mask, then L2 norm.

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
    ) -> None:
        if min(intra_op_threads, workers, max_cached_vectors) < 1:
            raise ConfigError(
                "encoder: intra_op_threads, workers and max_cached_vectors must be at least 1"
            )
        self._folder = folder
        self._intra_op_threads = intra_op_threads
        self._workers = workers
        self._cache = VectorCache(max_cached_vectors)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def counts(self) -> CacheCounts:
        """Hits, misses and size of the vector cache."""
        return self._cache.counts

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
        keys = [_key(text) for text in texts]
        found: dict[bytes, Vectors] = {}
        wanted: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in found or key in wanted:
                continue
            vector = self._cache.get(key)
            if vector is None:
                wanted[key] = text
            else:
                found[key] = vector
        if wanted:
            model = self._model()
            vectors = (
                map(model.vector, wanted.values())
                if len(wanted) == 1
                else model.pool.map(model.vector, wanted.values())
            )
            for key, vector in zip(wanted, vectors, strict=True):
                self._cache.put(key, vector)
                found[key] = vector
        rows = np.empty((len(keys), DIMENSIONS), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = found[key]
        return rows

    def _model(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._intra_op_threads, self._workers)
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A loaded model; ``session`` and ``tokenizer`` are objects of untyped libraries."""

    session: Any
    tokenizer: Any
    input_names: tuple[str, ...]
    pool: ThreadPoolExecutor

    def vector(self, text: str) -> Vectors:
        # A lone surrogate is no text for the tokenizer.
        encoding = self.tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        ids = np.asarray([encoding.ids], dtype=np.int64)
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden, *_) = self.session.run(None, {name: feed[name] for name in self.input_names})
        mean = np.asarray(hidden[0], dtype=np.float32).mean(axis=0)
        unit: Vectors = np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
        unit.setflags(write=False)
        return unit


def _load(folder: Path, intra_op_threads: int, workers: int) -> _Loaded:
    # Heavy libraries load with the model, so that importing the checks stays cheap.
    # onnxruntime (seen in 1.32) sends usage data to its makers and writes a device id into the
    # home folder unless this is set before it is imported. A telemetry sidecar must not.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251  set, not read
    import onnxruntime as ort  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    files = _verified_files(folder)
    options = ort.SessionOptions()
    options.intra_op_num_threads = intra_op_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(
        files["model-int8.onnx"], options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    return _Loaded(
        session=session,
        tokenizer=tokenizer,
        input_names=tuple(node.name for node in session.get_inputs()),
        pool=ThreadPoolExecutor(max_workers=workers, thread_name_prefix="encoder"),
    )


def _verified_files(folder: Path) -> dict[str, bytes]:
    """Read the model's files, each checked against the manifest's hash."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        expected: dict[str, str] = dict(manifest["sha256"])
        files = {name: (folder / name).read_bytes() for name in expected}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"encoder: the model in {folder} cannot be read: {error}") from error
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise ConfigError(
                f"encoder: {folder / name} is not the file of its manifest (sha256 differs)"
            )
    absent = {"model-int8.onnx", "tokenizer.json"} - files.keys()
    if absent:
        raise ConfigError(f"encoder: the manifest in {folder} lacks {', '.join(sorted(absent))}")
    return files


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

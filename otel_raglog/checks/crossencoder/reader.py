"""Reads a text and a passage beside each other: is it answered, supported, kept in meaning there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.onnx import OnnxModel, load_onnx, readable_text, text_key
from otel_raglog.errors import ConfigError

Floats: TypeAlias = npt.NDArray[np.float32]

BUNDLED_READER = Path(__file__).parent / "reader-2"
MAX_TOKENS = 160
MAX_TEXT_TOKENS = 64
"""Of the text, its last ones; what is left of ``MAX_TOKENS`` is the passage's."""

MAX_CHARACTERS = 10_000
"""Of a text its last ones, of a passage its first: far more than fit, since tokens are words."""

MAX_SPAN_TOKENS = 16
MAX_SPAN_CHARACTERS = 300
"""Readings are kept, so a span is cut where sixteen tokens are longer, as unbroken data are."""

SPANS = 8
_CLS, _SEP = 101, 102
"""The marks of BERT's vocabulary: before the text, and behind text and passage."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the passage that may answer, ``start`` to ``end`` in characters.

    ``score`` is the log-odds of this span against no answer in the passage.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model says of a text and a passage, in log-odds; ``None`` what it was not trained for.

    ``answers``: the passage holds what the text asks. ``supports``: the passage states what the
    text says. ``same_meaning``: both ask the same. ``spans``: the likeliest answers, best first.
    """

    answers: float
    supports: float | None = None
    same_meaning: float | None = None
    spans: tuple[Span, ...] = ()


class CrossEncoder(Protocol):
    """Reads pairs of texts; a pair's reading depends on that pair alone."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        """Return the reading of each text (first) and passage (second), in order."""
        ...


class ReadingCache:
    """The readings of the pairs seen last, by hash; thread-safe, bounded."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._readings: OrderedDict[bytes, Reading] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Reading | None:
        """Return the reading and mark it as used last, or None."""
        with self._lock:
            found = self._readings.get(key)
            if found is not None:
                self._readings.move_to_end(key)
            return found

    def put(self, key: bytes, reading: Reading) -> None:
        """Keep a reading, dropping the one that was used longest ago when the cache is full."""
        with self._lock:
            self._readings[key] = reading
            self._readings.move_to_end(key)
            while len(self._readings) > self._most:
                self._readings.popitem(last=False)


class BundledReader:
    """The reader that comes with the package: one MiniLM with three tasks (its model card says how).

    Each pair is run alone: the int8 export computes its scales from everything in a batch.
    ``workers`` pairs run at a time. Of a text the last 64 tokens are read, of a passage what is left of
    160: see ``passages.windows_of``. The model is loaded, and its files checked against the
    manifest, at the first use (or by ``load``).

    Raises:
        ConfigError: a file of the model is missing or is not the one of the manifest.
    """

    def __init__(
        self, folder: Path = BUNDLED_READER, *, workers: int = 2, max_cached: int = 20_000
    ) -> None:
        if min(workers, max_cached) < 1:
            raise ConfigError("cross-encoder: workers and max_cached must be at least 1")
        self._folder = folder
        self._workers = workers
        self._cache = ReadingCache(max_cached)
        self._lock = threading.Lock()
        self._loaded: tuple[OnnxModel, ThreadPoolExecutor] | None = None

    def load(self) -> None:
        """Load the model now instead of at the first pair."""
        self._model()

    def close(self) -> None:
        """Stop the threads; the reader loads again when it is used again."""
        with self._lock:
            if self._loaded is not None:
                self._loaded[1].shutdown(wait=True)
                self._loaded = None

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        """Return the reading of each text (first) and passage (second), in order."""
        pairs = [(text[-MAX_CHARACTERS:], passage[:MAX_CHARACTERS]) for text, passage in pairs]
        keys = [text_key(*pair) for pair in pairs]
        found: dict[bytes, Reading] = {}
        wanted: dict[bytes, tuple[str, str]] = {}
        for key, pair in zip(keys, pairs, strict=True):
            known = self._cache.get(key)
            if known is None:
                wanted[key] = pair
            else:
                found[key] = known
        if wanted:
            model, pool = self._model()
            # One question stands beside many passages.
            asked = {text: _asked(model, text) for text in {text for text, _ in wanted.values()}}
            made = pool.map(lambda pair: _read(model, asked[pair[0]], pair[1]), wanted.values())
            for key, reading in zip(wanted, made, strict=True):
                self._cache.put(key, reading)
                found[key] = reading
        return tuple(found[key] for key in keys)

    def _model(self) -> tuple[OnnxModel, ThreadPoolExecutor]:
        with self._lock:
            if self._loaded is None:
                pool = ThreadPoolExecutor(self._workers, thread_name_prefix="reader")
                self._loaded = (load_onnx(self._folder, "cross-encoder"), pool)
            return self._loaded


class NamedCrossEncoder:
    """A cross-encoder of sentence-transformers that scores a passage against a question.

    By name or folder, for example ``cross-encoder/ms-marco-MiniLM-L-6-v2``; only ``answers`` is
    read. It loads at the first use (or by ``load``), on the CPU.

    Raises:
        ConfigError: sentence-transformers is not installed, the model cannot be loaded, or it has
            more than one score.
    """

    def __init__(self, name: str, *, max_cached: int = 20_000) -> None:
        self._name = name
        self._cache = ReadingCache(max_cached)
        self._lock = threading.Lock()
        self._model: Any = None

    def load(self) -> None:
        """Load the model now instead of at the first pair."""
        with self._lock:
            if self._model is None:
                self._model = _sentence_transformer(self._name)

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        """Return the reading of each text (first) and passage (second), in order."""
        self.load()
        found = []
        for whole, passage_ in pairs:
            text, passage = whole[:MAX_CHARACTERS], passage_[:MAX_CHARACTERS]
            key = text_key(text, passage)
            reading = self._cache.get(key)
            if reading is None:
                # One pair at a time, so that a score does not depend on its neighbours.
                pair = (readable_text(text), readable_text(passage))
                with self._lock:
                    (score,) = self._model.predict(
                        [pair], show_progress_bar=False, activation_fn=_same
                    )
                reading = Reading(answers=float(score))
                self._cache.put(key, reading)
            found.append(reading)
        return tuple(found)


def _same(scores: Any) -> Any:
    """Leave a model's scores as they are: log-odds."""
    return scores


def _sentence_transformer(name: str) -> Any:
    try:
        from safetensors import SafetensorError  # noqa: PLC0415  optional
        from sentence_transformers import CrossEncoder as Model  # noqa: PLC0415  optional
    except ImportError:
        raise ConfigError(
            f"analysis.cross_encoder: {name!r} needs sentence-transformers: "
            "pip install sentence-transformers"
        ) from None
    try:
        model: Any = Model(name, device="cpu")
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"analysis.cross_encoder: {name!r} cannot be loaded: {first}") from error
    if model.num_labels != 1:
        raise ConfigError(
            f"analysis.cross_encoder: {name!r} has {model.num_labels} scores; one is needed, of "
            "how well a passage answers a question"
        )
    return model


def _asked(model: OnnxModel, text: str) -> Sequence[int]:
    own = model.tokenizer.encode(readable_text(text), add_special_tokens=False)
    # The end counts most: the question behind an earlier turn, the claim behind its question.
    asked: Sequence[int] = own.ids[-MAX_TEXT_TOKENS:]
    return asked


def _read(model: OnnxModel, asked: Sequence[int], passage: str) -> Reading:
    other = model.tokenizer.encode(readable_text(passage), add_special_tokens=False)
    held = other.ids[: MAX_TOKENS - len(asked) - 3]
    ids = np.asarray([[_CLS, *asked, _SEP, *held, _SEP]], dtype=np.int64)
    begin = len(asked) + 2
    types = np.zeros_like(ids)
    types[0, begin:] = 1
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    bounds, classes = model.session.run(None, {name: feed[name] for name in model.input_names})
    answers, supports, same_meaning = (float(value) for value in classes[0])
    logits: Floats = np.asarray(bounds[0], dtype=np.float32)
    spans = _spans(
        logits[begin : begin + len(held)], float(logits[0].sum()), passage, other.offsets
    )
    return Reading(answers, supports, same_meaning, spans)


def _spans(
    logits: Floats, nothing: float, passage: str, offsets: Sequence[tuple[int, int]]
) -> tuple[Span, ...]:
    """Return the likeliest spans; ``logits`` are (tokens, 2), ``nothing`` is that of no answer."""
    count = len(logits)
    if not count:
        return ()
    scores = logits[:, 0][:, None] + logits[:, 1][None, :]
    first, last = np.indices(scores.shape)
    scores = np.where((last >= first) & (last < first + MAX_SPAN_TOKENS), scores, -np.inf)
    best = np.argsort(-scores, axis=None, kind="stable")[:SPANS]
    found = []
    for place in best:
        i, j = divmod(int(place), count)
        if np.isfinite(scores[i, j]):
            start = offsets[i][0]
            end = min(offsets[j][1], start + MAX_SPAN_CHARACTERS)
            found.append(Span(passage[start:end], start, end, float(scores[i, j]) - nothing))
    return tuple(found)

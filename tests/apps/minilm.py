"""Text to sentence vectors, with the encoder that otel-raglog bundles."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MODEL = (
    Path(__file__).resolve().parents[2]
    / "otel_raglog"
    / "checks"
    / "similarity"
    / "all-MiniLM-L6-v2"
)
MAX_TOKENS = 256


class MiniLM:
    """all-MiniLM-L6-v2: mean pooling over the tokens, then L2 norm; each text is encoded alone."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(MODEL / "model-int8.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self.vector = lru_cache(maxsize=4096)(self._vector)

    def token_count(self, text: str) -> int:
        """Tokens of `text` (at most 256: a stand-in for the token counts of a provider)."""
        return len(self._tokenizer.encode(text).ids)

    def similarity(self, left: str, right: str) -> float:
        """Cosine of the two texts' vectors."""
        return float(np.dot(self.vector(left), self.vector(right)))

    def _vector(self, text: str) -> np.ndarray:
        encoding = self._tokenizer.encode(text)
        ids = np.array([encoding.ids], dtype=np.int64)
        mask = np.array([encoding.attention_mask], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(
            None, {name: feeds[name] for name in feeds if name in self._inputs}
        )[0][0]
        weights = mask[0][:, None].astype(np.float32)
        pooled = (states * weights).sum(axis=0) / weights.sum()
        return pooled / np.linalg.norm(pooled)

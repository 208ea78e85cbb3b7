"""Turns a question and chunks into how relevant each chunk is: similarity and shared words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex

PASSAGE_WORDS = 160
"""Words of English that fit the encoder's window of 256 tokens, names and numbers included."""
MAX_PASSAGES = 6
MAX_TEXTS = 60

_SIMILARITY_WEIGHT = 0.6
_COVERAGE_WEIGHT = 0.4


@dataclass(frozen=True, slots=True)
class Relevance:
    """How one text relates to the question: cosine in [-1, 1], coverage and total in [0, 1]."""

    similarity: float
    coverage: float

    @property
    def total(self) -> float:
        """The weighted mean of both, which the detector's ramps are set against."""
        similarity = min(1.0, max(0.0, self.similarity))
        return _SIMILARITY_WEIGHT * similarity + _COVERAGE_WEIGHT * self.coverage


def passages(text: str) -> tuple[str, ...]:
    """Return the text in pieces that the encoder reads whole: its sentences, packed in order.

    At most six pieces (about 1,000 words); of a longer text the first five and the last are
    kept, since an answer's place in a long text is unknown but documents state most at both ends.
    A text that fits is one piece, unchanged.
    """
    if len(text.split()) <= PASSAGE_WORDS:
        return (text,)
    pieces: list[str] = []
    pending: list[str] = []
    for sentence in sentences(text):
        for part in _parts(sentence.split()):
            if pending and len(pending) + len(part) > PASSAGE_WORDS:
                pieces.append(" ".join(pending))
                pending = []
            pending.extend(part)
    if pending:
        pieces.append(" ".join(pending))
    if len(pieces) > MAX_PASSAGES:
        pieces = [*pieces[: MAX_PASSAGES - 1], pieces[-1]]
    return tuple(pieces)


def relevances(
    forms: Sequence[str], texts: Sequence[str], encoder: Encoder
) -> tuple[Relevance, ...]:
    """Return the relevance of each text (the first sixty) to the question, in order.

    ``forms`` are the question's forms, at least one; a text's relevance is that to the form it
    fits best. A long text is as similar as its most similar passage.
    """
    read = texts[:MAX_TEXTS]
    indices = [WordIndex.of(text) for text in read]
    found: list[tuple[Relevance, ...]] = []
    for form in forms:
        similarities = text_similarities(form, read, encoder)
        weights = question_weights(form)
        found.append(
            tuple(
                Relevance(similarity, coverage(weights, index))
                for index, similarity in zip(indices, similarities, strict=True)
            )
        )
    return tuple(max(each, key=lambda r: r.total) for each in zip(*found, strict=True))


def text_similarities(query: str, texts: Sequence[str], encoder: Encoder) -> tuple[float, ...]:
    """Return the cosine of ``query`` and each text, of its most similar passage when long."""
    if not texts:
        return ()
    split = [passages(text) for text in texts]
    flat = [piece for pieces in split for piece in pieces]
    vectors = encoder.encode([query, *flat])
    cosines = vectors[1:] @ vectors[0]
    found: list[float] = []
    start = 0
    for pieces in split:
        found.append(_finite(float(cosines[start : start + len(pieces)].max())))
        start += len(pieces)
    return tuple(found)


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation with mean ranks for ties; ``None`` when undefined."""
    fewest = 3
    if len(one) != len(other) or len(one) < fewest:
        return None
    a, b = _ranks(one), _ranks(other)
    deviation = float(a.std() * b.std())
    if deviation <= 0:
        return None
    return float(((a - a.mean()) * (b - b.mean())).mean() / deviation)


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, dtype=np.float64)
    ranks = np.empty(len(array), dtype=np.float64)
    for i, value in enumerate(array):
        ranks[i] = (array < value).sum() + ((array == value).sum() + 1) / 2
    return ranks


def _parts(words: list[str]) -> list[list[str]]:
    return [words[i : i + PASSAGE_WORDS] for i in range(0, len(words), PASSAGE_WORDS)]


def _finite(value: float) -> float:
    return min(1.0, max(-1.0, value)) if np.isfinite(value) else 0.0

"""Texts to the vectors of their tokens, sentence by sentence, and how well tokens are matched.

The match of a token is its highest cosine with any token of a text (MaxSim, as late-interaction
retrievers use it: Khattab and Zaharia, "ColBERT", 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.similarity.encoder import TokenEncoder, Vectors
from otel_raglog.checks.similarity.relevance import MAX_TEXTS, passages
from otel_raglog.checks.text.sentences import SentenceSpan, sentence_spans
from otel_raglog.checks.text.words import WORD, WordIndex, fold, is_content

Matrix: TypeAlias = npt.NDArray[np.float32]

MAX_SENTENCES = 400
"""Sentences read of all pieces together: about 8,000 words."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, folded, and the rows of its tokens."""

    folded: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextTokens:
    """A text's tokens (float32, shape ``(tokens, d)``, unit rows) and the content words they make."""

    vectors: Vectors
    starts: npt.NDArray[np.int32]
    words: tuple[Word, ...]

    def rows(self, wanted: Callable[[str], bool]) -> list[int]:
        """Return the rows of the content words that are wanted."""
        return [row for word in self.words if wanted(word.folded) for row in word.rows]

    def of(self, wanted: Callable[[str], bool]) -> Vectors:
        """Return the tokens of the content words that are wanted."""
        return self.vectors[self.rows(wanted)]


def text_tokens(text: str, encoder: TokenEncoder, *, start: int = 0) -> TextTokens:
    """Return the tokens of ``text`` from character ``start`` on, as far as the encoder reads."""
    (found,) = encoder.encode_tokens((text,))
    kept = found.starts >= start
    starts = found.starts[kept]
    words = []
    for match in WORD.finditer(text, start):
        folded = fold(match.group()).removesuffix("'s")
        rows = np.flatnonzero((starts >= match.start()) & (starts < match.end()))
        if len(rows) and is_content(folded):
            words.append(Word(folded, tuple(rows.tolist())))
    return TextTokens(found.vectors[kept].astype(np.float32), starts, tuple(words))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of several pieces of text, with their tokens.

    ``pieces`` (int) tell which piece each sentence is of. ``tokens`` (float32) are those of all
    sentences in a row, ``begins`` the row at which each sentence's begin. ``means`` has the unit
    mean of each sentence's tokens: shape ``(sentences, d)``.
    """

    texts: tuple[str, ...]
    pieces: npt.NDArray[np.int64]
    indices: tuple[WordIndex, ...]
    tokens: Matrix
    begins: npt.NDArray[np.int64]
    means: Matrix

    def matches(self, queries: Matrix) -> Matrix:
        """Return each query token's match in each sentence: shape ``(queries, sentences)``."""
        if not len(queries):
            return np.zeros((0, len(self.texts)), dtype=np.float32)
        found = np.maximum.reduceat(queries @ self.tokens.T, self.begins, axis=1)
        return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float32)

    def held(self, words: Sequence[str]) -> Matrix:
        """Return which word each sentence holds in some form, 1 or 0: ``(words, sentences)``."""
        rows = [[index.holds_related(word) for index in self.indices] for word in words]
        return np.asarray(rows, dtype=np.float32).reshape(len(words), len(self.texts))

    def windows(self, matrix: Matrix) -> Matrix:
        """Return the best of each sentence and its two neighbours, of the same piece, per row."""
        if matrix.shape[1] < 2 or not len(matrix):  # noqa: PLR2004  a sentence has no neighbour
            return matrix
        found = matrix.copy()
        same = self.pieces[1:] == self.pieces[:-1]
        nothing = np.float32(-1.0)
        found[:, 1:] = np.maximum(found[:, 1:], np.where(same, matrix[:, :-1], nothing))
        found[:, :-1] = np.maximum(found[:, :-1], np.where(same, matrix[:, 1:], nothing))
        return found


def sentences_of(pieces: Sequence[str], encoder: TokenEncoder) -> Sentences | None:
    """Return the sentences of ``pieces`` (the first sixty), ``None`` when there are none.

    A piece is encoded in the passages that the similarity checks encode too, so that it costs
    nothing more, and a sentence's tokens know the sentences around it. One that the encoder did
    not reach is encoded alone.
    """
    read = [
        (number, passage)
        for number, piece in enumerate(pieces[:MAX_TEXTS])
        for passage in passages(piece)
    ]
    encoded = encoder.encode_tokens([passage for _, passage in read])
    texts: list[str] = []
    numbers: list[int] = []
    parts: list[Vectors] = []
    for (number, passage), tokens in zip(read, encoded, strict=True):
        vectors = tokens.vectors.astype(np.float32)
        for span in sentence_spans(passage):
            if len(texts) >= MAX_SENTENCES:
                break
            own = _rows(span, vectors, tokens.starts)
            if not len(own):
                (alone,) = encoder.encode_tokens((span.text,))
                own = alone.vectors.astype(np.float32)
            if len(own):
                texts.append(span.text)
                numbers.append(number)
                parts.append(own)
    if not texts:
        return None
    means = np.stack([_unit(part.mean(axis=0)) for part in parts])
    begins = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return Sentences(
        tuple(texts),
        np.asarray(numbers),
        tuple(WordIndex.of(text) for text in texts),
        np.concatenate(parts),
        begins,
        means,
    )


def word_matches(words: Sequence[Word], vectors: Vectors, others: Vectors) -> tuple[float, ...]:
    """Return each word's match in ``others``: the mean over its tokens; 0.0 without others."""
    if not len(others):
        return (0.0,) * len(words)
    best = np.clip((vectors @ others.T).max(axis=1), -1.0, 1.0)
    return tuple(float(best[list(word.rows)].mean()) for word in words)


def _rows(span: SentenceSpan, vectors: Vectors, starts: npt.NDArray[np.int32]) -> Vectors:
    return vectors[(starts >= span.start) & (starts < span.end)]


def _unit(vector: Vectors) -> Vectors:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector

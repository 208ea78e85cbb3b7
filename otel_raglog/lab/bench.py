"""What stages work with: one corpus's passages in stores, its vocabulary, and an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.lab.corpus import Chunking, Corpus, Document, Passage, cut
from otel_raglog.lab.stores import DenseStore, LexicalStore, Told
from otel_raglog.lab.vocabulary import Vocabulary


class Bench:
    """A corpus cut by ``chunking``; stores are built when a stage first needs them.

    ``folder`` keeps the vectors between calls of the program; ``None`` keeps them in memory.
    ``tell`` is told how many passages were encoded.
    """

    def __init__(
        self,
        corpus: Corpus,
        chunking: Chunking,
        encoder: Encoder,
        folder: Path | None = None,
        tell: Told | None = None,
    ) -> None:
        self.corpus = corpus
        self.documents: Mapping[str, Document] = {d.id: d for d in corpus.documents}
        self.passages: tuple[Passage, ...] = cut(corpus.documents, chunking)
        self._encoder = encoder
        self._folder = folder
        self._tell = tell

    @cached_property
    def dense(self) -> DenseStore:
        """The passages' vectors."""
        return DenseStore(self.passages, self._encoder, self._folder, self._tell, self.corpus.name)

    @cached_property
    def lexical(self) -> LexicalStore:
        """The passages' words."""
        return LexicalStore(self.passages)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """How common the corpus's words are."""
        return Vocabulary(passage.headed for passage in self.passages)

    def cosines(self, text: str, others: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the cosine of ``text`` to each of ``others``: an array of their number."""
        if not others:
            return np.zeros(0, dtype=np.float32)
        vectors = self._encoder.encode([text, *others])
        return np.asarray(vectors[1:] @ vectors[0], dtype=np.float32)

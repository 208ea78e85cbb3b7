"""Rerankers: retrieved passages to the same ones in a better order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.errors import ConfigError
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.stores import Hit


class Reranker(Protocol):
    """Scores passages against a question."""

    def rerank(self, question: str, hits: Sequence[Hit], bench: Bench) -> tuple[Hit, ...]:
        """Return all of ``hits``, best first, with the scores of this reranker."""
        ...


@dataclass(frozen=True, slots=True)
class Combined:
    """Cosine of question and passage, and the weighted share of the question's words."""

    lexical: float = 0.5

    def rerank(self, question: str, hits: Sequence[Hit], bench: Bench) -> tuple[Hit, ...]:
        """Return all of ``hits``, best first."""
        weights = question_weights(question)
        cosines = bench.cosines(question, [hit.passage.headed for hit in hits])
        shares = [coverage(weights, WordIndex([hit.passage.headed])) for hit in hits]
        return ordered(
            hits,
            [
                (1 - self.lexical) * float(cosine) + self.lexical * share
                for cosine, share in zip(cosines, shares, strict=True)
            ],
        )


@dataclass(frozen=True, slots=True)
class BestSentence:
    """The cosine of the question to the passage's nearest sentence, of its first ``most``."""

    most: int = 8

    def rerank(self, question: str, hits: Sequence[Hit], bench: Bench) -> tuple[Hit, ...]:
        """Return all of ``hits``, best first."""
        scores = [
            float(max(bench.cosines(question, sentences(hit.passage.text)[: self.most]), default=0))
            for hit in hits
        ]
        return ordered(hits, scores)


class CrossEncoder:
    """A cross-encoder of sentence-transformers, by name or folder; it loads at the first use.

    Raises:
        ConfigError: sentence-transformers is not installed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._model: Any = None

    def rerank(self, question: str, hits: Sequence[Hit], bench: Bench) -> tuple[Hit, ...]:  # noqa: ARG002
        """Return all of ``hits``, best first."""
        if self._model is None:
            self._model = self._load()
        pairs = [(question, hit.passage.headed) for hit in hits]
        return ordered(hits, [float(score) for score in self._model.predict(pairs)] if hits else [])

    def _load(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder as Model  # noqa: PLC0415  optional
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"the reranker {self._name} needs {error.name}: "
                "pip install 'otel-raglog[sentence-transformers]'"
            ) from None
        return Model(self._name, device="cpu")


def ordered(hits: Sequence[Hit], scores: Sequence[float]) -> tuple[Hit, ...]:
    """Return ``hits`` by ``scores``, highest first; equal ones stay in their order."""
    places = sorted(range(len(hits)), key=lambda place: -scores[place])
    return tuple(Hit(hits[place].passage, round(scores[place], 4)) for place in places)

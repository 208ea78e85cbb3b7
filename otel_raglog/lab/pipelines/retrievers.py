"""Retrievers: queries to passages, by vectors, by words, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Passage
from otel_raglog.lab.stores import EVERYWHERE, Hit, Scope

_RRF = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
_DEPTH = 3


class Retriever(Protocol):
    """Searches one store or several."""

    @property
    def dense(self) -> bool:
        """Whether queries are embedded."""
        ...

    def search(
        self, bench: Bench, queries: Queries, k: int, scope: Scope = EVERYWHERE
    ) -> tuple[Hit, ...]:
        """Return at most ``k`` passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Queries:
    """What is searched for: ``texts`` by words, ``embedded`` by vectors."""

    texts: tuple[str, ...]
    embedded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the embedded texts; several of them are fused by rank."""

    dense: bool = True

    def search(
        self, bench: Bench, queries: Queries, k: int, scope: Scope = EVERYWHERE
    ) -> tuple[Hit, ...]:
        """Return at most ``k`` passages, best first."""
        return _joined((bench.dense.search(text, k, scope) for text in queries.embedded), k)


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 of the texts; several of them are fused by rank."""

    dense: bool = False

    def search(
        self, bench: Bench, queries: Queries, k: int, scope: Scope = EVERYWHERE
    ) -> tuple[Hit, ...]:
        """Return at most ``k`` passages, best first."""
        return _joined((bench.lexical.search(text, k, scope) for text in queries.texts), k)


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Both, fused by rank."""

    dense: bool = True

    def search(
        self, bench: Bench, queries: Queries, k: int, scope: Scope = EVERYWHERE
    ) -> tuple[Hit, ...]:
        """Return at most ``k`` passages, best first."""
        depth = _DEPTH * k
        by_vector = [bench.dense.search(text, depth, scope) for text in queries.embedded]
        by_word = [bench.lexical.search(text, depth, scope) for text in queries.texts]
        return fused([*by_vector, *by_word], k)


def _joined(rankings: Iterable[tuple[Hit, ...]], k: int) -> tuple[Hit, ...]:
    found = tuple(rankings)
    return found[0][:k] if len(found) == 1 else fused(found, k)


def fused(rankings: Sequence[Sequence[Hit]], k: int) -> tuple[Hit, ...]:
    """Return the ``k`` best by the sum of 1 / (60 + rank) over the rankings."""
    scores: dict[str, float] = {}
    passages: dict[str, Passage] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            passages[hit.passage.id] = hit.passage
            scores[hit.passage.id] = scores.get(hit.passage.id, 0.0) + 1 / (_RRF + rank)
    best = sorted(scores, key=lambda name: -scores[name])[:k]
    return tuple(Hit(passages[name], round(scores[name], 4)) for name in best)

"""Real stores of passages: vectors in DuckDB, words in a BM25 index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.similarity.encoder import DIMENSIONS, Encoder
from otel_raglog.checks.text.words import is_content, stem, words
from otel_raglog.errors import ConfigError
from otel_raglog.lab.corpus import Passage

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage with the score that the last stage gave it; scores of stages do not compare."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may find: nothing of ``without`` (ids), and only what ``shelf`` holds."""

    without: frozenset[str] = frozenset()
    shelf: int | None = None


EVERYWHERE = Scope()
SHELVES = 12


def shelf_of(document: str) -> int:
    """Return the shelf of a document: metadata to filter by, spread evenly."""
    return hashlib.sha256(document.encode()).digest()[0] % SHELVES


class DenseStore:
    """Passages with their vectors in a DuckDB file, searched exactly by inner product.

    The file is made once for a set of passages (its name holds their hash); ``None`` keeps the
    store in memory.

    Raises:
        ConfigError: the extra ``lab`` is not installed.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        encoder: Encoder,
        folder: Path | None = None,
        tell: Told | None = None,
        name: str = "a corpus",
    ) -> None:
        try:
            import duckdb  # noqa: PLC0415  the extra lab
        except ModuleNotFoundError as error:
            raise lab_missing(error) from None
        self._passages = tuple(passages)
        self._encoder = encoder
        self._name = name
        path = folder / f"passages-{_digest(passages)}.duckdb" if folder else None
        self._database = duckdb.connect(str(path) if path else ":memory:", config={"threads": 1})
        self._database.execute(
            "create table if not exists passages"
            f" (place integer, id varchar, shelf integer, embedding float[{DIMENSIONS}])"
        )
        ((stored,),) = self._database.execute("select count(*) from passages").fetchall()
        self._fill(stored, tell or (lambda *_: None))

    def _fill(self, start: int, tell: Told) -> None:
        """Store what is missing, some at a time: an interrupted run goes on here."""
        for at in range(start, len(self._passages), _AT_ONCE):
            some = self._passages[at : at + _AT_ONCE]
            vectors = self._encoder.encode([passage.headed for passage in some])
            self._insert(at, some, vectors)
            tell(f"Encoding passages of {self._name}", at + len(some), len(self._passages))

    def _insert(
        self, at: int, passages: Sequence[Passage], vectors: npt.NDArray[np.float32]
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415  the extra lab

        table = pa.table(
            {
                "place": pa.array(range(at, at + len(passages)), pa.int32()),
                "id": [passage.id for passage in passages],
                "shelf": pa.array([shelf_of(p.document) for p in passages], pa.int32()),
                "embedding": pa.FixedSizeListArray.from_arrays(
                    pa.array(vectors.ravel()), DIMENSIONS
                ),
            }
        )
        self._database.register("fresh", table)
        self._database.execute("insert into passages select * from fresh")
        self._database.unregister("fresh")

    def search(self, text: str, k: int, scope: Scope = EVERYWHERE) -> tuple[Hit, ...]:
        """Return the ``k`` passages with the highest cosine to ``text``, best first."""
        vector = self._encoder.encode([text])[0]
        rows = self._database.execute(
            f"select place, array_inner_product(embedding, ?::float[{DIMENSIONS}]) as score"  # noqa: S608  no text of users
            " from passages where ($2 is null or shelf = $2) and not list_contains($3, id)"
            " order by score desc, place limit $4".replace("?", "$1"),
            [vector.tolist(), scope.shelf, sorted(scope.without), k],
        ).fetchall()
        return tuple(Hit(self._passages[place], round(float(score), 4)) for place, score in rows)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class LexicalStore:
    """Passages in a BM25 index (bm25s, Lucene's variant) over stemmed words.

    Raises:
        ConfigError: the extra ``lab`` is not installed.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        try:
            import bm25s  # noqa: PLC0415  the extra lab
        except ModuleNotFoundError as error:
            raise lab_missing(error) from None
        self._passages = tuple(passages)
        self._shelves = np.array([shelf_of(passage.document) for passage in passages])
        self._places = {passage.id: place for place, passage in enumerate(passages)}
        self._index: Any = bm25s.BM25()
        self._index.index([tokens(p.headed) or ["-"] for p in passages], show_progress=False)

    def search(self, text: str, k: int, scope: Scope = EVERYWHERE) -> tuple[Hit, ...]:
        """Return at most ``k`` passages that share a word with ``text``, best first."""
        wanted = tokens(text)
        if not wanted:
            return ()
        allowed = np.ones(len(self._passages), dtype=np.float32)
        if scope.shelf is not None:
            allowed[self._shelves != scope.shelf] = 0.0
        allowed[[self._places[name] for name in scope.without if name in self._places]] = 0.0
        scores = self._index.get_scores(wanted) * allowed
        best = np.lexsort((np.arange(len(scores)), -scores))[:k]
        return tuple(
            Hit(self._passages[place], round(float(scores[place]), 4))
            for place in best
            if scores[place] > 0
        )


def tokens(text: str) -> list[str]:
    """Return the stems of the content words of ``text``, repeated words repeated."""
    return [stem(word) for word in words(text) if is_content(word)]


def lab_missing(error: ModuleNotFoundError) -> ConfigError:
    """Return the error that says what to install."""
    return ConfigError(
        f"the lab needs {error.name}, which is not installed here: pip install 'otel-raglog[lab]'"
    )


def _digest(passages: Sequence[Passage]) -> str:
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(f"{passage.id}\0{passage.headed}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]

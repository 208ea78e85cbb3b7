"""Retrievers: queries to passages, and fusion by rank."""

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking, Passage
from otel_raglog.lab.pipelines.retrievers import Bm25, Dense, Hybrid, Queries, fused
from otel_raglog.lab.stores import Hit, Scope

BENCH = Bench(small_corpus(), Chunking(), WordVectors())


def _hits(names):
    return [Hit(Passage(name, name, "", name), 1.0) for name in names]


def test_what_several_rankings_hold_comes_first():
    """The sum of 1 / (60 + rank)."""
    found = fused([_hits("abc"), _hits("bd")], 3)
    assert [hit.passage.id for hit in found] == ["b", "a", "d"]
    assert found[0].score == round(1 / 62 + 1 / 61, 4)


@pytest.mark.parametrize("retriever", [Dense(), Bm25(), Hybrid()])
def test_each_finds_the_passage_that_answers(retriever):
    """With one query or several, within the scope."""
    text = "Who designed the Fenwick Theatre?"
    for queries in (Queries((text,), (text,)), Queries((text, "lena"), (text, "lena"))):
        found = retriever.search(BENCH, queries, 3)
        assert found[0].passage.title == "Fenwick Theatre"
        gone = Scope(frozenset({found[0].passage.id}))
        assert found[0].passage not in [
            h.passage for h in retriever.search(BENCH, queries, 3, gone)
        ]


def test_vectors_are_searched_for_what_was_embedded_and_words_for_the_query():
    """A fault of the embedder does not reach BM25."""
    queries = Queries(("Fenwick Theatre",), ("Gorland Mine",))
    assert Dense().search(BENCH, queries, 1)[0].passage.title == "Gorland Mine"
    assert Bm25().search(BENCH, queries, 1)[0].passage.title == "Fenwick Theatre"
    titles = {hit.passage.title for hit in Hybrid().search(BENCH, queries, 2)}
    assert titles == {"Gorland Mine", "Fenwick Theatre"}

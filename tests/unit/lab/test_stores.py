"""Stores: passages by vectors in DuckDB and by words in BM25."""

import sys

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.errors import ConfigError
from otel_raglog.lab.corpus import Chunking, cut
from otel_raglog.lab.stores import DenseStore, LexicalStore, Scope, shelf_of, tokens

PASSAGES = cut(small_corpus().documents, Chunking())


class _Counting(WordVectors):
    def __init__(self):
        self.texts = 0

    def encode(self, texts):
        self.texts += len(texts)
        return super().encode(texts)


@pytest.fixture(params=["dense", "lexical"])
def store(request):
    """Each kind of store over the same passages."""
    if request.param == "lexical":
        return LexicalStore(PASSAGES)
    return DenseStore(PASSAGES, WordVectors())


def test_the_passage_with_the_questions_words_comes_first(store):
    """With falling scores, at most k of them."""
    hits = store.search("Who designed the Fenwick Theatre?", 3)
    assert hits[0].passage.title == "Fenwick Theatre"
    assert len(hits) <= 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_scope_leaves_out_passages_and_shelves(store):
    """Filters count before the cut at k."""
    first = store.search("Who designed the Fenwick Theatre?", 1)[0].passage
    without = store.search("Who designed the Fenwick Theatre?", 3, Scope(frozenset({first.id})))
    assert first.id not in {hit.passage.id for hit in without}
    shelf = shelf_of(first.document)
    only = store.search("Who designed the Fenwick Theatre?", 18, Scope(shelf=shelf))
    assert {shelf_of(hit.passage.document) for hit in only} == {shelf}


def test_words_alone_find_nothing_for_other_words():
    """BM25 does not fill up its list with strangers."""
    assert LexicalStore(PASSAGES).search("xylophone", 5) == ()
    assert LexicalStore(PASSAGES).search("the of", 5) == ()
    assert tokens("The bridges crossed") == tokens("bridge crossing")


def test_vectors_are_kept_and_taken_up_where_they_stopped(tmp_path):
    """A second store of the same passages encodes nothing but the query."""
    told = []
    first = DenseStore(
        PASSAGES, WordVectors(), tmp_path, lambda *told_: told.append(told_), "towns"
    )
    found = first.search("bridge", 3)
    first.close()
    assert told == [("Encoding passages of towns", 18, 18)]
    encoder = _Counting()
    second = DenseStore(PASSAGES, encoder, tmp_path)
    assert second.search("bridge", 3) == found
    assert encoder.texts == 1
    second.close()


@pytest.mark.parametrize("library", ["duckdb", "bm25s"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, library):
    """Not a stack trace."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=r"pip install 'otel-raglog\[lab\]'"):
        DenseStore(PASSAGES, WordVectors()) if library == "duckdb" else LexicalStore(PASSAGES)

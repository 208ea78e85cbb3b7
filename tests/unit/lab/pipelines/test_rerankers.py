"""Rerankers: the same passages in another order."""

import sys
from types import SimpleNamespace

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.errors import ConfigError
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking
from otel_raglog.lab.pipelines.rerankers import BestSentence, Combined, CrossEncoder
from otel_raglog.lab.stores import Hit

BENCH = Bench(small_corpus(), Chunking(), WordVectors())
HITS = tuple(Hit(passage, 1.0) for passage in BENCH.passages[:6])


@pytest.mark.parametrize("reranker", [Combined(), Combined(1.0), BestSentence()])
def test_the_passage_that_answers_comes_first(reranker):
    """None is lost, and the scores are the reranker's."""
    found = reranker.rerank("Who designed the Fenwick Theatre?", HITS, BENCH)
    assert found[0].passage.title == "Fenwick Theatre"
    assert {hit.passage.id for hit in found} == {hit.passage.id for hit in HITS}
    assert [hit.score for hit in found] == sorted((h.score for h in found), reverse=True)
    assert reranker.rerank("Who?", (), BENCH) == ()


def test_a_cross_encoder_is_loaded_by_name_once(monkeypatch):
    """Its scores decide."""
    loaded = []

    class Model:
        def __init__(self, name, device):
            loaded.append((name, device))

        def predict(self, pairs):
            return [float("Mine" in text or "Castle" in text) for _, text in pairs]

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=Model))
    reranker = CrossEncoder("tiny")
    for _ in range(2):
        found = reranker.rerank("Who?", HITS, BENCH)
        assert found[0].passage.title == "Brunhill Castle"
    assert loaded == [("tiny", "cpu")]
    assert reranker.rerank("Who?", (), BENCH) == ()


def test_without_sentence_transformers_the_error_says_what_to_install(monkeypatch):
    """Not a stack trace."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"otel-raglog\[sentence-transformers\]"):
        CrossEncoder("tiny").rerank("Who?", HITS, BENCH)

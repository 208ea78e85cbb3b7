"""Bench: a corpus cut into passages, with stores that are built when needed."""

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking


def test_stores_hold_the_passages_of_the_chunking():
    """Smaller chunks are more passages."""
    large = Bench(small_corpus(), Chunking(), WordVectors())
    small = Bench(small_corpus(), Chunking(8), WordVectors())
    assert len(large.passages) == 18 < len(small.passages)
    assert small.dense.search("clock", 1)[0].passage in small.passages
    assert large.lexical is large.lexical


def test_cosines_are_one_for_each_text():
    """None for none."""
    bench = Bench(small_corpus(), Chunking(), WordVectors())
    assert bench.cosines("clock", ["clock", "bread"]).tolist() == pytest.approx([1, 0], abs=0.01)
    assert bench.cosines("clock", []).shape == (0,)

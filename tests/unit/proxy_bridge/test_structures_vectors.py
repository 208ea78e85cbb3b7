"""Embedders and rerankers of unknown APIs, and what looks like them."""

import pytest
from unknown_calls import LAPTOPS, QUESTION, VACATION, VECTOR, exchange_of

from otel_raglog_proxy_bridge.model import CallStage
from otel_raglog_proxy_bridge.structural import mapping_of, read_by, tell
from otel_raglog_proxy_bridge.structures_vectors import tell_embedder, tell_reranker

OTHER = [-value for value in VECTOR]
TEXTS = [VACATION, LAPTOPS]

EMBEDDERS = {
    "a list of vectors": ({"texts": TEXTS}, {"embeddings": [VECTOR, OTHER]}),
    "objects with a vector each": (
        {"input": TEXTS, "model": "m"},
        {"data": [{"i": 0, "vec": VECTOR}, {"i": 1, "vec": OTHER}]},
    ),
    "nested objects": (
        {"instances": [{"content": VACATION}, {"content": LAPTOPS}]},
        {"predictions": [{"embeddings": {"values": VECTOR}}, {"embeddings": {"values": OTHER}}]},
    ),
    "an echo of the texts": (
        {"sentences": TEXTS},
        {"items": [{"text": VACATION, "v": VECTOR}, {"text": LAPTOPS, "v": OTHER}]},
    ),
    "nothing around": (TEXTS, [VECTOR, OTHER]),
}


@pytest.mark.parametrize(("request_", "response"), EMBEDDERS.values(), ids=EMBEDDERS)
def test_texts_in_and_as_many_vectors_out_is_an_embedder(request_, response):
    """However they are packed; the mapping that is found reads both."""
    exchange = exchange_of(request_, response)
    structure = tell(exchange)
    assert structure.stage is CallStage.EMBEDDER
    reading = mapping_of(exchange, structure, created="").read(exchange)
    assert reading.inputs == tuple(TEXTS)
    assert reading.vectors == (tuple(VECTOR), tuple(OTHER))
    assert mapping_of(exchange, structure, created="").lacks(exchange) is None


def test_one_text_has_one_vector():
    """Without a list around it."""
    exchange = exchange_of({"query": QUESTION}, {"embedding": VECTOR})
    reading = read_by(exchange, tell(exchange))
    assert (reading.inputs, reading.vectors) == ((QUESTION,), (tuple(VECTOR),))


NO_EMBEDDERS = {
    "other numbers of texts and vectors": ({"texts": TEXTS}, {"embeddings": [VECTOR]}),
    "tokens": ({"text": VACATION}, {"tokens": list(range(100, 140))}),
    "vectors of two lengths": ({"texts": TEXTS}, {"e": [VECTOR, [*VECTOR, 0.5]]}),
    "a search that returns vectors": (
        {"query": QUESTION, "k": 1},
        {"hits": [{"text": VACATION, "vector": VECTOR, "score": 0.5}]},
    ),
    "a vector in": ({"text": VACATION, "vector": VECTOR}, {"stored": VECTOR}),
    "no text in": ({"ids": [1]}, {"vectors": [VECTOR]}),
}


@pytest.mark.parametrize(("request_", "response"), NO_EMBEDDERS.values(), ids=NO_EMBEDDERS)
def test_what_looks_like_an_embedder_is_none(request_, response):
    """Rather nothing than a wrong stage."""
    assert tell_embedder(exchange_of(request_, response)) is None


def test_an_error_is_no_embedder():
    """It shows nothing."""
    assert tell_embedder(exchange_of({"texts": TEXTS}, {"error": "x"}, status=500)) is None


DOCUMENTS = [{"id": "d1", "text": VACATION}, {"id": "d2", "text": LAPTOPS}]
RERANKERS = {
    "indices": ({"query": QUESTION, "docs": TEXTS}, [{"index": 1, "score": 0.9}]),
    "indices under other names": (
        {"q": QUESTION, "passages": TEXTS},
        {"data": {"ranking": [{"corpus_id": 1, "relevance_score": 0.9}]}},
    ),
    "scores in the order of the request": (
        {"query": QUESTION, "texts": TEXTS},
        {"scores": [0.1, 0.9]},
    ),
    "pairs of index and score": (
        {"question": QUESTION, "candidates": TEXTS},
        {"ranks": [[1, 0.9], [0, 0.1]]},
    ),
    "ids": ({"query": QUESTION, "items": DOCUMENTS}, {"results": [{"id": "d2", "score": 0.9}]}),
    "texts": ({"query": QUESTION, "docs": TEXTS}, {"best": [{"text": LAPTOPS, "score": 0.9}]}),
    "pairs of query and document": (
        {"pairs": [[QUESTION, VACATION], [QUESTION, LAPTOPS]]},
        [0.1, 0.9],
    ),
}


@pytest.mark.parametrize(("request_", "response"), RERANKERS.values(), ids=RERANKERS)
def test_documents_in_and_their_scores_out_is_a_reranker(request_, response):
    """However the results name the documents; the mapping reads query, documents and results."""
    exchange = exchange_of(request_, response)
    structure = tell(exchange)
    assert structure.stage is CallStage.RERANKER
    mapping = mapping_of(exchange, structure, created="")
    reading = mapping.read(exchange)
    assert reading.query == QUESTION
    assert [each.text for each in reading.documents] == TEXTS
    best = reading.results[0]
    assert best.score == 0.9
    assert best.index == 1 or best.id == "d2" or best.text == LAPTOPS
    assert mapping.lacks(exchange) is None


NO_RERANKERS = {
    "labels": (
        {"query": "I like it", "labels": ["good", "bad"]},
        {"scores": [0.9, 0.1]},
    ),
    "single words": (
        {"query": "x", "options": ["good", "bad"]},
        {"scores": [0.9, 0.1]},
    ),
    "an index out of range": (
        {"query": QUESTION, "docs": TEXTS},
        [{"index": 2, "score": 0.9}],
    ),
    "the same index twice": (
        {"query": QUESTION, "docs": TEXTS},
        [{"index": 1, "score": 0.9}, {"index": 1, "score": 0.1}],
    ),
    "no scores": ({"query": QUESTION, "docs": TEXTS}, {"kept": [{"index": 1}]}),
    "more results than documents": (
        {"query": QUESTION, "docs": [VACATION]},
        {"scores": [0.1, 0.9]},
    ),
    "no query": ({"documents": TEXTS}, {"scores": [0.1, 0.9]}),
    "other texts": (
        {"query": QUESTION, "docs": TEXTS},
        {"hits": [{"text": "Something else that was found.", "score": 0.9}]},
    ),
    "a moderation": (
        {"input": TEXTS},
        {"results": [{"flagged": False, "category_scores": {"hate": 0.1}}]},
    ),
}


@pytest.mark.parametrize(("request_", "response"), NO_RERANKERS.values(), ids=NO_RERANKERS)
def test_what_looks_like_a_reranker_is_none(request_, response):
    """Rather nothing than a wrong stage."""
    assert tell_reranker(exchange_of(request_, response)) is None


def test_a_short_list_of_numbers_is_no_embedding_unless_named_so():
    """A forecast for a text is not."""
    numbers = [0.125 * place + 0.01 for place in range(9)]

    def told_by(key, values):
        return tell_embedder(exchange_of({"input": "the hall's temperature"}, {key: values}))

    assert told_by("forecast", numbers) is None
    assert told_by("vector", numbers) is not None
    assert told_by("forecast", numbers * 8) is not None


def test_a_long_ranking_by_text_is_told():
    """Thirty thousand documents that are told again in other order."""
    documents = [f"Document number {place}" for place in range(30_000)]
    ranked = [{"content": text, "score": 0.5} for text in reversed(documents)]
    exchange = exchange_of({"query": QUESTION, "docs": documents}, {"outcome": ranked})
    assert tell_reranker(exchange) is not None

"""Requests and answers of rerankers, in the many ways in which servers write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from otel_raglog_proxy_bridge.formats.fields import (
    at,
    count,
    items,
    mapping,
    name,
    number,
    text,
    texts,
)
from otel_raglog_proxy_bridge.model import Document, Exchange, Ranked, RerankerReading

_QUERIES = ("query", "queries", "question", "source_sentence", "text_1", "q")
_CANDIDATES = (
    "documents",
    "texts",
    "passages",
    "inputs",
    "input",
    "records",
    "sources",
    "candidates",
    "contexts",
    "chunks",
    "docs",
    "sentences",
    "answers",
    "items",
    "text_2",
)
_TEXTS = (
    "text",
    "content",
    "passage",
    "page_content",
    "body",
    "snippet",
    "document",
    "input",
    "textDocument",
)
_RESULTS = ("results", "data", "rankings", "records", "rerank", "ranks", "scores", "score")
_INDICES = ("index", "document_index", "doc_index", "idx", "corpus_id", "position")
_IDS = ("id", "document_id", "doc_id", "_id")
_LABELS = (*_IDS, "type")
_SCORES = ("relevance_score", "relevanceScore", "score", "logit", "rerank_score", "similarity")
_LIMITS = ("top_n", "top_k", "topN", "topK", "top")
_WITHIN = ("input", "inputs", "parameters")
"""Objects in which some APIs put what others put beside them."""


def is_ranking(request: object) -> bool:
    """Return whether ``request`` has a query and a list of candidates, or pairs of the two."""
    if _pairs(request):
        return True
    return any(
        _query(part) is not None and _candidates(part) is not None for part in _parts(request)
    )


def read_ranking(exchange: Exchange) -> RerankerReading:
    """Return what a call of a reranker says, whichever of the known shapes it has.

    Scores that stand in the order of the candidates are put best first, as other APIs do.
    """
    request = exchange.request
    pairs = _pairs(request)
    part = next((part for part in _parts(request) if _candidates(part) is not None), None)
    query = pairs[0][0] if pairs else _query(part)
    documents = tuple(Document(text=second) for _, second in pairs) or documents_of(
        _candidates(part) or (), texts(request, "rank_fields")
    )
    results = results_of(exchange.response)
    if at(request, "text_2") is not None:
        results = best_first(results)
    limits = (count(part, key) for part in _parts(request) for key in _LIMITS)
    return RerankerReading(
        model=text(request, "model") or text(request, "model_id"),
        query=query,
        documents=documents,
        results=results,
        top_n=next((limit for limit in limits if limit is not None), None)
        or count(request, "parameters", "return_options", "top_n"),
    )


def documents_of(found: Sequence[object], rank_fields: Sequence[str] = ()) -> tuple[Document, ...]:
    """Return candidates that are texts or objects.

    The text of an object is what is ranked: its ``rank_fields``, else its text, else all its texts.
    """
    return tuple(Document(id=_id(item), text=document_text(item, rank_fields)) for item in found)


def document_text(data: object, rank_fields: Sequence[str] = ()) -> str | None:
    """Return the text of a candidate, or of a result's ``document``."""
    if isinstance(data, str) or not isinstance(data, Mapping):
        return data if isinstance(data, str) else None
    ranked = [part for key in rank_fields if (part := text(data, key))]
    if ranked:
        return "\n".join(ranked)
    for key in _TEXTS:
        found = at(data, key)
        if isinstance(found, Mapping):  # one level: answers are others', and may nest without end
            found = next((inner for within in _TEXTS if (inner := text(found, within))), None)
        if isinstance(found, str):
            title = text(data, "title")
            return f"{title}\n{found}" if title and key == "content" else found
    rest = [value for key, value in data.items() if isinstance(value, str) and key not in _LABELS]
    return "\n".join(rest) or None


def results_of(response: object) -> tuple[Ranked, ...]:
    """Return the results in an answer: objects, or scores in the order of the candidates."""
    found: Sequence[object] = items(response)
    outer = mapping(response, "output") or mapping(response)
    if not found:
        found = next((items(outer, key) for key in _RESULTS if items(outer, key)), ())
    if found and all(number(item) is not None for item in found):
        return best_first(
            tuple(Ranked(index=index, score=number(item)) for index, item in enumerate(found))
        )
    return tuple(_ranked(item) for item in found if isinstance(item, Mapping))


def best_first(results: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Return the results by falling score; those without a score come last."""
    return tuple(
        sorted(results, key=lambda item: float("inf") if item.score is None else -item.score)
    )


def _ranked(item: Mapping[str, object]) -> Ranked:
    scores = (number(item, key) for key in _SCORES)
    indices = (count(item, key) for key in _INDICES)
    return Ranked(
        index=next((index for index in indices if index is not None), None),
        id=_id(item) or _id(at(item, "document")),
        score=next((score for score in scores if score is not None), None),
        text=document_text(at(item, "document"))
        or document_text({key: at(item, key) for key in ("title", *_TEXTS)}),
    )


def _id(data: object) -> str | None:
    return next((found for key in _IDS if (found := name(data, key))), None)


def _parts(request: object) -> list[Mapping[str, object]]:
    parts = [mapping(request), *(mapping(request, key) for key in _WITHIN)]
    return [part for part in parts if part]


def _query(part: object) -> str | None:
    for key in _QUERIES:
        found = at(part, key)
        if isinstance(found, list) and found and all(item == found[0] for item in found):
            found = found[0]
        if isinstance(found, str):
            return found
        inner = document_text(found)
        if inner is not None:
            return inner
    return None


def _candidates(part: object) -> Sequence[object] | None:
    for key in _CANDIDATES:
        found = at(part, key)
        if isinstance(found, list):
            return found
    single = text(part, "text_2")
    return None if single is None else [single]


def _pairs(request: object) -> list[tuple[str, str]]:
    """Return the pairs given to a cross-encoder: the same query, each with one candidate."""
    for key in ("text_pairs", "pairs", "sentence_pairs", "inputs"):
        found = items(request, key)
        pairs = [
            (first, second)
            for item in found
            if (first := text(item, 0)) is not None and (second := text(item, 1)) is not None
        ]
        if pairs and len(pairs) == len(found) and len({first for first, _ in pairs}) == 1:
            return pairs
    return []

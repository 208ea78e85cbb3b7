"""The shapes of embedders and rerankers: texts to vectors, and documents to scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.fields import at, count, number
from otel_raglog_proxy_bridge.model import CallStage, Exchange
from otel_raglog_proxy_bridge.shapes import (
    Column,
    Spot,
    are_ids,
    are_numbers,
    columns,
    is_vector,
    normal,
    objects_in,
    spots,
    texts_in,
    words_in,
)
from otel_raglog_proxy_bridge.structures import (
    PROMPTS,
    QUERIES,
    Structure,
    model_in,
    queries,
    result_count,
)
from otel_raglog_proxy_bridge.structures import vectors as vectors_asked

_INPUTS = PROMPTS | QUERIES | frozenset(
    {"texts", "sentences", "sentence", "contents", "documents", "passages", "queries", "data",
     "instances", "items", "chunks", "textinputs", "strings", "parts"}
)  # fmt: skip
_LISTS = frozenset(
    {"documents", "docs", "texts", "passages", "candidates", "sentences", "contents", "items",
     "chunks", "results", "hits", "nodes", "paragraphs", "snippets", "choices", "options", "inputs",
     "records"}
)  # fmt: skip
_TEXTS = ("text", "content", "document", "passage", "body", "pagecontent", "sentence", "chunk",
          "snippet", "value")  # fmt: skip
_INDICES = frozenset(
    {"index", "idx", "documentindex", "docindex", "corpusid", "position", "i", "originalindex"}
)
_IDS = frozenset({"id", "docid", "documentid", "uid", "key", "chunkid", "nodeid"})


_VECTORS = (
    "emb", "vec", "values", "dense", "feature", "encoding", "encoded", "data", "output", "result",
    "response", "representation", "prediction",
)  # fmt: skip
_USUAL_LENGTH = 64
"""Embeddings have at least so many numbers; what tests make up has less, and a telling name."""
_NAME = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts that a request holds, the expression for them, and their ids where they have some."""

    expression: str
    texts: tuple[str, ...]
    ids: tuple[str, ...] = ()


def tell_embedder(exchange: Exchange) -> Structure | None:
    """Tell an embedder: texts in, and as many vectors of one length out."""
    if not exchange.ok or next(vectors_asked(exchange), None) is not None:
        return None
    given = list(_given_texts(exchange.request, _INPUTS))
    for expression, found, others in _vector_lists(exchange.response):
        if len({len(vector) for vector in found}) != 1 or not _embeds(expression, found):
            continue
        for texts in given:
            if len(texts.texts) == len(found) and others <= set(texts.texts):
                return Structure(
                    CallStage.EMBEDDER,
                    "structure.embedder",
                    f"{len(found)} texts in ({texts.expression}), as many vectors out",
                    {"inputs": texts.expression, "vectors": expression, **model_in(exchange)},
                )
    return None


def _embeds(expression: str, vectors: Sequence[Sequence[object]]) -> bool:
    """Tell a single embedding by its length or its name: a short list may be a forecast."""
    keys = normal("".join(_NAME.findall(expression)[1:]))  # the first is the root
    named = not keys or any(name in keys for name in _VECTORS)
    return named or len(vectors) > 1 or len(vectors[0]) >= _USUAL_LENGTH


def tell_reranker(exchange: Exchange) -> Structure | None:
    """Tell a reranker: a query and documents in, scores of these documents out."""
    if not exchange.ok or next(vectors_asked(exchange), None) is not None:
        return None
    for query, documents in _ranked_pairs(exchange):
        results = _scores(exchange.response, documents)
        if results is None:
            continue
        top_n = result_count(exchange)
        return Structure(
            CallStage.RERANKER,
            "structure.reranker",
            f"a query ({query}) and {len(documents.texts)} documents in "
            f"({documents.expression}), scores of them out",
            {
                "query": query,
                "documents": documents.expression,
                "results": results,
                **model_in(exchange),
                **({"top_n": top_n} if top_n else {}),
            },
        )
    return None


def holds_documents(exchange: Exchange) -> bool:
    """Tell whether a request brings documents of its own: then it does not search for them."""
    return any(len(each.texts) > 1 for each in _documents(exchange.request))


def _given_texts(request: object, names: frozenset[str]) -> Iterator[_Texts]:
    """Yield the texts of a request under the given names: texts, or objects with one each."""
    for spot in spots(request, depth=3):
        named = spot.key in names or (not spot.keys and isinstance(spot.value, list))
        if not named:
            continue
        place, texts = spot.below("request"), texts_in(spot.value)
        if texts:
            yield _Texts(place, texts)
            continue
        objects = objects_in(spot.value)
        column = _text_column(objects)
        if column is not None:
            yield _Texts(f"{place}[].{column.expression}", tuple(map(str, column.values)))


def _text_column(objects: Sequence[Mapping[str, object]]) -> Column | None:
    found = [
        column
        for column in columns(objects)
        if column.key in _TEXTS and all(texts_in(value) for value in column.values)
        and all(isinstance(value, str) for value in column.values)
    ]  # fmt: skip
    return min(found, key=lambda column: _TEXTS.index(column.key), default=None)


def _vector_lists(
    response: object,
) -> Iterator[tuple[str, list[list[object]], set[str]]]:
    """Yield vectors, their expression, and the passages that are told beside each."""
    for spot in spots(response, depth=4):
        place, value = spot.below("response"), spot.value
        if is_vector(value) and isinstance(value, list):
            yield place, [value], set()
        elif isinstance(value, list) and value and all(map(is_vector, value)):
            yield place, value, set()
        else:
            objects = objects_in(value)
            for column in columns(objects):
                if all(map(is_vector, column.values)):
                    vectors = [list(each) for each in column.values if isinstance(each, list)]
                    yield f"{place}[].{column.expression}", vectors, _passages(objects)


def _passages(objects: Sequence[Mapping[str, object]]) -> set[str]:
    return {
        value
        for column in columns(objects)
        for value in column.values
        if isinstance(value, str) and words_in(value) > 1
    }


def _ranked_pairs(exchange: Exchange) -> Iterator[tuple[str, _Texts]]:
    """Yield where a request has a query, and its documents."""
    for spot in spots(exchange.request, depth=3):
        pairs = _pairs(spot)
        if pairs is not None:
            yield pairs
    asked = [query for query in queries(exchange) if query.strong]
    if not asked:
        return
    for documents in _documents(exchange.request):
        if any(words_in(text) > 1 for text in documents.texts):
            yield asked[0].expression, documents


def _pairs(spot: Spot) -> tuple[str, _Texts] | None:
    """Read a list of pairs of one query and a document each, as cross-encoders take it."""
    value = spot.value
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, list) and len(item) == 2 and texts_in(item) for item in value):  # noqa: PLR2004
        return None
    if len(value) < 2 or len({item[0] for item in value}) != 1:  # noqa: PLR2004
        return None
    place = spot.below("request")
    return f"{place}[0][0]", _Texts(f"{place}[*][1]", tuple(item[1] for item in value))


def _documents(request: object) -> Iterator[_Texts]:
    for texts in _given_texts(request, _LISTS):
        if "[]." not in texts.expression:
            yield texts
    for spot in spots(request, depth=3):
        objects = objects_in(spot.value)
        column = _text_column(objects) if spot.key in _LISTS else None
        if column is None:
            continue
        place, ids = spot.below("request"), _id_column(objects)
        fields = f"id: {ids.expression}, " if ids else ""
        yield _Texts(
            f"{place}[].{{{fields}text: {column.expression}}}",
            tuple(map(str, column.values)),
            tuple(map(str, ids.values)) if ids else (),
        )


def _id_column(objects: Sequence[Mapping[str, object]]) -> Column | None:
    return next(
        (each for each in columns(objects, 1) if each.key in _IDS and are_ids(each.values)), None
    )


def _scores(response: object, documents: _Texts) -> str | None:
    """Return where an answer ranks ``documents``: by index, by id, by text, or in their order."""
    most = len(documents.texts)
    for spot in spots(response, depth=3):
        place, value = spot.below("response"), spot.value
        if not isinstance(value, list) or not 0 < len(value) <= most:
            continue
        if are_numbers(value):
            if len(value) == most and any(isinstance(item, float) for item in value):
                return place
            continue
        if all(isinstance(item, list) and len(item) == 2 for item in value):  # noqa: PLR2004
            if _are_indices([at(item, 0) for item in value], most) and are_numbers(
                [at(item, 1) for item in value]
            ):
                return f"{place}[*].{{index: [0], score: [1]}}"
            continue
        ranked = _ranked_objects(objects_in(value), documents)
        if ranked is not None:
            return f"{place}[].{ranked}"
    return None


def _ranked_objects(objects: Sequence[Mapping[str, object]], documents: _Texts) -> str | None:
    found = list(columns(objects, 2))
    scores = [
        column
        for column in found
        if ("score" in column.key or column.key in {"relevance", "similarity", "logit"})
        and are_numbers(column.values)
    ]
    if not scores:
        return None
    score = f"score: {scores[0].expression}"
    given = frozenset(documents.texts)
    for column in found:
        if column.key in _INDICES and _are_indices(column.values, len(documents.texts)):
            return f"{{index: {column.expression}, {score}}}"
    for column in found:
        if documents.ids and column.key in _IDS and are_ids(column.values):
            if set(map(str, column.values)) <= set(documents.ids):
                return f"{{id: {column.expression}, {score}}}"
        elif all(isinstance(value, str) and value in given for value in column.values):
            return f"{{text: {column.expression}, {score}}}"
    return None


def _are_indices(values: Sequence[object], most: int) -> bool:
    places = [count(value) for value in values]
    known = [place for place in places if place is not None and place < most]
    return len(known) == len(values) == len(set(known)) and number(values[0]) is not None

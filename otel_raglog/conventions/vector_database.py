"""Spans of vector database clients to facts: which search, and what it found.

Keys are those of the OpenLLMetry packages 0.62.4 for Chroma, Pinecone, Qdrant, Weaviate, Milvus,
Marqo and LanceDB, and of Spring AI's vector stores. Results are events, one per document, where
they are written at all; Qdrant's and Weaviate's are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunk_from_item, chunks_in, with_score_kinds
from otel_raglog.conventions.json_text import (
    as_count,
    as_data,
    as_number,
    as_text,
    parse_json,
    parse_json_or_literal,
)
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Chunk,
    Field,
    FieldStatus,
    Role,
    ScoreKind,
    Span,
    SpanEvent,
    missing,
    present,
)

NAME = "vector_database"
RESULTS = ("db.query.result", "db.search.result")
"""Names of the events that hold one result each."""

MARKERS = (
    "db.vector.",
    "db.chroma.",
    "db.milvus.",
    "db.weaviate.",
    "db.marqo.",
    "db.pinecone.",
    "db.query.embeddings",
    "db.search.embeddings",
    *RESULTS,
    "pinecone.",
    "qdrant.",
)
_SEARCH = re.compile(
    r"(?:^|[._ ])(?:_?query(?:_\w+)?|search\w*|hybrid\w*|near_\w+|bm25|knn\w*|discover\w*|"
    r"recommend\w*|similarity\w*|fetch_objects)$|\.query\.(?:get(?:\.do)?|do)$|gql\.get\.do$",
    re.IGNORECASE,
)
_OPERATION_KEYS = ("db.operation.name", "db.operation")
_QUERY_KEYS = ("db.vector.query.content", "db.marqo.search.query")
_WRITTEN_QUERY = re.compile(r"db\.weaviate\..*\.query")
_TOP_K = re.compile(r".*[._](?:top_k|n_results|limit)")
_TOP_K_KEYS = (
    "db.vector.query.top_k",
    "db.chroma.query.n_results",
    "pinecone.query.top_k",
    "db.milvus.search.limit",
)
_FILTER = re.compile(r".*\.(?:filter|where|where_document|filters)")
_COUNT_KEYS = (
    "db.vector.query.result_count",
    "pinecone.query.result_count",
    "db.milvus.search.result_count",
)
_DOCUMENTS_KEY = "db.vector.query.response.documents"
_TEXT_KEYS = (
    "document",
    "text",
    "content",
    "page_content",
    "chunk",
    "chunk_text",
    "passage",
    "body",
    "_node_content",
)
_METRIC = re.compile(r"metric_type\W{1,5}(\w+)", re.IGNORECASE)
_METRICS = {
    "L2": ScoreKind.DISTANCE,
    "COSINE": ScoreKind.SIMILARITY,
    "IP": ScoreKind.SIMILARITY,
    "BM25": ScoreKind.SIMILARITY,
}

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.RETRIEVER: (
        Wanted(
            "query",
            (*_QUERY_KEYS, "db.weaviate.collections.query.N.query"),
            note="most clients are given a vector: the embedding before the search has the text",
        ),
        Wanted(
            "documents",
            (*(f"{name}/{name}.document" for name in RESULTS), _DOCUMENTS_KEY),
            note="the clients of Qdrant and Weaviate write no results",
        ),
        Wanted("top_k", _TOP_K_KEYS),
    ),
}


class _Reader(WorkReader):
    """Reads one span. Whatever is no search, such as an upsert, has no role."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.results = [event for event in span.events if event.name in RESULTS]
        self.role = Role.RETRIEVER if self._searches() else Role.UNKNOWN
        filters = [
            text
            for key, value in self.attributes.items()
            if key.startswith(MARKERS) and _FILTER.fullmatch(key) and (text := as_text(value))
        ]
        self.input_data = {"filter": " and ".join(filters)} if filters else None

    def _searches(self) -> bool:
        if self.results or any(key.startswith("db.vector.query.") for key in self.attributes):
            return True
        names = [self.attributes.get(key) for key in _OPERATION_KEYS]
        return any(
            isinstance(name, str) and _SEARCH.search(name) for name in (*names, self.span.name)
        )

    def query(self) -> Field[str]:
        written = [key for key in self.attributes if _WRITTEN_QUERY.fullmatch(key)]
        for key in (*_QUERY_KEYS, *written):
            if key not in self.attributes:
                continue
            read = self.text(key)
            if read.status is FieldStatus.PRESENT and read.value:
                quoted = parse_json(f"[{read.value}]")
                if isinstance(quoted, list) and len(quoted) == 1 and isinstance(quoted[0], str):
                    return present(quoted[0], read.source)
            return read
        return NOT_CAPTURED

    def top_k(self) -> int | None:
        if self.role is not Role.RETRIEVER:
            return None
        others = (
            key for key in self.attributes if key.startswith(MARKERS) and _TOP_K.fullmatch(key)
        )
        counts = (as_count(self.attributes.get(key)) for key in (*_TOP_K_KEYS, *others))
        return next((count for count in counts if count), None)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        if self.role is not Role.RETRIEVER:
            return NOT_CAPTURED, False
        if _DOCUMENTS_KEY in self.attributes and not self.results:
            return self._listed(), True
        counts = (as_count(self.attributes.get(key)) for key in _COUNT_KEYS)
        count = next((count for count in counts if count is not None), None)
        dropped = self.span.dropped_events_count > 0
        if not self.results:
            if count == 0 and not dropped:
                counted = next(key for key in _COUNT_KEYS if key in self.attributes)
                return Field((), FieldStatus.EMPTY, self.source(counted)), True
            return (missing(FieldStatus.EVICTED) if dropped else NOT_CAPTURED), False
        chunks = self._scored([_chunk_of(event) for event in self.results])
        name = self.results[0].name
        key = next((k for k in self.results[0].attributes if k.endswith(".document")), None)
        source = self.source(f"{name}/{key or next(iter(self.results[0].attributes), name)}")
        cut = dropped or (count is not None and count > len(chunks))
        return Field(chunks, FieldStatus.TRUNCATED if cut else FieldStatus.PRESENT, source), True

    def _listed(self) -> Field[tuple[Chunk, ...]]:
        read, data = self.value(_DOCUMENTS_KEY)
        found = chunks_in(data, bare_strings=True)
        if found is None:
            return missing(read.status, read.source) if read.value is None else NOT_CAPTURED
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found), status, read.source)

    def _scored(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return the chunks with the direction of their scores.

        A distance is smaller for what is nearer, but Milvus calls every score a distance: there
        the metric tells, or the order. Pinecone's scores are distances with the Euclidean metric,
        which the order tells as well.
        """
        distances = any(key.endswith("distance") for e in self.results for key in e.attributes)
        if not distances:
            return _of_kind(with_score_kinds(chunks), ScoreKind.SIMILARITY)
        if not self._is_milvus():
            return _of_kind(chunks, ScoreKind.DISTANCE)
        metric = _METRIC.search(
            as_text(self.attributes.get("db.milvus.search.search_params")) or ""
        )
        kind = _METRICS.get(metric[1].upper()) if metric else None
        return with_score_kinds(chunks) if kind is None else _of_kind(chunks, kind)

    def _is_milvus(self) -> bool:
        return any(key.startswith("db.milvus.") for key in self.attributes)


def _of_kind(chunks: Sequence[Chunk], kind: ScoreKind) -> tuple[Chunk, ...]:
    return tuple(
        replace(chunk, score_kind=kind)
        if chunk.score is not None and chunk.score_kind is ScoreKind.UNKNOWN
        else chunk
        for chunk in chunks
    )


def _chunk_of(event: SpanEvent) -> Chunk:
    """Return the document of one result; its text may be in the metadata alone."""
    prefix = event.name + "."
    fields: dict[str, object] = {
        key.removeprefix(prefix).lstrip("_"): value for key, value in event.attributes.items()
    }
    metadata = _as_fields(fields.pop("metadata", None)) | _as_fields(fields.pop("entity", None))
    text = _text_key(fields)
    content: object
    if text is not None:
        content = fields.pop(text)
    else:
        text = _text_key(metadata, telling_alone=not metadata)
        content = None if text is None else _node_text(metadata.pop(text))
    score = next(
        (n for key in ("score", "distance") if (n := as_number(fields.get(key))) is not None), None
    )
    return chunk_from_item(
        {"id": fields.get("id"), "content": content, "score": score, "metadata": metadata}
    )


def _as_fields(value: object) -> dict[str, object]:
    """Return metadata as a dict; clients write it as JSON or as Python writes it."""
    data = parse_json_or_literal(value) if isinstance(value, str) else as_data(value)
    return {str(key): item for key, item in data.items()} if isinstance(data, dict) else {}


def _text_key(fields: Mapping[str, object], *, telling_alone: bool = True) -> str | None:
    """Return the name under which the text is: a usual one, else that of the longest text."""
    for key in _TEXT_KEYS:
        if isinstance(fields.get(key), str):
            return key
    if telling_alone:
        return None
    texts = {k: v for k, v in fields.items() if isinstance(v, str) and len(v.split()) > 3}  # noqa: PLR2004  titles are shorter
    return max(texts, key=lambda key: len(texts[key])) if texts else None


def _node_text(value: object) -> AttributeValue:
    """Return a text that may be a whole node in JSON, as LlamaIndex stores it."""
    if not isinstance(value, str):
        return None
    node = parse_json(value)
    inner = node.get("text") if isinstance(node, dict) else None
    return inner if isinstance(inner, str) else value


class VectorDatabase(BaseConvention):
    """What clients of vector databases write."""

    name = NAME
    title = "vector database client"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "what a client of a vector database writes cannot be turned on: trace the retriever of "
        "the framework as well, or write a span of your own around the search"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether a client of a vector database wrote a span, by keys or events."""
        return super().speaks(span) or any(event.name.startswith(MARKERS) for event in span.events)

"""Documents in any of the shapes that instrumentations write them to chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from otel_raglog.conventions.flattened import Item
from otel_raglog.conventions.json_text import as_number, parse_json, parse_json_or_literal
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.reprs import document_parts
from otel_raglog.model import AttributeValue, Chunk, FieldStatus, ScoreKind

LIST_KEYS = (
    "documents",
    "docs",
    "nodes",
    "retrieved_documents",
    "retrieved_docs",
    "retrieved",
    "reranked_documents",
    "reranked",
    "source_documents",
    "source_nodes",
    "results",
    "hits",
    "matches",
    "passages",
    "chunks",
    "context",
)
"""Names under which lists of documents are found in JSON, best first."""

_WRAPPER_KEYS = ("output", "outputs", "result", "data", "response", "retriever", "ranker")
_TELLING_KEYS = frozenset({"artifact", "content", *LIST_KEYS, *_WRAPPER_KEYS})
_TEXT_KEYS = ("page_content", "content", "text", "passage", "snippet", "chunk", "body", "long_text")
_ID_KEYS = ("id", "id_", "_id", "doc_id", "document_id", "chunk_id", "node_id", "pid")
_SCORE_KEYS = ("score", "relevance_score", "relevanceScore", "similarity")
_METADATA_SCORE_KEYS = ("relevance_score", "score", "similarity_score")
_METADATA_KEYS = ("metadata", "meta")
_MESSAGE_TYPES = {"human", "ai", "system", "tool", "user", "assistant", "function"}
_SCALARS = (str, int, float, bool)
_FEWEST_WORDS = 6
_FEWEST_UNSPACED = 12
"""Words, or letters of scripts without spaces, from which a text is a passage and no title."""

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


def chunk_from_item(item: Item) -> Chunk:
    """Return the chunk of one flattened document (``document.id``, ``document.content`` ...)."""

    def get(name: str) -> object:
        return item.get(f"document.{name}", item.get(name))

    content = get("content")
    whole = item.get("")
    if whole is not None and content is None:
        return _chunk(str(whole), None, None, {})
    if content is None:
        content = _first_of(get, _TEXT_KEYS)
    text = None if content is None else _as_text(content)
    chunk = _chunk(text, _first_of(get, _ID_KEYS), get("score"), get("metadata"))
    name = get("name")
    return replace(chunk, title=name) if chunk.title is None and isinstance(name, str) else chunk


def chunks_in(data: object, *, bare_strings: bool) -> tuple[Chunk, ...] | None:  # noqa: C901, PLR0911  one return per known shape
    """Return the chunks that JSON data holds, ``None`` when it holds no list of documents.

    An empty list gives an empty tuple: nothing was found, which is not the same as nothing
    recorded. Lists of plain strings count as documents only with ``bare_strings``. The artifact
    of a tool's message (LangChain) is what the tool found, its content how the model was told.
    """
    if isinstance(data, list):
        return _chunks_of_list(data, bare_strings=bare_strings)
    if not isinstance(data, dict) or data.keys().isdisjoint(_TELLING_KEYS):
        return None
    artifact = data.get("artifact")
    if artifact and isinstance(artifact, dict | list):
        found = chunks_in(artifact, bare_strings=False)
        if found is not None:
            return found
    content = data.get("content")
    if isinstance(content, list) and bare_strings:
        return _chunks_of_parts(content)
    for key in LIST_KEYS:
        value = data.get(key)
        if isinstance(value, str):
            value = parse_json(value)
        if isinstance(value, list):
            found = _chunks_of_list(value, bare_strings=bare_strings)
            if found is not None:
                return found
    for key in _WRAPPER_KEYS:
        value = data.get(key)
        if value and isinstance(value, dict | list):
            found = chunks_in(value, bare_strings=bare_strings)
            if found is not None:
                return found
    return None


def with_score_kinds(chunks: Sequence[Chunk], *, reranked: bool = False) -> tuple[Chunk, ...]:
    """Return the chunks with the direction of their scores, as far as their order tells.

    Results come best first: scores that fall along the ranks are similarities, scores that
    rise are distances. A reranker's scores are similarities. Anything else stays unknown.
    """
    kind = ScoreKind.SIMILARITY if reranked else _kind_by_order(chunks)
    if kind is ScoreKind.UNKNOWN:
        return tuple(chunks)
    return tuple(
        replace(chunk, score_kind=kind)
        if chunk.score is not None and chunk.score_kind is ScoreKind.UNKNOWN
        else chunk
        for chunk in chunks
    )


def merged(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return ``chunks`` with what ``others`` know more: the same documents, in the same order.

    Documents are matched by position; where the texts differ nothing is taken over.
    """
    if len(chunks) != len(others):
        return tuple(chunks)
    return tuple(_merge(chunk, other) for chunk, other in zip(chunks, others, strict=True))


def _merge(chunk: Chunk, other: Chunk) -> Chunk:
    same_text = not chunk.text or not other.text or chunk.text.strip() == other.text.strip()
    same_id = chunk.id is None or other.id is None or chunk.id == other.id
    if not (same_text and same_id):
        return chunk
    take_text = not chunk.text and chunk.text_status is FieldStatus.NOT_CAPTURED
    if not (take_text or chunk.id is None or chunk.score is None or chunk.title is None):
        return chunk if chunk.metadata else replace(chunk, metadata=other.metadata)
    return Chunk(
        id=chunk.id if chunk.id is not None else other.id,
        text=other.text if take_text else chunk.text,
        text_status=other.text_status if take_text else chunk.text_status,
        score=chunk.score if chunk.score is not None else other.score,
        score_kind=chunk.score_kind if chunk.score is not None else other.score_kind,
        title=chunk.title if chunk.title is not None else other.title,
        metadata=chunk.metadata or other.metadata,
    )


def _kind_by_order(chunks: Sequence[Chunk]) -> ScoreKind:
    scores = [chunk.score for chunk in chunks]
    known = [score for score in scores if score is not None]
    if len(known) != len(scores) or len(set(known)) < 2:  # noqa: PLR2004  one value has no order
        return ScoreKind.UNKNOWN
    if all(first >= second for first, second in pairwise(known)):
        return ScoreKind.SIMILARITY
    if all(first <= second for first, second in pairwise(known)):
        return ScoreKind.DISTANCE
    return ScoreKind.UNKNOWN


def _chunks_of_list(elements: list[object], *, bare_strings: bool) -> tuple[Chunk, ...] | None:
    if len(elements) == 1 and isinstance(elements[0], list):
        inner = _chunks_of_list(elements[0], bare_strings=bare_strings)
        if inner is not None:
            return inner
    chunks: list[Chunk] = []
    for element in elements:
        chunk = _chunk_of(element, bare_strings=bare_strings)
        if chunk is None:
            return None
        chunks.append(chunk)
    return tuple(chunks)


def _chunks_of_parts(parts: list[object]) -> tuple[Chunk, ...] | None:
    """Return the texts of a tool result in parts (``[{"type": "text", "text": ...}]``)."""
    texts = [
        part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"
    ]
    if not texts and parts:
        return None
    return tuple(_chunk(text, None, None, {}) for text in texts if isinstance(text, str))


def _chunk_of(element: object, *, bare_strings: bool) -> Chunk | None:
    if isinstance(element, str):
        return _chunk_of_string(element, bare_strings=bare_strings)
    if (
        isinstance(element, list)
        and len(element) == 2  # noqa: PLR2004  a (document, score) pair
        and isinstance(element[0], dict)
        and as_number(element[1]) is not None
    ):
        chunk = _chunk_of_mapping(element[0])
        return chunk and replace(chunk, score=as_number(element[1]))
    return _chunk_of_mapping(element) if isinstance(element, dict) else None


def _chunk_of_string(text: str, *, bare_strings: bool) -> Chunk | None:
    parts = document_parts(text)
    if parts is not None:
        return _chunk(None, parts[0], as_number(parts[1]), {})
    parsed = parse_json(text)
    if isinstance(parsed, dict):
        return _chunk_of_mapping(parsed)
    return _chunk(text, None, None, {}) if bare_strings else None


def _chunk_of_mapping(data: Mapping[str, object]) -> Chunk | None:  # noqa: PLR0911  one return per known shape
    if data.get("type") == "constructor" and isinstance(data.get("kwargs"), dict):
        identifier = data.get("id")
        if not (isinstance(identifier, list) and identifier and identifier[-1] == "Document"):
            return None
        data = data["kwargs"]  # type: ignore[assignment]
    if "role" in data or data.get("type") in _MESSAGE_TYPES:
        return None
    for key in ("node", "document", "doc", "payload"):
        inner = data.get(key)
        if isinstance(inner, dict):
            chunk = _chunk_of_mapping(inner)
            if chunk is None:
                return None
            outer = as_number(data.get("score"))
            return replace(
                chunk,
                score=chunk.score if outer is None else outer,
                id=chunk.id if chunk.id is not None else _as_id(_first(data, _ID_KEYS)),
            )
    text = next((data[key] for key in _TEXT_KEYS if isinstance(data.get(key), str)), None)
    identifier = _first(data, _ID_KEYS)
    metadata = _first(data, _METADATA_KEYS)
    score = as_number(_first(data, _SCORE_KEYS))
    distance = as_number(data.get("distance"))
    if text is None and (score is not None or distance is not None):
        text = _only_passage(data)
    if text is None and (identifier is None or (score is None and metadata is None)):
        return None
    if score is None and distance is not None:
        chunk = _chunk(text, identifier, distance, metadata)
        return replace(chunk, score_kind=ScoreKind.DISTANCE)
    return _chunk(text, identifier, score, metadata)


def _only_passage(data: Mapping[str, object]) -> str | None:
    """Return the text of a record with a score that has one under a name of its own.

    A column may be called anything (``name`` in the RAG guide of the Vercel AI SDK). A title, an
    address or an id is no text.
    """
    found = [
        value
        for key, value in data.items()
        if isinstance(value, str) and key not in _ID_KEYS and _is_passage(value)
    ]
    return found[0] if len(found) == 1 else None


def _is_passage(text: str) -> bool:
    return len(text.split()) >= _FEWEST_WORDS or len(_UNSPACED.findall(text)) >= _FEWEST_UNSPACED


def _first(data: Mapping[str, object], keys: Iterable[str]) -> object:
    return _first_of(data.get, keys)


def _first_of(get: Callable[[str], object], keys: Iterable[str]) -> object:
    for key in keys:
        value = get(key)
        if value is not None:
            return value
    return None


def _chunk(text: object, identifier: object, score: object, metadata: object) -> Chunk:
    if isinstance(metadata, str):
        metadata = parse_json_or_literal(metadata)
    fields: dict[str, AttributeValue] = {}
    if isinstance(metadata, dict):
        fields = {str(key): value for key, value in metadata.items() if isinstance(value, _SCALARS)}
    number = as_number(score)
    kind = ScoreKind.UNKNOWN
    if number is None and not fields.keys().isdisjoint(_METADATA_SCORE_KEYS):
        number = next(
            (n for key in _METADATA_SCORE_KEYS if (n := as_number(fields.get(key))) is not None),
            None,
        )
        kind = ScoreKind.SIMILARITY if "relevance_score" in fields else kind
    status = FieldStatus.PRESENT
    if text is None:
        status = FieldStatus.NOT_CAPTURED
    elif is_redacted(str(text)):
        status = FieldStatus.REDACTED
    elif not str(text).strip():
        status = FieldStatus.EMPTY
    title = fields.get("title")
    return Chunk(
        text=str(text) if status is FieldStatus.PRESENT else "",
        id=_as_id(identifier),
        score=number,
        score_kind=kind if number is not None else ScoreKind.UNKNOWN,
        title=title if isinstance(title, str) else None,
        metadata=fields,
        text_status=status,
    )


def _as_id(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)

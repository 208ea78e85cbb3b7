"""Hits of search services, whose fields users name as they like, to documents."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import Json, at, mapping, name, text
from otel_raglog_proxy_bridge.model import Document
from otel_raglog_proxy_bridge.parsing import parse_json

_NODE = "_node_content"
"""Where LlamaIndex keeps a whole node as JSON text."""

_TEXT_NAMES = (
    "pagecontent",  # LangChain
    "text",
    "content",
    "chunktext",
    "chunkcontent",
    "chunk",
    "chunks",
    "textchunk",
    "amazonbedrocktextchunk",
    "passage",
    "passagetext",
    "body",
    "bodytext",
    "contents",
    "textcontent",
    "document",
    "documenttext",
    "documentcontent",
    "doc",
    "fulltext",
    "rawtext",
    "rawcontent",
    "paragraph",
    "sentence",
    "markdown",
    "snippet",
    "snippets",
    "description",
    "abstract",
    "summary",
)
_INNER_NAMES = frozenset({"metadata", "payload", "properties", "fields", "data", "node", "source"})
_ID_NAMES = (
    "id",
    "_id",
    "id_",
    "uuid",
    "chunk_id",
    "chunkId",
    "pk",
    "key",
    "objectID",
    "doc_id",
    "document_id",
    "documentId",
    "documentid",
    "url",
)
_LABEL_NAMES = frozenset(
    {
        "title",
        "name",
        "heading",
        "section",
        "category",
        "author",
        "authors",
        "date",
        "source",
        "path",
        "tags",
        "language",
        "nodecontent",
    }
)
_LABEL_ENDINGS = ("id", "url", "uri", "link", "title", "filename", "filepath", "type", "hash")
_PROSE = 80  # characters: some languages write no spaces
_NUMBERS = 8  # a list of so many numbers is an embedding
_DEEPEST = 3


def document_of(
    payload: object,
    *preferred: str,
    identifier: str | None = None,
    score: float | None = None,
    passage: str | None = None,
) -> Document:
    """Return the document that ``payload`` describes.

    Its text is ``passage``, else the one of :func:`passage_in`. Its metadata are the other fields,
    those under ``metadata`` among them, without embeddings and without ``identifier`` again.
    """
    fields = mapping(payload)
    used = None
    if passage is None:
        used, passage = _found(fields, preferred)
    metadata = {
        key: value
        for key, value in _metadata(fields, without=used).items()
        if identifier is None or key not in _ID_NAMES or name(value) != identifier
    }
    return Document(id=identifier, text=passage, score=score, metadata=metadata)


def passage_in(payload: object, *preferred: str) -> str | None:
    """Return the passage among the fields of ``payload``, ``None`` where none looks like one.

    In this order: the text of LlamaIndex' node, the field that ``preferred`` names, a field with a
    name that passages usually have (here, then in the objects within), the longest prose.
    """
    return _found(mapping(payload), preferred)[1]


def id_in(payload: object) -> str | None:
    """Return the identifier among the fields of ``payload``."""
    for key in _ID_NAMES:
        found = name(payload, key) or name(payload, key, "$oid")
        if found is not None:
            return found
    return None


def _found(fields: Json, preferred: tuple[str, ...]) -> tuple[str | None, str | None]:
    node = text(parse_json(text(fields, _NODE) or text(fields, "metadata", _NODE) or ""), "text")
    if node and not node.isspace():
        return _key_of(fields, node), node
    key, passage = _named(fields, preferred, 0)
    if passage is None:
        key, passage = _longest(fields)
    return key, passage


def _named(fields: Json, preferred: tuple[str, ...], depth: int) -> tuple[str | None, str | None]:
    """Return the first field with a passage's name, and its passage."""
    by_name = {_plain(key): key for key in fields}
    for wanted in (*map(_plain, preferred), *_TEXT_NAMES):
        if wanted in by_name and (passage := _as_text(fields[by_name[wanted]], depth)):
            return by_name[wanted], passage
    for key, value in fields.items():
        named = _plain(key) in _INNER_NAMES or (isinstance(value, dict) and "inference" in value)
        if named and depth < _DEEPEST:
            passage = _named(_opened(value), preferred, depth + 1)[1]
            if passage:
                return None, passage
    return None, None


def _as_text(value: object, depth: int) -> str | None:
    if isinstance(value, str):
        return value if value and not value.isspace() else None
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str)) or None
    return _named(mapping(value), (), depth + 1)[1] if depth < _DEEPEST else None


def _longest(fields: Json) -> tuple[str | None, str | None]:
    best: tuple[str | None, str | None] = None, None
    for key, value in fields.items():
        if isinstance(value, str) and _is_prose(key, value) and len(value) > len(best[1] or ""):
            best = key, value
    return best


def _is_prose(key: str, value: str) -> bool:
    plain = _plain(key)
    if plain in _LABEL_NAMES or plain.endswith(_LABEL_ENDINGS):
        return False
    return len(value) >= _PROSE or len(value.split(maxsplit=1)) > 1


def _key_of(fields: Json, passage: str) -> str | None:
    return next((key for key, value in fields.items() if value == passage), None)


def _metadata(fields: Json, without: str | None) -> Json:
    inner = _opened(at(fields, "metadata"))
    kept = {**inner, **{key: value for key, value in fields.items() if key != without}}
    if inner:
        kept.pop("metadata", None)
    return {
        key: value
        for key, value in kept.items()
        if key != _NODE and value is not None and not _is_embedding(value)
    }


def _opened(value: object) -> Json:
    """Return an object, also one that is kept as JSON text."""
    if isinstance(value, str):
        value = parse_json(value) if value.lstrip().startswith("{") else None
    return mapping(value)


def _is_embedding(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= _NUMBERS
        and all(isinstance(item, int | float) for item in value[:_NUMBERS])
    )


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "").replace(" ", "")

"""What a user's paths lead to, in whatever shape, to texts, numbers, messages and chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from otel_raglog.conventions.chat import message_in, messages_in
from otel_raglog.conventions.documents import chunk_from_item, chunks_in
from otel_raglog.conventions.json_text import as_count, as_number, parse_json
from otel_raglog.model import Chunk, Message, ScoreKind

MAX_ITEMS = 2_000
"""Chunks, texts or messages beyond which a list is cut: no retriever hands on so many."""

_CHUNK_KEYS = frozenset({"id", "text", "score", "distance", "title", "metadata"})


def as_line(value: object) -> str | None:
    """Return a value as one text: of a list of one its element, of other structures the JSON."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, str):
        return None if value is None else (value if value.strip() else "")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:
        return None


def as_texts(value: object) -> tuple[str, ...] | None:
    """Return the texts of a list, also of one in JSON; of a text itself."""
    if isinstance(value, str):
        parsed = parse_json(value)
        value = parsed if isinstance(parsed, list) else [value]
    if not isinstance(value, list):
        return None
    texts = [item for item in value[:MAX_ITEMS] if isinstance(item, str)]
    if value and not texts:
        return None
    return tuple(text for text in texts if text.strip())


def as_whole_number(value: object) -> int | None:
    """Return a number of things, ``None`` for what is none."""
    return as_count(value[0] if isinstance(value, list) and len(value) == 1 else value)


def as_messages(value: object) -> tuple[Message, ...] | None:
    """Return chat messages in any of their shapes; a text is the user's."""
    if isinstance(value, str):
        value = parse_json(value) or value
    if isinstance(value, str):
        return (Message("user", value),) if value.strip() else ()
    if isinstance(value, dict):
        single = message_in(value)
        return (single,) if single is not None else messages_in(value)
    if isinstance(value, list):
        return () if not value else messages_in(value[:MAX_ITEMS])
    return None


def as_chunks(value: object) -> tuple[Chunk, ...] | None:
    """Return documents: objects with ``id``, ``text``, ``score`` …, or any shape that is known."""
    if isinstance(value, str):
        value = parse_json(value) or value
    if isinstance(value, str):
        return (Chunk(value),) if value.strip() else ()
    if isinstance(value, dict):
        if _CHUNK_KEYS.isdisjoint(value):
            return chunks_in(value, bare_strings=True)
        value = [value]
    if not isinstance(value, list):
        return None
    if len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    chunks = [chunk for item in value[:MAX_ITEMS] if (chunk := _chunk(item)) is not None]
    return tuple(chunks) if chunks or not value else None


def _chunk(item: object) -> Chunk | None:
    if not isinstance(item, dict) or _CHUNK_KEYS.isdisjoint(item):
        found = chunks_in([item], bare_strings=True)
        return found[0] if found else None
    if isinstance(item.get("text"), dict | list) or _is_bare(item):
        return None
    chunk = chunk_from_item({key: item[key] for key in _CHUNK_KEYS & item.keys()})
    title = item.get("title")
    if isinstance(title, str) and title.strip():
        chunk = replace(chunk, title=title)
    distance = as_number(item.get("distance"))
    if chunk.score is None and distance is not None:
        chunk = replace(chunk, score=distance, score_kind=ScoreKind.DISTANCE)
    return chunk


def _is_bare(item: Mapping[str, object]) -> bool:
    """Tell whether a path found neither what a document says nor which one it is."""
    return item.get("text") is None and item.get("id") is None

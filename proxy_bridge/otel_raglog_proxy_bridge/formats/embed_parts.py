"""Inputs and vectors, as embedding APIs write them, to texts and a vector for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_raglog_proxy_bridge.formats.fields import at, count, items, mappings, text, vector
from otel_raglog_proxy_bridge.model import Vector


def paired(inputs: Sequence[str], vectors: Iterable[Vector | None]) -> tuple[Vector, ...]:
    """Return the vectors if there is one for each input, else none at all."""
    found = tuple(item for item in vectors if item is not None)
    return found if len(found) == len(inputs) else ()


def numbered(data: object, *keys: str | int) -> tuple[object, ...]:
    """Return the objects in the list at ``keys`` by their ``index`` where all have one."""
    found = list(mappings(data, *keys))
    positions = [count(item, "index") for item in found]
    if None in positions:
        return tuple(found)
    return tuple(sorted(found, key=lambda item: count(item, "index") or 0))


def vectors_by_type(data: object) -> tuple[Vector | None, ...]:
    """Return embeddings that are a list, or lists by type, of which floats are read first."""
    for kind in ("float", "base64", "int8", "uint8", "binary", "ubinary"):
        found = items(data, kind)
        if found:
            return tuple(vector(item) for item in found)
    return tuple(vector(item) for item in items(data))


def text_of(data: object) -> str:
    """Return the text of one input: a text itself, or the texts of its parts.

    Inputs that are pictures have none.
    """
    if isinstance(data, str):
        return data
    for key in ("text", "content", "value"):
        inner = at(data, key)
        if isinstance(inner, str):
            return inner
        parts = [part if isinstance(part, str) else text(part, "text") for part in items(inner)]
        if parts:
            return "\n".join(part for part in parts if part)
    return ""

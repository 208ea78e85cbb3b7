"""JSON data of unknown shape to the values that formats ask for, without ever raising."""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence

from otel_raglog_proxy_bridge.model import Vector

Json = Mapping[str, object]
_NOTHING: Json = {}


def at(data: object, *keys: str | int) -> object:
    """Return what is at ``keys`` below ``data``, ``None`` where there is nothing."""
    for key in keys:
        if isinstance(key, str):
            data = data.get(key) if isinstance(data, Mapping) else None
        elif isinstance(data, Sequence) and not isinstance(data, str):
            data = data[key] if -len(data) <= key < len(data) else None
        else:
            return None
    return data


def mapping(data: object, *keys: str | int) -> Json:
    """Return the object at ``keys``, an empty one where there is none."""
    found = at(data, *keys)
    return found if isinstance(found, Mapping) else _NOTHING


def items(data: object, *keys: str | int) -> Sequence[object]:
    """Return the list at ``keys``, an empty one where there is none."""
    found = at(data, *keys)
    return found if isinstance(found, list) else ()


def mappings(data: object, *keys: str | int) -> Iterator[Json]:
    """Yield the objects in the list at ``keys``."""
    for item in items(data, *keys):
        if isinstance(item, Mapping):
            yield item


def text(data: object, *keys: str | int) -> str | None:
    """Return the text at ``keys``; numbers and other kinds are none."""
    found = at(data, *keys)
    return found if isinstance(found, str) else None


def name(data: object, *keys: str | int) -> str | None:
    """Return the text or the whole number at ``keys`` as a text: what ids are."""
    found = at(data, *keys)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) and found else None


def number(data: object, *keys: str | int) -> float | None:
    """Return the finite number at ``keys``."""
    found = at(data, *keys)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        value = float(found)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def count(data: object, *keys: str | int) -> int | None:
    """Return the whole number, not negative, at ``keys``."""
    found = at(data, *keys)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def texts(data: object, *keys: str | int) -> tuple[str, ...]:
    """Return the texts at ``keys``: of a list its texts, of one text itself."""
    found = at(data, *keys)
    if isinstance(found, str):
        return (found,)
    if isinstance(found, list):
        return tuple(item for item in found if isinstance(item, str))
    return ()


def vector(data: object, *keys: str | int) -> Vector | None:
    """Return the embedding at ``keys``: a list of numbers, or base64 of little-endian floats."""
    found = at(data, *keys)
    if isinstance(found, str):
        return _packed(found)
    if not isinstance(found, list) or not found:
        return None
    if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in found):
        return None
    try:
        return tuple(float(item) for item in found)
    except OverflowError:
        return None


def as_json(data: object) -> str:
    """Return ``data`` as JSON text."""
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def _packed(encoded: str) -> Vector | None:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw or len(raw) % 4:
        return None
    return struct.unpack(f"<{len(raw) // 4}f", raw)

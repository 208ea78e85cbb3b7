"""Plain values to attributes as OTLP JSON writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping

_LARGEST_INT = 2**63 - 1


def attribute_items(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    """Return ``attributes`` as a list of OTLP ``KeyValue``.

    ``None`` is left out, and so is what is no finite number: JSON cannot hold it.
    """
    return [
        {"key": otlp_text(key), "value": _value(value)}
        for key, value in attributes.items()
        if value is not None and not (isinstance(value, float) and not math.isfinite(value))
    ]


def otlp_text(text: str) -> str:
    """Return ``text`` without lone surrogates: JSON can escape them, protobuf cannot hold them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _value(value: object) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if abs(value) <= _LARGEST_INT:
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": otlp_text(value)}
        case _:
            return {"stringValue": otlp_text(str(value))}

"""Plain values to attributes as OTLP JSON writes them."""

from __future__ import annotations

from collections.abc import Mapping


def attribute_items(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    """Return ``attributes`` as a list of OTLP ``KeyValue``; ``None`` values are left out."""
    return [
        {"key": key, "value": _value(value)}
        for key, value in attributes.items()
        if value is not None
    ]


def _value(value: object) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            # A lone surrogate, which JSON can escape, is no text that protobuf could hold.
            return {"stringValue": value.encode("utf-8", "replace").decode()}
        case _:
            return {"stringValue": str(value)}

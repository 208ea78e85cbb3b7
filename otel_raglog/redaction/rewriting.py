"""OTLP bytes to the same bytes without what is redacted; all else stays byte for byte."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from otel_raglog.redaction.replacing import MASK, Action
from otel_raglog.redaction.values import ValueRules
from otel_raglog.wire import (
    LENGTH_DELIMITED,
    Shape,
    fields,
    read_varint,
    shapes_inside,
    wrap,
)

Edit: TypeAlias = Callable[[int, bytes], bytes | None]
"""A field's number and payload in; the new payload out, or ``None`` where it stays."""

SPAN_NAME, EVENT_NAME, STATUS_MESSAGE, LOG_BODY = (
    "span.name",
    "event.name",
    "status.message",
    "log.body",
)
"""The keys by which rules mean texts that have none."""

_NAMED_TEXTS: Mapping[Shape, Mapping[int, str]] = {
    Shape.SPAN: {3: "", 5: SPAN_NAME},
    Shape.EVENT: {2: EVENT_NAME},
    Shape.LINK: {3: ""},
    Shape.SCOPE: {1: "", 2: ""},
    Shape.SCOPE_SPANS: {3: ""},
    Shape.SCOPE_LOGS: {3: ""},
    Shape.SCOPE_METRICS: {3: ""},
    Shape.RESOURCE_ENVELOPE: {3: ""},
    Shape.LOG_RECORD: {3: "", 12: EVENT_NAME},
    Shape.METRIC: {1: "", 2: "", 3: ""},
}
"""Per shape, which fields are texts, and the key by which rules mean them."""

_SPAN_STATUS, _STATUS_MESSAGE = 15, 2
_LOG_BODY = 5
_KEY, _VALUE = 1, 2
_FRACTION = struct.Struct("<d")
_STRING, _BOOL, _INT, _DOUBLE, _ARRAY, _MEMBERS, _BYTES = range(1, 8)
_SCALARS = frozenset({_BOOL, _INT, _DOUBLE})


def edited(data: bytes, edit: Edit) -> bytes:
    """Return the message with what ``edit`` makes of its length-delimited fields."""
    parts: list[bytes] = []
    copied = 0
    for number, wire_type, begin, payload, after in fields(data, 0, len(data)):
        if wire_type == LENGTH_DELIMITED:
            new = edit(number, data[payload:after])
            if new is not None:
                parts += (data[copied:begin], wrap(number, new))
                copied = after
    return b"".join((*parts, data[copied:])) if parts else data


class Rewriter:
    """Rewrites messages by rules for their values.

    Its methods raise what is wrong with the bytes, or with what is looked for in them: the caller
    then lets nothing of the message out.
    """

    def __init__(self, values: ValueRules) -> None:
        self._values = values

    def message(self, data: bytes, shape: Shape) -> bytes:
        """Return a message of OTLP with its texts, attributes and all messages in it redacted."""
        inside, texts = shapes_inside(shape), _NAMED_TEXTS.get(shape, {})

        def edit(number: int, payload: bytes) -> bytes | None:
            if number in texts:
                return self._text(payload, texts[number])
            if shape is Shape.SPAN and number == _SPAN_STATUS:
                return _changed(payload, edited(payload, self._status))
            if shape is Shape.LOG_RECORD and number == _LOG_BODY:
                return _changed(payload, self._value(payload, LOG_BODY, None))
            nested = inside.get(number)
            if nested is None or nested is Shape.LEAF:
                return None
            if nested is Shape.KEY_VALUE:
                return _changed(payload, self._attribute(payload, "", None))
            return _changed(payload, self.message(payload, nested))

        return edited(data, edit)

    def text_of(self, number: int, payload: bytes, shape: Shape) -> bytes:
        """Return one field of a message, which is a text or stays as it is."""
        path = _NAMED_TEXTS.get(shape, {}).get(number)
        new = None if path is None else self._text(payload, path)
        return payload if new is None else new

    def _status(self, number: int, payload: bytes) -> bytes | None:
        return self._text(payload, STATUS_MESSAGE) if number == _STATUS_MESSAGE else None

    def _attribute(self, data: bytes, above_path: str, above: Action | None) -> bytes:
        """Return a ``KeyValue``; its path begins with that of what it is in, ``above`` is its rule."""
        key = b""
        for number, wire_type, _, payload, after in fields(data, 0, len(data)):
            if number == _KEY and wire_type == LENGTH_DELIMITED:
                key = data[payload:after]
        path = above_path + key.decode("utf-8", "replace")

        def edit(number: int, payload: bytes) -> bytes | None:
            if number == _KEY:
                # Rules mean a key's value: in the key itself only patterns are looked for.
                return self._text(payload, "", None)
            return (
                _changed(payload, self._value(payload, path, above)) if number == _VALUE else None
            )

        return edited(data, edit)

    def _value(self, data: bytes, path: str, above: Action | None) -> bytes:
        """Return an ``AnyValue``; numbers, truths and bytes may become strings."""
        parts: list[bytes] = []
        for number, wire_type, begin, payload, after in fields(data, 0, len(data)):
            new: bytes | None = None
            if wire_type == LENGTH_DELIMITED:
                new = self._contained(number, data[payload:after], path, above)
            elif number in _SCALARS:
                told = self._scalar(number, data[payload:after], path, above)
                new = None if told is None else wrap(_STRING, told.encode())
            parts.append(data[begin:after] if new is None else new)
        return b"".join(parts)

    def _contained(
        self, number: int, payload: bytes, path: str, above: Action | None
    ) -> bytes | None:
        """Return the whole new field for one of an ``AnyValue`` that is length-delimited."""
        action = self._values.keys.action(path) or above
        if action is Action.MASK and _STRING <= number <= _BYTES:
            return wrap(_STRING, MASK.encode())
        if number == _BYTES:
            return self._bytes(payload, path, action)
        if number == _STRING:
            new = self._text(payload, path, above)
        elif number == _ARRAY:
            new = self._array(payload, path, action)
        elif number == _MEMBERS:
            new = edited(
                payload, lambda n, p: self._attribute(p, f"{path}.", action) if n == 1 else None
            )
        else:
            return None
        return None if new is None else wrap(number, new)

    def _array(self, payload: bytes, path: str, action: Action | None) -> bytes:
        index = -1

        def edit(number: int, item: bytes) -> bytes | None:
            nonlocal index
            index += number == 1
            return self._value(item, f"{path}.{index}", action) if number == 1 else None

        return edited(payload, edit)

    def _bytes(self, payload: bytes, path: str, action: Action | None) -> bytes | None:
        if action is not None:
            hashed = self._values.replacing(payload.decode("utf-8", "surrogateescape"), action)
            return wrap(_STRING, hashed.encode())
        try:
            text = payload.decode("utf-8")
        except UnicodeDecodeError:
            return None
        new = self._values.string(text, path)
        return None if new == text else wrap(_BYTES, new.encode("utf-8", "replace"))

    def _scalar(self, number: int, payload: bytes, path: str, above: Action | None) -> str | None:
        if number == _BOOL:
            return self._values.truth(path, above)
        if number == _INT:
            value = read_varint(payload, 0, len(payload))
            return self._values.number(value - (1 << 64) if value >> 63 else value, path, above)
        (fraction,) = _FRACTION.unpack(payload)
        return self._values.number(fraction, path, above)

    def _text(self, payload: bytes, path: str, above: Action | None = None) -> bytes | None:
        """Return new bytes for a string; ``None`` where nothing in it is redacted."""
        text = payload.decode("utf-8", "replace")
        new = self._values.string(text, path, above)
        return None if new == text else new.encode("utf-8", "replace")


def _changed(old: bytes, new: bytes) -> bytes | None:
    return None if new is old or new == old else new

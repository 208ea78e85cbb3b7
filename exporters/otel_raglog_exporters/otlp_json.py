"""OTLP requests turned into OTLP/JSON.

As the OTLP specification has it: lowerCamelCase keys, ids in hex, 64-bit integers as strings,
enums as numbers, other bytes in base64. Text that is not UTF-8 gets replacement characters;
fields that our schema does not know cannot be written and are left out.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from otel_raglog.errors import BadInput
from otel_raglog.model import Signal
from otel_raglog_exporters.wire_schema import WireSchema, wire_schema

_ID_FIELDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_LONG_TYPES = frozenset(
    {
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT64,
        FieldDescriptor.TYPE_SINT64,
        FieldDescriptor.TYPE_FIXED64,
        FieldDescriptor.TYPE_SFIXED64,
    }
)
_FLOAT_TYPES = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})
# Some readers take these for the end of a line.
_LINE_SEPARATORS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def request_to_json(body: bytes, signal: Signal = Signal.TRACES) -> str:
    """Return a serialized request as one line of OTLP/JSON.

    Raises:
        BadInput: ``body`` is no such message.
    """
    try:
        request = wire_schema().requests[signal].FromString(body)
    except DecodeError as failure:
        raise BadInput(f"not a request of {signal}: {failure}") from failure
    return messages_to_json(request)


def messages_to_json(*requests: Message) -> str:
    """Return requests of one signal, read by :mod:`.wire_schema`, as one line: one request."""
    schema = wire_schema()
    merged: dict[str, Any] = {}
    for request in requests:
        for name, value in _message(request, schema).items():
            merged.setdefault(name, []).extend(value)
    line = json.dumps(merged, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return line.translate(_LINE_SEPARATORS)


def _message(message: Message, schema: WireSchema) -> dict[str, Any]:
    return {
        field.json_name: [_value(field, item, schema) for item in value]
        if field.is_repeated
        else _value(field, value, schema)
        for field, value in message.ListFields()
    }


def _value(field: FieldDescriptor, value: Any, schema: WireSchema) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _message(value, schema)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _text(field, value, schema)
    if field.type in _LONG_TYPES:
        return str(value)
    if field.type in _FLOAT_TYPES and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _text(field: FieldDescriptor, value: bytes, schema: WireSchema) -> str:
    if field.full_name in schema.text_fields:
        return value.decode("utf-8", "replace")
    if field.name in _ID_FIELDS:
        return value.hex()
    return base64.b64encode(value).decode("ascii")

"""The JSON of an OTLP trace request to wire spans, by way of protobuf.

The tables below are the format (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding):
ids are hex in either case, 64-bit integers are numbers or strings, enums are integers only,
keys are lowerCamelCase only, and unknown keys are ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from google.protobuf.message import Message

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Batch, Origin, WireSpan
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.header import read_header, refusal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers

_Read: TypeAlias = Callable[[Message, str, object, int], None]
"""Sets a message's field, given its name, the JSON value and the levels that may be nested."""

_Table: TypeAlias = Mapping[str, tuple[str, _Read]]
"""JSON key to field name and how to read it."""

_NO_ID = b"\xff"
"""Stands for an id that is no hex: too short for any id, so the span will be refused."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_OTHER_SIGNALS = ("resourceLogs", "resourceMetrics", "resourceProfiles")


class _WrongValue(BadInput):
    """A value that does not fit; collects the path to it on its way up."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__()
        self._expected = expected
        self._found = _NAMES_OF_TYPES.get(type(value), type(value).__name__)
        self._path: list[str] = []

    def inside(self, step: str) -> _WrongValue:
        self._path.insert(0, step)
        return self

    def __str__(self) -> str:
        path = "".join(self._path).removeprefix(".") or "the request"
        return f"{path}: expected {self._expected}, found {self._found}"


_NAMES_OF_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def split_json(body: bytes, limits: Limits, markers: Markers) -> Batch:
    """Return the spans of an ``ExportTraceServiceRequest`` in OTLP/JSON.

    The spans are those that the same request in protobuf would give. What protobuf has no field
    for is lost. Invalid UTF-8 is replaced. An empty body is an empty request.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: no JSON, or not OTLP traces; the message says where.
    """
    request = _load(body, limits)
    resource_spans = _objects(request, "resourceSpans")
    if not resource_spans and any(key in request for key in _OTHER_SIGNALS):
        raise BadInput("these are not traces; other signals have other paths")
    _check_span_count(resource_spans, limits.max_spans_per_request)
    spans: list[WireSpan] = []
    rejected: Counter[str] = Counter()
    origins: dict[Origin, Origin] = {}
    for i, wrapped in enumerate(resource_spans):
        where = f".resourceSpans[{i}]"
        resource = _message(thin.ResourceEnvelope(), wrapped, _RESOURCE_SPANS, where, limits)
        for j, scope_spans in enumerate(_objects(wrapped, "scopeSpans")):
            inner = f"{where}.scopeSpans[{j}]"
            scope = _message(thin.ScopeEnvelope(), scope_spans, _SCOPE_SPANS, inner, limits)
            origin = Origin(resource.SerializeToString(), scope.SerializeToString())
            origin = origins.setdefault(origin, origin)
            for k, data in enumerate(_objects(scope_spans, "spans")):
                span = _message(thin.Span(), data, _SPAN, f"{inner}.spans[{k}]", limits)
                reason = refusal(span)
                if reason is None:
                    raw = span.SerializeToString()
                    spans.append(read_header(span, raw, origin, markers, limits.max_nesting_depth))
                else:
                    rejected[reason] += 1
    return Batch(tuple(spans), dict(rejected))


def _load(body: bytes, limits: Limits) -> dict[str, Any]:
    """Return the request's object, without building more of them than ``limits`` allow."""
    if len(body) > limits.max_request_bytes:
        raise TooLarge(f"request of more than {limits.max_request_bytes} bytes")
    if body.count(b"{") + body.count(b"[") > limits.max_json_containers:
        raise TooLarge(f"request of more than {limits.max_json_containers} JSON containers")
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        return {}
    try:
        request = json.loads(text)
    except RecursionError:
        raise BadInput("JSON nested too deep") from None
    except ValueError as error:
        raise BadInput(f"not JSON: {error}") from error
    if not isinstance(request, dict):
        raise _WrongValue("an object", request)
    return request


def _objects(parent: object, key: str) -> list[object]:
    """Return the array under ``key``; an empty one when it is null or absent."""
    value = parent.get(key) if isinstance(parent, dict) else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise _WrongValue("an array", value).inside(key)
    return value


def _check_span_count(resource_spans: list[object], max_spans: int) -> None:
    scopes = [scope for one in resource_spans for scope in _objects(one, "scopeSpans")]
    if sum(len(_objects(scope, "spans")) for scope in scopes) > max_spans:
        raise TooLarge(f"request of more than {max_spans} spans")


# ------------------------------------------------------------------------- messages


def _message(message: Any, data: object, table: _Table, where: str, limits: Limits) -> Any:
    """Return ``message`` filled from the object at ``where`` in the request."""
    try:
        _fill(message, data, table, limits.max_nesting_depth)
    except _WrongValue as error:
        raise error.inside(where) from None
    return message


def _fill(message: Message, data: object, table: _Table, levels: int) -> None:
    if not isinstance(data, dict):
        raise _WrongValue("an object", data)
    for key, (name, read) in table.items():
        value = data.get(key)
        if value is not None:
            try:
                read(message, name, value, levels)
            except _WrongValue as error:
                raise error.inside(f".{key}") from None


def _one(table: _Table) -> _Read:
    """Read an object into a message of one field."""

    def read(message: Message, name: str, value: object, levels: int) -> None:
        inner = getattr(message, name)
        inner.SetInParent()
        _fill(inner, value, table, levels)

    return read


def _many(table: _Table) -> _Read:
    """Read an array of objects into a repeated field; null stands for an empty message."""

    def read(message: Message, name: str, value: object, levels: int) -> None:
        if not isinstance(value, list):
            raise _WrongValue("an array", value)
        for index, item in enumerate(value):
            try:
                _fill(getattr(message, name).add(), {} if item is None else item, table, levels)
            except _WrongValue as error:
                raise error.inside(f"[{index}]") from None

    return read


def _nested(table: _Table) -> _Read:
    """Read an array or a map of values, one level further down."""
    read_one = _one(table)

    def read(message: Message, name: str, value: object, levels: int) -> None:
        if levels == 0:
            raise _WrongValue("a value that is not nested so deep", value)
        read_one(message, name, value, levels - 1)

    return read


def _scalar(convert: Callable[[object], object]) -> _Read:
    """Read a single value."""

    def read(message: Message, name: str, value: object, _levels: int) -> None:
        setattr(message, name, convert(value))

    return read


def _strings(message: Message, name: str, value: object, _levels: int) -> None:
    if not isinstance(value, list):
        raise _WrongValue("an array", value)
    getattr(message, name).extend(_text(item) for item in value)


# -------------------------------------------------------------------------- scalars


def _text(value: object) -> bytes:
    if not isinstance(value, str):
        raise _WrongValue("a string", value)
    return value.encode("utf-8", "replace")


def _hex_id(value: object) -> bytes:
    if not isinstance(value, str):
        raise _WrongValue("a hex string", value)
    try:
        return binascii.unhexlify(value)
    except ValueError:
        return _NO_ID


def _base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise _WrongValue("a base64 string", value)
    standard = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        raise _WrongValue("a base64 string", value) from None


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _WrongValue("a boolean", value)
    return value


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _WrongValue("a number", value)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise _WrongValue("a number", value) from None


def _integer(expected: str, low: int, high: int, *, as_string: bool = True) -> _Read:
    """Read an integer in [low, high]; as numbers, and as strings of digits if ``as_string``."""

    def convert(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise _WrongValue(expected, value)
        if isinstance(value, str):
            integral = as_string and _INTEGER.fullmatch(value) is not None
        else:
            integral = isinstance(value, int) or value.is_integer()
        if not integral or not low <= int(value) <= high:
            raise _WrongValue(expected, value)
        return int(value)

    return _scalar(convert)


_STRING = _scalar(_text)
_ID = _scalar(_hex_id)
_INT64 = _integer("an integer of 64 bits", -(1 << 63), (1 << 63) - 1)
_TIME = _integer("nanoseconds as an integer", 0, (1 << 64) - 1)
_COUNT = _integer("an unsigned integer of 32 bits", 0, (1 << 32) - 1)
_ENUM = _integer("an enum's integer", -(1 << 31), (1 << 31) - 1, as_string=False)


# --------------------------------------------------------------------------- tables

_ANY_VALUE: dict[str, tuple[str, _Read]] = {
    "stringValue": ("string_value", _STRING),
    "boolValue": ("bool_value", _scalar(_boolean)),
    "intValue": ("int_value", _INT64),
    "doubleValue": ("double_value", _scalar(_double)),
    "bytesValue": ("bytes_value", _scalar(_base64)),
}
_KEY_VALUE: _Table = {"key": ("key", _STRING), "value": ("value", _one(_ANY_VALUE))}
# A value may hold values, so these two come after what they refer to.
_ANY_VALUE["arrayValue"] = ("array_value", _nested({"values": ("values", _many(_ANY_VALUE))}))
_ANY_VALUE["kvlistValue"] = ("kvlist_value", _nested({"values": ("values", _many(_KEY_VALUE))}))

_ATTRIBUTES = ("attributes", _many(_KEY_VALUE))
_DROPPED_ATTRIBUTES = ("dropped_attributes_count", _COUNT)
_SCHEMA_URL = ("schema_url", _STRING)

_ENTITY_REF: _Table = {
    "schemaUrl": _SCHEMA_URL,
    "type": ("type", _STRING),
    "idKeys": ("id_keys", _strings),
    "descriptionKeys": ("description_keys", _strings),
}
_RESOURCE: _Table = {
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "entityRefs": ("entity_refs", _many(_ENTITY_REF)),
}
_SCOPE: _Table = {
    "name": ("name", _STRING),
    "version": ("version", _STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
}
_RESOURCE_SPANS: _Table = {"resource": ("resource", _one(_RESOURCE)), "schemaUrl": _SCHEMA_URL}
_SCOPE_SPANS: _Table = {"scope": ("scope", _one(_SCOPE)), "schemaUrl": _SCHEMA_URL}
_EVENT: _Table = {
    "timeUnixNano": ("time_unix_nano", _TIME),
    "name": ("name", _STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
}
_LINK: _Table = {
    "traceId": ("trace_id", _ID),
    "spanId": ("span_id", _ID),
    "traceState": ("trace_state", _STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "flags": ("flags", _COUNT),
}
_STATUS: _Table = {"message": ("message", _STRING), "code": ("code", _ENUM)}
_SPAN: _Table = {
    "traceId": ("trace_id", _ID),
    "spanId": ("span_id", _ID),
    "traceState": ("trace_state", _STRING),
    "parentSpanId": ("parent_span_id", _ID),
    "flags": ("flags", _COUNT),
    "name": ("name", _STRING),
    "kind": ("kind", _ENUM),
    "startTimeUnixNano": ("start_time_unix_nano", _TIME),
    "endTimeUnixNano": ("end_time_unix_nano", _TIME),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "events": ("events", _many(_EVENT)),
    "droppedEventsCount": ("dropped_events_count", _COUNT),
    "links": ("links", _many(_LINK)),
    "droppedLinksCount": ("dropped_links_count", _COUNT),
    "status": ("status", _one(_STATUS)),
}

"""The JSON of an OTLP request of any signal to the protobuf of the same request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.message import EncodeError

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Batch, Signal
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.json_fields import Table, WrongValue, fill
from otel_raglog.receive.json_tables import (
    LOG_RECORD,
    METRIC,
    RESOURCE_ENVELOPE,
    SCOPE_ENVELOPE,
    SPAN,
)
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.wire import wrap

_PROFILES = "resourceProfiles"
_LONGEST_INTEGER = 1_000
"""Digits: far more than any number that OTLP has room for."""
_DEEPEST = 50
"""Arrays and maps inside each other that are still built; protobuf stops short of as many."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The arrays that lead to a signal's items, and how an item is read."""

    resources: str
    scopes: str
    items: str
    message: Callable[[], Any]
    table: Table


def to_protobuf(signal: Signal, body: bytes, limits: Limits) -> bytes:
    """Return the protobuf body of the same OTLP/JSON export request of ``signal``.

    What protobuf has no field for is lost. Invalid UTF-8 is replaced. An empty body is an empty
    request.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: no JSON, or not OTLP of this signal; the message says where.
    """
    layout = _LAYOUTS[signal]
    request = _load(body, limits)
    resources = _objects(request, layout.resources)
    others = {other.resources for other in _LAYOUTS.values()} | {_PROFILES}
    if not resources and any(key in request for key in others - {layout.resources}):
        raise BadInput(f"these are not {signal}; other signals have other paths")
    _check_item_count(resources, layout, limits.max_spans_per_request)
    encoded = []
    for i, wrapped in enumerate(resources):
        where = f"{layout.resources}[{i}]"
        scopes = [
            _encode_scope(scope, layout, f"{where}.{layout.scopes}[{j}]")
            for j, scope in enumerate(_objects(wrapped, layout.scopes))
        ]
        own = _encode(thin.ResourceEnvelope(), wrapped, RESOURCE_ENVELOPE, where)
        encoded.append(wrap(1, b"".join((own, *scopes))))
    return b"".join(encoded)


def split_json(body: bytes, limits: Limits, markers: Markers) -> Batch:
    """Return the spans of an ``ExportTraceServiceRequest`` in OTLP/JSON.

    The spans are those that the same request in protobuf would give.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: no JSON, or not OTLP traces; the message says where.
    """
    encoded = to_protobuf(Signal.TRACES, body, limits)
    # Protobuf can be longer than JSON, and JSON is what the limit is for.
    room = replace(limits, max_request_bytes=max(len(encoded), limits.max_request_bytes))
    return split_protobuf(encoded, room, markers)


def _encode_scope(data: object, layout: _Layout, where: str) -> bytes:
    items = [
        wrap(2, _encode(layout.message(), item, layout.table, f"{where}.{layout.items}[{k}]"))
        for k, item in enumerate(_objects(data, layout.items))
    ]
    own = _encode(thin.ScopeEnvelope(), data, SCOPE_ENVELOPE, where)
    return wrap(2, b"".join((own, *items)))


def _encode(message: Any, data: object, table: Table, where: str) -> bytes:
    """Return the bytes of ``message`` filled from the object at ``where`` in the request."""
    try:
        fill(message, data, table, _DEEPEST)
    except WrongValue as error:
        raise error.inside(where) from None
    try:
        encoded: bytes = message.SerializeToString()
    except EncodeError:
        raise BadInput(f"{where}: nested too deep") from None
    return encoded


def _load(body: bytes, limits: Limits) -> dict[str, Any]:
    """Return the request's object, without building more values than ``limits`` allow."""
    if len(body) > limits.max_request_bytes:
        raise TooLarge(f"request of more than {limits.max_request_bytes} bytes")
    # Every value is the first of a container or comes after a comma.
    if sum(map(body.count, (b"{", b"[", b","))) > limits.max_json_values:
        raise TooLarge(f"request of more than {limits.max_json_values} JSON values")
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        return {}
    try:
        request = json.loads(text, parse_int=_read_int)
    except RecursionError:
        raise BadInput("JSON nested too deep") from None
    except ValueError as error:
        raise BadInput(f"not JSON: {error}") from error
    if not isinstance(request, dict):
        raise WrongValue("an object", request)
    return request


def _read_int(digits: str) -> int:
    """Return an integer, unless it has so many digits that reading them all takes seconds."""
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _objects(parent: object, key: str) -> list[object]:
    """Return the array under ``key``; an empty one when it is null or absent."""
    value = parent.get(key) if isinstance(parent, dict) else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise WrongValue("an array", value).inside(key)
    return value


def _check_item_count(resources: list[object], layout: _Layout, most: int) -> None:
    scopes = [scope for one in resources for scope in _objects(one, layout.scopes)]
    if sum(len(_objects(scope, layout.items)) for scope in scopes) > most:
        raise TooLarge(f"request of more than {most} items ({layout.items})")


_LAYOUTS: Mapping[Signal, _Layout] = {
    Signal.TRACES: _Layout("resourceSpans", "scopeSpans", "spans", thin.Span, SPAN),
    Signal.METRICS: _Layout("resourceMetrics", "scopeMetrics", "metrics", thin.Metric, METRIC),
    Signal.LOGS: _Layout("resourceLogs", "scopeLogs", "logRecords", thin.LogRecord, LOG_RECORD),
}

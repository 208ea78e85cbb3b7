"""Ended spans of the SDK turned into an OTLP/JSON request.

As the OTLP specification has it: lowerCamelCase keys, ids in hex, 64-bit integers as strings,
enums as numbers, bytes in base64; NaN and the infinities as protobuf's JSON writes them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext

_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
_INT64 = range(-(2**63), 2**63)
_ALWAYS = frozenset({"name", "status"})
_DEEPEST = 16
"""Levels of lists and mappings in one value: each is three messages of the hundred that protobuf
reads inside each other."""

Json = dict[str, Any]


def request_json(
    spans: Sequence[ReadableSpan], on_defect: Callable[[ReadableSpan, Exception], None]
) -> bytes:
    """Return one request with ``spans``, in their order within each resource and scope.

    A span that cannot be written is left out and handed to ``on_defect``.
    """
    blocks: dict[int, tuple[Resource, dict[int, tuple[InstrumentationScope | None, list[Json]]]]]
    blocks = {}
    for span in spans:
        try:
            written = span_json(span)
        except Exception as defect:  # noqa: BLE001  spans may be of anybody's making
            on_defect(span, defect)
            continue
        scope = span.instrumentation_scope
        _, scopes = blocks.setdefault(id(span.resource), (span.resource, {}))
        scopes.setdefault(id(scope), (scope, []))[1].append(written)
    request = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource.attributes)},
                "schemaUrl": resource.schema_url,
                "scopeSpans": [
                    {"scope": _scope(scope), "schemaUrl": _schema_url(scope), "spans": written}
                    for scope, written in scopes.values()
                ],
            }
            for resource, scopes in blocks.values()
        ]
    }
    text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # lone surrogates are no text


def span_json(span: ReadableSpan) -> Json:
    """Return a span as OTLP/JSON."""
    context, parent = span.get_span_context(), span.parent
    if context is None:
        raise ValueError("a span without a context")
    written: Json = {
        **_ids(context),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _attributes(span.attributes),
        "events": [_event(event) for event in span.events],
        "links": [_link(link) for link in span.links],
        "status": _status(span),
        "droppedAttributesCount": span.dropped_attributes,
        "droppedEventsCount": span.dropped_events,
        "droppedLinksCount": span.dropped_links,
        "flags": _flags(context, parent),
    }
    if parent is not None:
        written["parentSpanId"] = f"{parent.span_id:016x}"
    return {key: value for key, value in written.items() if value or key in _ALWAYS}


def _ids(context: SpanContext) -> Json:
    ids = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    state = ",".join(f"{key}={value}" for key, value in context.trace_state.items())
    return ids | {"traceState": state} if state else ids


def _flags(context: SpanContext, about: SpanContext | None) -> int:
    remote = about is not None and about.is_remote
    return int(context.trace_flags) | _HAS_IS_REMOTE | (_IS_REMOTE if remote else 0)


def _status(span: ReadableSpan) -> Json:
    status: Json = {}
    if span.status.status_code.value:
        status["code"] = span.status.status_code.value
    if span.status.description:
        status["message"] = span.status.description
    return status


def _event(event: Event) -> Json:
    return {
        "name": event.name,
        "timeUnixNano": str(event.timestamp),
        "attributes": _attributes(event.attributes),
        "droppedAttributesCount": event.dropped_attributes,
    }


def _link(link: Link) -> Json:
    return {
        **_ids(link.context),
        "attributes": _attributes(link.attributes),
        "droppedAttributesCount": link.dropped_attributes,
        "flags": _flags(link.context, link.context),
    }


def _scope(scope: InstrumentationScope | None) -> Json:
    if scope is None:
        return {}
    return {
        "name": scope.name,
        "version": scope.version or "",
        "attributes": _attributes(scope.attributes),
    }


def _schema_url(scope: InstrumentationScope | None) -> str:
    return (scope.schema_url or "") if scope is not None else ""


def _attributes(attributes: Mapping[str, Any] | None) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in (attributes or {}).items()]


def _value(value: Any, level: int = 0) -> Json:  # noqa: PLR0911  one line for each kind of value
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        # OTLP has integers of 64 bits; others are told as text.
        return {"intValue": str(int(value))} if value in _INT64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": _double(value)}
    if value is None:
        return {}
    if isinstance(value, bytes | bytearray):
        return {"bytesValue": base64.b64encode(value).decode()}
    if level < _DEEPEST and isinstance(value, Mapping):
        entries = [{"key": str(key), "value": _value(of, level + 1)} for key, of in value.items()]
        return {"kvlistValue": {"values": entries}}
    if level < _DEEPEST and isinstance(value, Sequence):
        return {"arrayValue": {"values": [_value(item, level + 1) for item in value]}}
    return {"stringValue": str(value)}


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

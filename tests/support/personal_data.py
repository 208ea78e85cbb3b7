"""Personal data planted in every place of traces, logs and metrics where a text can stand."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from rag_traces import rag_trace

from otel_raglog.model import Origin, WireSpan

NAME = "Zacharias Quillfeather"
USER = "zq-4711-user"
SESSION = "session-of-zq-0815"
CARD = "4539148803436467"
IBAN = "DE89370400440532013000"
PHONE = "+49 30 901820"
API_KEY = "sk-ant-api03-Zq8Zq8Zq8Zq8Zq8Zq8Zq8Zq8Zq8"
BADGE = "EMP-204711"
HASHED_DOCUMENTS = ("d1", "d2", "d3", "d4")

REDACTION: Mapping[str, Any] = {
    "patterns": ["email", "phone", "card", "iban", "key"],
    "expressions": [r"EMP-\d{6}"],
    "mask_keys": ["user.name", "*.customer"],
    "hash_keys": ["user.id", "session.id"],
    "hash_document_ids": True,
}
"""Options that find all that is planted, if ``redaction.key_file`` is given beside them."""

MAILS: list[str] = []
"""One address for each place, made as places are filled, so that a leak says where it is."""


def mail(place: str) -> str:
    """Return the address that stands in a place."""
    address = f"zq.{place}@people.example"
    if address not in MAILS:
        MAILS.append(address)
    return address


def any_value(value: object) -> AnyValue:
    """Return an OTLP value of any kind."""
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=map(any_value, value)))
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=attributes(value)))
    kinds = {bool: "bool_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
    return AnyValue(**{kinds.get(type(value), "string_value"): value})  # type: ignore[arg-type]


def attributes(values: Mapping[str, object]) -> list[KeyValue]:
    """Return OTLP attributes."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def planted_attributes() -> dict[str, object]:
    """Return attributes with personal data in every form."""
    escaped = json.dumps({"to": mail("escaped")}).replace("@", "\\u0040")
    hidden = mail("unseen")
    return {
        "app.note": f"write to {mail('string')} today",
        "app.list": ["nothing", mail("array"), 7],
        "app.map": {"deep": {"deeper": [mail("map"), {"deepest": mail("map.in.array")}]}},
        "app.json": json.dumps({"a": [{"mail": mail("json")}], "n": 1.5, "t": True, "z": None}),
        "app.escaped": escaped,
        "app.nested": json.dumps({"inner": json.dumps({"mail": mail("json.in.json")})}),
        "app.cut": json.dumps({"first": mail("cut"), "second": "lost"})[:-4],
        "app.bytes": f"bytes of {mail('bytes')}".encode(),
        "app.raw": b"\xff\xfe\x00 no text",
        mail("key"): 1,
        "app.keys": {mail("map.key"): 1},
        "app.json.keys": json.dumps({mail("json.key"): 1}),
        "app.url": f"https://x.example/?to={mail('url').replace('@', '%40')}",
        "app.unseen": hidden.replace("@", "\u200b@\u00ad"),
        "app.card": int(CARD),
        "app.card.text": f"paid with {CARD[:4]} {CARD[4:8]} {CARD[8:12]} {CARD[12:]} 12/27",
        "app.iban": f"to {IBAN[:4]} {IBAN[4:8]} {IBAN[8:12]} {IBAN[12:16]} {IBAN[16:20]} {IBAN[20:]} please",
        "app.phone": f"call {PHONE} or not",
        "app.key": f"key {API_KEY}",
        "app.badge": f"badge {BADGE}",
        "user.name": NAME,
        "user.id": USER,
        "session.id": SESSION,
        "app.order": json.dumps({"items": [{"customer": {"name": NAME}}]}),
        "app.score": 0.7539148803436,
    }


def planted_span() -> SpanMessage:
    """Return what is appended to a span so that all its parts hold personal data."""
    message = SpanMessage(
        name=f"answer {mail('span.name')}", trace_state=f"app={mail('trace.state')}"
    )
    message.status.message = f"refused {mail('status')}"
    message.attributes.extend(attributes(planted_attributes()))
    event = message.events.add(name=f"told {mail('event.name')}", time_unix_nano=5)
    event.attributes.extend(
        attributes(
            {
                "exception.message": mail("event.string"),
                "event.list": [mail("event.array")],
                "event.json": json.dumps([mail("event.json")]),
                "user.name": NAME,
            }
        )
    )
    link = message.links.add(trace_id=b"\x07" * 16, span_id=b"\x07" * 8)
    link.trace_state = f"app={mail('link.state')}"
    link.attributes.extend(attributes({"a": mail("link"), "b": {"c": mail("link.map")}}))
    return message


def planted_resource() -> Resource:
    """Return a resource with personal data."""
    return Resource(
        attributes=attributes(
            {
                "service.name": "shop",
                "host.owner": mail("resource"),
                "app.map": {"x": [mail("resource.map")]},
                "user.id": USER,
            }
        )
    )


def planted_scope() -> InstrumentationScope:
    """Return a scope with personal data."""
    return InstrumentationScope(
        name=f"lib of {mail('scope.name')}",
        version=f"1 by {mail('scope.version')}",
        attributes=attributes({"by": mail("scope")}),
    )


def planted_origin() -> Origin:
    """Return envelopes with personal data in all of their texts."""
    resource = ResourceSpans(
        resource=planted_resource(), schema_url=f"https://x.example/{mail('resource.schema')}"
    )
    scope = ScopeSpans(scope=planted_scope(), schema_url=f"https://x/{mail('scope.schema')}")
    return Origin(resource.SerializeToString(), scope.SerializeToString())


def planted_trace(seed: int = 1) -> list[WireSpan]:
    """Return a RAG trace with personal data everywhere: its question, documents, prompt too."""
    spans = rag_trace(random.Random(seed), seed)
    told = f" Ask {mail('text')} about {BADGE}, {PHONE}."
    planted = planted_span().SerializeToString()
    where = planted_origin()
    return [replace(span, raw=_told(span, told) + planted, origin=where) for span in spans]


def _told(span: WireSpan, told: str) -> bytes:
    """Return the span with ``told`` at the end of every text of question, document and prompt."""
    message = SpanMessage.FromString(span.raw)
    for pair in message.attributes:
        if pair.key.endswith((".content", ".text")) or pair.key in {"input.value", "output.value"}:
            pair.value.string_value += told
    return message.SerializeToString()


def planted_logs() -> bytes:
    """Return a request of log records with personal data."""
    request = ExportLogsServiceRequest()
    envelope = request.resource_logs.add(resource=planted_resource())
    inside = envelope.scope_logs.add(scope=planted_scope(), schema_url=mail("log.schema"))
    for body in (mail("log.body"), {"m": [mail("log.body.map")]}, json.dumps([mail("log.json")])):
        record = inside.log_records.add(
            time_unix_nano=5,
            severity_text=f"INFO {mail('log.severity')}",
            event_name=f"told {mail('log.event')}",
        )
        record.body.CopyFrom(any_value(body))
        record.attributes.extend(attributes(planted_attributes()))
    return request.SerializeToString()


def planted_metrics() -> bytes:
    """Return a request of metrics with personal data."""
    request = ExportMetricsServiceRequest()
    envelope = request.resource_metrics.add(resource=planted_resource())
    inside = envelope.scope_metrics.add(scope=planted_scope())
    metric = inside.metrics.add(
        name=f"calls.{mail('metric.name')}", description=mail("metric.text"), unit="1"
    )
    metric.metadata.extend(attributes({"by": mail("metric.metadata")}))
    for points in (metric.sum.data_points,):
        point = points.add(time_unix_nano=5, as_int=3)
        point.attributes.extend(attributes({"who": mail("point"), "user.name": NAME}))
        point.exemplars.add().filtered_attributes.extend(attributes({"who": mail("exemplar")}))
    other = inside.metrics.add(name="seconds")
    timed = other.histogram.data_points.add(time_unix_nano=5)
    timed.attributes.extend(attributes({"who": mail("histogram")}))
    return request.SerializeToString()


def secrets() -> list[str]:
    """Return every text that must not be found, in each spelling in which it was planted."""
    spellings = [
        *MAILS,
        *(address.replace("@", "%40") for address in MAILS),
        *(address.replace("@", "\\u0040") for address in MAILS),
        "zq.",
        "people.example",
        NAME,
        "Quillfeather",
        USER,
        SESSION,
        CARD,
        " ".join((CARD[:4], CARD[4:8])),
        IBAN,
        "DE89 3704",
        PHONE,
        "901820",
        API_KEY,
        "Zq8Zq8",
        BADGE,
        "204711",
    ]
    return list(dict.fromkeys(spellings))


def leaks(data: bytes) -> list[str]:
    """Return what of the planted data can be read in bytes, numbers included."""
    found = [secret for secret in secrets() if secret.encode() in data]
    if _varint(int(CARD)) in data or struct.pack("<q", int(CARD)) in data:
        found.append("the card as a number")
    return found


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))

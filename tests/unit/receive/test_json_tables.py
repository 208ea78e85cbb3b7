"""Every field of OTLP in JSON, compared with protobuf's own encoder."""

from __future__ import annotations

import base64
import json

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_raglog.model import Signal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.otlp_json import to_protobuf

REQUESTS = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
PROFILES = {"string_value_strindex", "key_strindex"}
DEEPEST = 14


def fill(message: Message, choice: int, depth: int = 0) -> None:
    """Set every field of a message, and of a oneof the field that ``choice`` points to."""
    for field in message.DESCRIPTOR.fields:
        if field.name in PROFILES or is_another(field, choice):
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if depth < DEEPEST:
                inner = getattr(message, field.name)
                fill(inner.add() if field.is_repeated else inner, choice, depth + 1)
                if not field.is_repeated:
                    inner.SetInParent()
        elif field.is_repeated:
            getattr(message, field.name).extend([scalar(field), scalar(field)])
        else:
            setattr(message, field.name, scalar(field))


def is_another(field: FieldDescriptor, choice: int) -> bool:
    """Tell whether a field is one of a oneof that is not chosen."""
    if field.containing_oneof is None or len(field.containing_oneof.fields) == 1:
        return False
    fields = [one for one in field.containing_oneof.fields if one.name not in PROFILES]
    return field.name != fields[choice % len(fields)].name


def scalar(field: FieldDescriptor) -> object:
    """Return a value that shows mistakes: near the largest, negative where it can be."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"\xfb" * IDS.get(field.json_name, 5)
    return {
        FieldDescriptor.CPPTYPE_STRING: "é",
        FieldDescriptor.CPPTYPE_BOOL: True,
        FieldDescriptor.CPPTYPE_ENUM: 1,
        FieldDescriptor.CPPTYPE_DOUBLE: -1.5,
        FieldDescriptor.CPPTYPE_INT32: -(1 << 31),
        FieldDescriptor.CPPTYPE_INT64: -(1 << 63),
        FieldDescriptor.CPPTYPE_UINT32: (1 << 32) - 1,
        FieldDescriptor.CPPTYPE_UINT64: (1 << 64) - 1,
    }[field.cpp_type]


def with_hex_ids(node: object) -> object:
    """Turn the ids of protobuf's JSON, which are base64, into those of OTLP."""
    if isinstance(node, list):
        return [with_hex_ids(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: base64.b64decode(value).hex() if key in IDS else with_hex_ids(value)
        for key, value in node.items()
    }


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize("choice", range(35))
def test_every_field_is_read(signal: Signal, choice: int) -> None:
    """Of every message, and every kind of value and of metric."""
    request = REQUESTS[signal]()
    fill(request, choice)
    data = json_format.MessageToDict(request, use_integers_for_enums=True)
    body = to_protobuf(signal, json.dumps(with_hex_ids(data)).encode(), Limits())
    assert REQUESTS[signal].FromString(body) == request

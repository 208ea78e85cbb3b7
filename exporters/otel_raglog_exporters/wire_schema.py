"""OTLP's protobuf schema turned into one that reads any bytes where it says string.

protobuf refuses a whole message for one string that is not UTF-8. Items are not ours to
refuse, so what is decoded here (for files and for the console) is decoded by this schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.cutting import cut_payload

_FILES = (
    common_pb2,
    resource_pb2,
    trace_pb2,
    metrics_pb2,
    logs_pb2,
    trace_service_pb2,
    metrics_service_pb2,
    logs_service_pb2,
)
_REQUESTS: Mapping[Signal, str] = {
    Signal.TRACES: "collector.trace.v1.ExportTraceServiceRequest",
    Signal.METRICS: "collector.metrics.v1.ExportMetricsServiceRequest",
    Signal.LOGS: "collector.logs.v1.ExportLogsServiceRequest",
}


@dataclass(frozen=True, slots=True)
class WireSchema:
    """Classes of the requests, and the full names of the fields that were strings."""

    requests: Mapping[Signal, Any]
    text_fields: frozenset[str]


@cache
def wire_schema() -> WireSchema:
    """Return the schema; it is built once, on first use."""
    pool = descriptor_pool.DescriptorPool()
    text_fields: set[str] = set()
    for module in _FILES:
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _loosen(message, file.package, text_fields)
        pool.Add(file)

    def message_class(name: str) -> Any:
        descriptor = pool.FindMessageTypeByName(f"opentelemetry.proto.{name}")
        return message_factory.GetMessageClass(descriptor)

    return WireSchema(
        requests={signal: message_class(name) for signal, name in _REQUESTS.items()},
        text_fields=frozenset(text_fields),
    )


@dataclass(frozen=True, slots=True)
class Readable:
    """A request, or the parts of it that can be read, and how many items cannot."""

    requests: tuple[Any, ...]
    unreadable: int = 0


def read_payload(payload: Payload) -> Readable:
    """Decode ``payload``; an item that cannot be read costs itself only."""
    request = wire_schema().requests[payload.signal]
    try:
        return Readable((request.FromString(payload.body),))
    except DecodeError:
        parts = cut_payload(payload, 1)
    if len(parts) == 1:
        return Readable((), payload.items)
    read = [read_payload(part) for part in parts]
    return Readable(
        tuple(message for part in read for message in part.requests),
        sum(part.unreadable for part in read),
    )


def _loosen(message: descriptor_pb2.DescriptorProto, scope: str, text_fields: set[str]) -> None:
    name = f"{scope}.{message.name}"
    for field in message.field:
        if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            text_fields.add(f"{name}.{field.name}")
    for nested in message.nested_type:
        _loosen(nested, name, text_fields)

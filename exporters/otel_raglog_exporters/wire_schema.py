"""OTLP's protobuf schema turned into one that reads any bytes where it says string.

protobuf refuses a whole message for one string that is not UTF-8. Spans are not ours to
refuse, so what is decoded here (for files and for the console) is decoded by this schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2


@dataclass(frozen=True, slots=True)
class WireSchema:
    """Message classes, and the full names of the fields that were strings."""

    request: Any
    resource_spans: Any
    span: Any
    text_fields: frozenset[str]


@cache
def wire_schema() -> WireSchema:
    """Return the schema; it is built once, on first use."""
    pool = descriptor_pool.DescriptorPool()
    text_fields: set[str] = set()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _loosen(message, file.package, text_fields)
        pool.Add(file)

    def message_class(name: str) -> Any:
        descriptor = pool.FindMessageTypeByName(f"opentelemetry.proto.{name}")
        return message_factory.GetMessageClass(descriptor)

    return WireSchema(
        request=message_class("collector.trace.v1.ExportTraceServiceRequest"),
        resource_spans=message_class("trace.v1.ResourceSpans"),
        span=message_class("trace.v1.Span"),
        text_fields=frozenset(text_fields),
    )


def _loosen(message: descriptor_pb2.DescriptorProto, scope: str, text_fields: set[str]) -> None:
    name = f"{scope}.{message.name}"
    for field in message.field:
        if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            text_fields.add(f"{name}.{field.name}")
    for nested in message.nested_type:
        _loosen(nested, name, text_fields)

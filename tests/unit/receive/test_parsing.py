"""Requests parsed piece by piece."""

from __future__ import annotations

import contextlib

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.envelopes import open_request
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.parsing import RequestParser, has_other_types

OURS = {
    *("ResourceEnvelope", "ScopeEnvelope", "TracesRequest", "LogsRequest", "MetricsRequest"),
    *("OnlyKey", "EventKeys", "Nothing", "SpanKeys", "ScopeSpansKeys", "ResourceSpansKeys"),
    *("TracesRequestKeys", "SerializedSpans"),
}
"""Messages of the thin schema that OTLP does not have."""
PROFILES = {"string_value_strindex", "key_strindex"}
"""Fields that only profiles use."""


def official() -> dict[str, Descriptor]:
    """Return the messages of opentelemetry-proto by name."""
    found: dict[str, Descriptor] = {}

    def add(message: Descriptor) -> None:
        found[message.name] = message
        for inner in message.nested_types:
            add(inner)

    files: list[FileDescriptor] = [
        module.DESCRIPTOR for module in (common_pb2, resource_pb2, trace_pb2, logs_pb2, metrics_pb2)
    ]
    for file in files:
        for message in file.message_types_by_name.values():
            add(message)
    found["Scope"] = found["InstrumentationScope"]
    return found


def shape(message: Descriptor) -> dict[int, tuple[str, int, bool]]:
    """Return name, type and repetition by number; strings as bytes and enums as integers."""
    same = {
        FieldDescriptor.TYPE_STRING: FieldDescriptor.TYPE_BYTES,
        FieldDescriptor.TYPE_ENUM: FieldDescriptor.TYPE_INT32,
    }
    return {
        field.number: (field.name, same.get(field.type, field.type), field.is_repeated)
        for field in message.fields
        if field.name not in PROFILES
    }


def test_the_thin_schema_is_otlp() -> None:
    """Every message has the fields of opentelemetry-proto, with strings as bytes."""
    messages = official()
    for name, message in thin.DESCRIPTOR.message_types_by_name.items():
        if name not in OURS:
            assert shape(message) == shape(messages[name]), name


def test_a_scope_is_parsed_in_pieces_without_losing_an_item(make_span, pack) -> None:
    """Large items stand alone, small ones together, in their order."""
    sizes = [10, 10, 600_000, 10, 200_000, 100_000, 10, 700_000]
    body = pack(*(make_span(name="n" * size) for size in sizes))
    ((_, scope),) = open_request(body, 10).scopes()
    pieces = [list(spans) for spans, _ in RequestParser(body, Signal.TRACES, Limits()).parse(scope)]
    assert [[len(span.name) for span in spans] for spans in pieces] == [
        [10, 10],
        [600_000],
        [10, 200_000],
        [100_000, 10],
        [700_000],
    ]


def test_the_bytes_of_a_piece_are_its_request(make_span, pack) -> None:
    """They hold the same items, in envelopes as deep as a peer will see them."""
    body = pack(make_span(), make_span())
    ((_, scope),) = open_request(body, 10).scopes()
    ((spans, piece),) = RequestParser(body, Signal.TRACES, Limits()).parse(scope)
    assert list(thin.TracesRequest.FromString(piece).resource_spans[0].scope_spans[0].spans) == (
        list(spans)
    )


@pytest.mark.parametrize("place", ["request", "resource"])
def test_what_is_around_the_scopes_is_checked(place: str, wrap) -> None:
    """A field there that no peer can read would cost a whole request."""
    broken = b"\xf8\xff\xff\xff\xff\x01" + b"\x00"  # a field number that protobuf does not have
    body = wrap(1, b"") + broken if place == "request" else wrap(1, wrap(1, b"\xff\xff"))
    with pytest.raises(BadInput, match="malformed"):
        RequestParser(body, Signal.TRACES, Limits()).check_envelopes(open_request(body, 10))


def test_other_types_tell_another_message() -> None:
    """Unknown numbers do not: they are of the future."""
    assert has_other_types(thin.Span.FromString(b"\x09" + bytes(8)))
    assert not has_other_types(thin.Span.FromString(b"\xc2\x3e\x03new"))


def test_values_of_long_spans_are_counted_over_the_whole_request(wrap) -> None:
    """Counting is slow: many spans that are each just within the limit are too many together."""
    limits = Limits(max_values_per_span=1000)
    span = wrap(2, wrap(9, b"") * 990 + wrap(5, b"n" * 300_000))
    for spans, too_many in ((4, False), (5, True)):
        body = wrap(1, wrap(2, span * spans))
        ((_, scope),) = open_request(body, 10).scopes()
        pieces = RequestParser(body, Signal.TRACES, limits).parse(scope)
        with pytest.raises(TooLarge) if too_many else contextlib.nullcontext():
            assert len(list(pieces)) == spans

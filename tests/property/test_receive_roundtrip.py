"""Valid requests survive: nothing is lost on the way in, in either encoding."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable

from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from otel_raglog.model import Batch
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json
from otel_raglog.receive.span import decode_span

MARKERS = Markers((b"gen_ai.", b"openinference."), (b"R",))

# A busy machine is no failure.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
name = st.sampled_from(["gen_ai.x", "openinference.span.kind", "raglog.verdict", "http.x", "a"])
uint64 = st.integers(0, (1 << 64) - 1)
uint32 = st.integers(0, (1 << 32) - 1)
span_ids = st.binary(min_size=8, max_size=8).filter(any)
trace_ids = st.binary(min_size=16, max_size=16).filter(any)

values = st.recursive(
    st.one_of(
        st.builds(AnyValue),
        st.builds(AnyValue, string_value=texts),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue, int_value=st.integers(-(1 << 63), (1 << 63) - 1)),
        st.builds(AnyValue, double_value=st.floats(allow_nan=False)),
        st.builds(AnyValue, bytes_value=st.binary(max_size=5)),
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda items: AnyValue(array_value=ArrayValue(values=items)),
            st.lists(inner, max_size=3),
        ),
        st.builds(
            lambda pairs: AnyValue(kvlist_value=KeyValueList(values=pairs)),
            st.lists(st.builds(KeyValue, key=texts, value=inner), max_size=3),
        ),
    ),
    max_leaves=5,
)
attributes = st.lists(st.builds(KeyValue, key=name, value=values), max_size=4)
spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    parent_span_id=st.one_of(st.just(b""), st.just(bytes(8)), span_ids),
    trace_state=texts,
    flags=st.sampled_from([0, 1, 0x100, 0x301]),
    name=st.sampled_from(["Retriever", "other"]),
    kind=st.integers(0, 5),
    start_time_unix_nano=uint64,
    end_time_unix_nano=uint64,
    attributes=attributes,
    dropped_attributes_count=uint32,
    events=st.lists(
        st.builds(Span.Event, name=name, time_unix_nano=uint64, attributes=attributes), max_size=2
    ),
    dropped_events_count=uint32,
    links=st.lists(
        st.builds(Span.Link, trace_id=trace_ids, span_id=span_ids, attributes=attributes),
        max_size=2,
    ),
    status=st.builds(Status, code=st.integers(0, 2), message=texts),
)
requests = st.builds(
    ExportTraceServiceRequest,
    resource_spans=st.lists(
        st.builds(
            ResourceSpans,
            resource=st.builds(Resource, attributes=attributes, dropped_attributes_count=uint32),
            schema_url=texts,
            scope_spans=st.lists(
                st.builds(
                    ScopeSpans,
                    scope=st.builds(InstrumentationScope, name=texts, attributes=attributes),
                    schema_url=texts,
                    spans=st.lists(spans, max_size=3),
                ),
                max_size=2,
            ),
        ),
        max_size=2,
    ),
)
unknown_fields = st.binary(max_size=4).map(lambda data: b"\xc2\x3e" + bytes([len(data)]) + data)


def to_otlp_json(request: ExportTraceServiceRequest) -> bytes:
    """Encode as OTLP/JSON with protobuf's own encoder, ids turned from base64 to hex."""
    data = json_format.MessageToDict(request, use_integers_for_enums=True)

    def turn(node: object) -> object:
        if isinstance(node, list):
            return [turn(item) for item in node]
        if not isinstance(node, dict):
            return node
        return {
            key: base64.b64decode(value).hex()
            if key in {"traceId", "spanId", "parentSpanId"}
            else turn(value)
            for key, value in node.items()
        }

    return json.dumps(turn(data)).encode()


def contents(request: ExportTraceServiceRequest) -> Counter[tuple[bytes, bytes, bytes]]:
    """Every span with its resource and scope, as bytes that hold unknown fields too."""
    found: Counter[tuple[bytes, bytes, bytes]] = Counter()
    for resource_spans in request.resource_spans:
        resource = ResourceSpans.FromString(resource_spans.SerializeToString())
        resource.ClearField("scope_spans")
        for scope_spans in resource_spans.scope_spans:
            scope = ScopeSpans.FromString(scope_spans.SerializeToString())
            scope.ClearField("spans")
            for span in scope_spans.spans:
                found[
                    resource.SerializeToString(),
                    scope.SerializeToString(),
                    span.SerializeToString(),
                ] += 1
    return found


def regroup(batch: Batch) -> ExportTraceServiceRequest:
    """Put spans of equal origin together again, the way exporters do: by concatenation."""
    request = ExportTraceServiceRequest()
    for origin in {span.origin for span in batch.spans}:
        resource_spans = request.resource_spans.add()
        resource_spans.MergeFromString(origin.resource)
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.MergeFromString(origin.scope)
        for span in batch.spans:
            if span.origin == origin:
                scope_spans.spans.add().MergeFromString(span.raw)
    return request


@patiently
@given(requests, unknown_fields)
def test_regrouping_gives_the_same_spans(
    request: ExportTraceServiceRequest, unknown: bytes
) -> None:
    """Resource, scope and span are the same messages, unknown fields included."""
    for resource_spans in request.resource_spans:
        resource_spans.MergeFromString(unknown)
        for scope_spans in resource_spans.scope_spans:
            scope_spans.MergeFromString(unknown)
            for span in scope_spans.spans:
                span.MergeFromString(unknown)
    batch = split_protobuf(request.SerializeToString(), Limits(), MARKERS)
    assert batch.rejected == {}
    assert contents(regroup(batch)) == contents(request)


@patiently
@given(requests)
def test_both_encodings_give_the_same_spans(request: ExportTraceServiceRequest) -> None:
    """Headers, origins, bytes and decoded spans are equal."""
    by_protobuf = split_protobuf(request.SerializeToString(), Limits(), MARKERS)
    by_json = split_json(to_otlp_json(request), Limits(), MARKERS)
    assert by_json == by_protobuf
    for left, right in zip(by_json.spans, by_protobuf.spans, strict=True):
        assert decode_span(left) == decode_span(right)


def plain_attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    """Read attributes the slow way."""
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: AnyValue) -> object:
    """Read a value the slow way."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(plain(item) for item in value.array_value.values)
    if kind == "kvlist_value":
        return plain_attributes(value.kvlist_value.values)
    return None if kind is None else getattr(value, kind)


@patiently
@given(requests)
def test_a_decoded_span_says_what_the_message_says(request: ExportTraceServiceRequest) -> None:
    """Compared with opentelemetry-proto's own reading of the bytes."""
    batch = split_protobuf(request.SerializeToString(), Limits(), MARKERS)
    for wire in batch.spans:
        message = Span.FromString(wire.raw)
        span = decode_span(wire)
        assert (span.name, span.kind) == (message.name, message.kind)
        assert span.start_unix_nano == message.start_time_unix_nano
        assert span.end_unix_nano == message.end_time_unix_nano
        assert span.attributes == plain_attributes(message.attributes)
        assert [(event.name, event.attributes) for event in span.events] == [
            (event.name, plain_attributes(event.attributes)) for event in message.events
        ]

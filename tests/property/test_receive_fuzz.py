"""Arbitrary bytes never crash what reads them: they are read, or refused as BadInput."""

from __future__ import annotations

import contextlib
import gzip
import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_raglog.errors import BadInput
from otel_raglog.model import Batch, Origin, WireSpan
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.inflate import inflate
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json
from otel_raglog.receive.span import decode_span

MARKERS = Markers((b"gen_ai.",), (b"R",))

# A busy machine is no failure.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

LIMITS = Limits(max_request_bytes=100_000, max_spans_per_request=50)


def valid_request() -> bytes:
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add(schema_url="s")
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "bot"
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "scope"
    for number in range(3):
        span = scope_spans.spans.add(
            trace_id=b"t" * 16, span_id=bytes([number + 1] * 8), name="n", flags=0x300
        )
        values = span.attributes.add(key="gen_ai.x").value.array_value.values
        values.add().double_value = 0.5
        span.attributes.add(key="m").value.kvlist_value.values.add(key="k").value.int_value = -1
        span.events.add(name="e", time_unix_nano=5).attributes.add(key="raglog.x")
        span.links.add(trace_id=b"l" * 16, span_id=b"l" * 8)
        span.status.code = 2
    return request.SerializeToString()


VALID = valid_request()

mutations = st.lists(
    st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 2), st.binary(max_size=4)),
    min_size=1,
    max_size=6,
)


def mutate(body: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """Overwrite, insert or cut at the given places."""
    data = bytearray(body)
    for place, kind, new in changes:
        at = min(place, len(data))
        if kind == 0:
            data[at : at + len(new)] = new
        elif kind == 1:
            data[at:at] = new
        else:
            del data[at : at + len(new)]
    return bytes(data)


def decode_all(batch: Batch) -> None:
    """What passed the door can always be decoded."""
    for span in batch.spans:
        decode_span(span, 1000)


@patiently
@given(st.binary(max_size=300))
def test_any_bytes_as_protobuf(body: bytes) -> None:
    """Random bytes, as protobuf."""
    with contextlib.suppress(BadInput):
        decode_all(split_protobuf(body, LIMITS, MARKERS))


@patiently
@given(mutations)
def test_a_damaged_request_as_protobuf(changes: list[tuple[int, int, bytes]]) -> None:
    """A valid request with a few bytes changed gets further into the reader."""
    with contextlib.suppress(BadInput):
        decode_all(split_protobuf(mutate(VALID, changes), LIMITS, MARKERS))


@patiently
@given(st.binary(max_size=300))
def test_any_bytes_as_json(body: bytes) -> None:
    """Random bytes, as JSON."""
    with contextlib.suppress(BadInput):
        decode_all(split_json(body, LIMITS, MARKERS))


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
keys = st.sampled_from(
    [
        *("resource", "scope", "attributes", "key", "value", "stringValue", "intValue", "kind"),
        *("doubleValue", "bytesValue", "boolValue", "arrayValue", "kvlistValue", "values", "links"),
        *("traceId", "spanId", "parentSpanId", "events", "status", "code", "flags", "name"),
        *("startTimeUnixNano", "schemaUrl", "entityRefs", "idKeys", "droppedEventsCount"),
    ]
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@patiently
@given(
    st.dictionaries(keys, json_values, max_size=6),
    st.dictionaries(keys, json_values, max_size=3),
)
def test_any_json_of_known_keys(span: dict[str, object], scope: dict[str, object]) -> None:
    """Values of the wrong kind anywhere are refused as BadInput."""
    ids = {"traceId": "ab" * 16, "spanId": "cd" * 8}
    wrapped = {"resourceSpans": [{**scope, "scopeSpans": [{**scope, "spans": [{**ids, **span}]}]}]}
    with contextlib.suppress(BadInput):
        decode_all(split_json(json.dumps(wrapped).encode(), LIMITS, MARKERS))


@patiently
@given(st.binary(max_size=100), st.sampled_from(["gzip", "deflate", "identity", "br"]))
def test_any_bytes_as_compressed_data(body: bytes, encoding: str) -> None:
    """Whatever comes out is within the limit."""
    with contextlib.suppress(BadInput):
        assert len(inflate(body, encoding, 50)) <= 50


PACKED = gzip.compress(VALID, mtime=0)


@patiently
@given(mutations)
def test_damaged_gzip(changes: list[tuple[int, int, bytes]]) -> None:
    """A checksum guards the data: what comes out is what went in."""
    with contextlib.suppress(BadInput):
        inflate(mutate(PACKED, changes), "gzip", 100_000)


@patiently
@given(st.binary(max_size=100), st.binary(max_size=30), st.binary(max_size=30))
def test_any_bytes_as_a_wire_span(raw: bytes, resource: bytes, scope: bytes) -> None:
    """Wire spans that did not come through our doors are decoded or refused."""
    wire = WireSpan(b"", b"", b"", False, False, False, False, Origin(b"", b""), raw)
    for spans in (wire, replace(wire, origin=Origin(resource, scope))):
        with contextlib.suppress(BadInput):
            decode_span(spans, 10)

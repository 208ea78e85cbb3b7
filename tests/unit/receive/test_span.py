"""The decoded span that analysis reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, WireSpan
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.span import MAX_NUMBERS, decode_span


@pytest.fixture
def to_wire(pack, markers: Markers):
    """Sends a span through the door."""

    def send(span: ProtoSpan) -> WireSpan:
        (wire,) = split_protobuf(pack(span), Limits(), markers).spans
        return wire

    return send


def test_all_fields_are_decoded(make_span, to_wire) -> None:
    """Nothing that the model has is left out."""
    span = make_span(
        parent_span_id=b"parentid",
        name="answer",
        kind=3,
        start_time_unix_nano=10,
        end_time_unix_nano=20,
        dropped_attributes_count=4,
        dropped_events_count=5,
        events=[ProtoSpan.Event(name="e", time_unix_nano=15)],
        links=[ProtoSpan.Link(trace_id=b"l" * 16, span_id=b"linkspan")],
    )
    span.status.code = 2
    span.status.message = "broken"
    span.attributes.add(key="a").value.double_value = 0.5
    span.events[0].attributes.add(key="b").value.bytes_value = b"\x00"
    span.links[0].attributes.add(key="c").value.bool_value = True
    decoded = decode_span(to_wire(span))
    assert (decoded.trace_id, decoded.span_id) == (span.trace_id, b"spanspan")
    assert decoded.parent_id == b"parentid"
    assert (decoded.name, decoded.kind) == ("answer", 3)
    assert (decoded.start_unix_nano, decoded.end_unix_nano) == (10, 20)
    assert (decoded.dropped_attributes_count, decoded.dropped_events_count) == (4, 5)
    assert (decoded.status_code, decoded.status_message) == (2, "broken")
    assert decoded.attributes == {"a": 0.5}
    assert (decoded.events[0].name, decoded.events[0].time_unix_nano) == ("e", 15)
    assert decoded.events[0].attributes == {"b": b"\x00"}
    assert (decoded.links[0].span_id, decoded.links[0].attributes) == (b"linkspan", {"c": True})
    assert (decoded.scope_name, decoded.scope_version) == ("the scope", "1.2")
    assert decoded.resource == {"service.name": "bot"}
    assert decoded.truncated_keys == frozenset()


def test_a_long_text_is_cut_between_characters_and_named(make_span, to_wire) -> None:
    """Half a character would look like damage."""
    span = make_span()
    span.attributes.add(key="text").value.string_value = "abc"
    span.attributes.add(key="long").value.string_value = "aéééé"
    decoded = decode_span(to_wire(span), max_value_bytes=4)
    assert decoded.attributes["text"] == "abc"
    assert decoded.attributes["long"] == "aé"
    assert decoded.truncated_keys == {"long"}


def test_a_prompt_of_200_kilobytes_is_whole(make_span, to_wire) -> None:
    """The default is generous, since cut prompts mislead the checks."""
    span = make_span()
    span.attributes.add(key="prompt").value.string_value = "x" * 200_000
    decoded = decode_span(to_wire(span))
    assert len(decoded.attributes["prompt"]) == 200_000
    assert decoded.truncated_keys == frozenset()


def test_a_vector_is_cut_and_named(make_span, to_wire) -> None:
    """Vectors are not analysed, so their cost is bounded; texts in arrays are kept."""
    span = make_span()
    vector = span.attributes.add(key="vector").value.array_value.values
    texts = span.attributes.add(key="texts").value.array_value.values
    for number in range(1536):
        vector.add().double_value = number
        texts.add().string_value = str(number)
    decoded = decode_span(to_wire(span))
    assert decoded.attributes["vector"] == tuple(float(n) for n in range(MAX_NUMBERS))
    assert len(decoded.attributes["texts"]) == 1536
    assert decoded.truncated_keys == {"vector"}


def test_each_kind_of_value_stays_what_it_is(make_span, to_wire) -> None:
    """Zeros, empty texts and values without a kind are told apart, alone and in an array."""
    span = make_span()
    kinds = {
        "string_value": "", "bool_value": False, "int_value": 0, "double_value": 0.0,
        "bytes_value": b"",
    }  # fmt: skip
    mixed = span.attributes.add(key="mixed").value.array_value.values
    for kind, value in kinds.items():
        setattr(span.attributes.add(key=kind).value, kind, value)
        setattr(mixed.add(), kind, value)
    mixed.add()
    span.attributes.add(key="none")
    decoded = dict(decode_span(to_wire(span)).attributes)
    assert repr(decoded.pop("mixed")) == repr((*kinds.values(), None))
    assert repr(decoded) == repr({**kinds, "none": None})


def test_a_cut_value_inside_an_event_is_named(make_span, to_wire) -> None:
    """The key is that of the event's attribute."""
    event = ProtoSpan.Event(name="e")
    event.attributes.add(key="documents").value.string_value = "x" * 100
    decoded = decode_span(to_wire(make_span(events=[event])), max_value_bytes=50)
    assert decoded.truncated_keys == {"documents"}


def test_invalid_utf8_is_replaced(make_span, pack, markers: Markers) -> None:
    """Names, keys and values of any bytes become text."""
    body = pack(make_span(name="marker")).replace(b"marker", b"m\xffrker")
    (wire,) = split_protobuf(body, Limits(), markers).spans
    assert decode_span(wire).name == "m\ufffdrker"


def test_a_parent_id_of_zeros_is_none(make_span, to_wire) -> None:
    """The decoded span agrees with the header."""
    assert decode_span(to_wire(make_span(parent_span_id=bytes(8)))).parent_id == b""


def test_spans_of_one_origin_share_their_resource(make_span, to_wire) -> None:
    """It is decoded once."""
    first, second = (decode_span(to_wire(make_span())) for _ in range(2))
    assert first.resource is second.resource


def test_a_shared_resource_cannot_be_changed(make_span, to_wire) -> None:
    """It belongs to many spans."""
    with pytest.raises(TypeError):
        decode_span(to_wire(make_span())).resource["x"] = 1  # type: ignore[index]


def test_bytes_that_are_no_span_are_bad_input(make_span, to_wire) -> None:
    """A wire span may come from elsewhere than our doors."""
    wire = to_wire(make_span())
    with pytest.raises(BadInput):
        decode_span(replace(wire, raw=b"\xff"))
    with pytest.raises(BadInput):
        decode_span(replace(wire, origin=Origin(b"\xff", b"")))
    with pytest.raises(BadInput):
        decode_span(replace(wire, origin=Origin(b"\xff" * 100_000, b"")))

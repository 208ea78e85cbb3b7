"""What a wire span tells about its span."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.model import WireSpan
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers

PARENT = b"parentid"


@pytest.fixture
def read(make_span, pack, markers: Markers):
    """Builds a span from fields and attributes, and reads its header."""

    def read_span(*keys: str, **fields: object) -> WireSpan:
        span = make_span(**{"parent_span_id": PARENT, **fields})
        for key in keys:
            span.attributes.add(key=key).value.bool_value = True
        (wire,) = split_protobuf(pack(span), Limits(), markers).spans
        return wire

    return read_span


def test_a_plain_child_span_is_not_held(read) -> None:
    """Without a marker it cannot belong to a run, so it does not wait."""
    assert not read("http.method").held


def test_a_span_without_a_parent_is_held(read) -> None:
    """A root may belong to a run whatever its attributes."""
    assert read(parent_span_id=b"").held


def test_a_parent_id_of_zeros_is_none(read) -> None:
    """Some SDKs write zeros where others write nothing."""
    wire = read(parent_span_id=bytes(8))
    assert wire.parent_id == b""
    assert wire.held


@pytest.mark.parametrize("fields", [{"name": "Retriever.query"}])
def test_a_marked_name_is_held(fields: dict[str, object], read) -> None:
    """Some instrumentations mark spans by name alone."""
    assert read(**fields).held


@pytest.mark.parametrize("key", ["openinference.span.kind", "gen_ai.operation.name"])
def test_a_marked_attribute_is_held(key: str, read) -> None:
    """Any attribute in a known vocabulary marks the span."""
    assert read("first", key).held


@pytest.mark.parametrize(
    "event",
    [
        Span.Event(name="gen_ai.choice"),
        Span.Event(name="e", attributes=[{"key": "gen_ai.prompt"}]),
    ],
)
def test_a_marked_event_is_held(event: Span.Event, read) -> None:
    """Names and attribute keys of events count too."""
    assert read(events=[event]).held


@pytest.mark.parametrize(
    ("flags", "remote"), [(0, False), (0x100, False), (0x200, False), (0x301, True)]
)
def test_a_remote_parent_needs_both_flags(flags: int, remote: bool, read) -> None:
    """OTLP has one bit for "known" and one for "remote"."""
    wire = read(flags=flags)
    assert wire.remote_parent is remote
    assert wire.held is remote


def test_the_application_can_finish_its_run(read) -> None:
    """The attribute raglog.run.finished does, and is from our namespace."""
    wire = read("raglog.run.finished")
    assert wire.finishes_run
    assert wire.spoofed


def test_a_run_marked_as_not_finished_is_not(make_span, pack, markers: Markers) -> None:
    """The value false says the opposite."""
    span = make_span()
    span.attributes.add(key="raglog.run.finished").value.bool_value = False
    (wire,) = split_protobuf(pack(span), Limits(), markers).spans
    assert not wire.finishes_run


@pytest.mark.parametrize(
    "fields",
    [
        {"events": [Span.Event(name="gen_ai.evaluation.result")]},
        {"events": [Span.Event(name="e", attributes=[{"key": "raglog.verdict"}])]},
        {"attributes": [{"key": "raglog.verdict"}]},
    ],
)
def test_our_namespace_from_outside_is_spoofed(fields: dict[str, object], read) -> None:
    """Attributes and events that look like ours are marked for removal."""
    assert read(**fields).spoofed


def test_other_namespaces_are_not_spoofed(read) -> None:
    """A prefix is more than a beginning of the same letters."""
    assert not read("raglogger.x", "app.raglog.x").spoofed

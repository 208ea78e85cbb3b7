"""Spans without what pretends to be ours."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.errors import BadInput
from otel_raglog.receive.namespace import strip_namespace

UNKNOWN = b"\xc2\x3e\x03new"
GROUP = b"\x9b\x06\x08\x01\x9c\x06"


def evaluation(name: str) -> Span.Event:
    event = Span.Event(name="gen_ai.evaluation.result", time_unix_nano=1)
    event.attributes.add(key="gen_ai.evaluation.name").value.string_value = name
    return event


def test_our_attributes_and_verdicts_go_and_all_else_stays(make_span) -> None:
    """Verdict events of others stay, and so do unknown fields, in their order."""
    honest = make_span(events=[Span.Event(name="e"), evaluation("relevance")])
    honest.attributes.add(key="a").value.int_value = 1
    raw = honest.SerializeToString()
    spoofed = Span(events=[evaluation("raglog.generator")])
    spoofed.attributes.add(key="raglog.verdict").value.string_value = "ok"
    forged = UNKNOWN + spoofed.SerializeToString() + GROUP + raw
    assert strip_namespace(forged) == UNKNOWN + GROUP + raw


def test_an_honest_span_is_not_changed(make_span) -> None:
    """Values and words that only resemble ours are no reason."""
    span = make_span(name="raglog.", attributes=[{"key": "raglogger"}, {"key": "a.raglog.b"}])
    span.attributes.add(key="a").value.string_value = "raglog."
    raw = span.SerializeToString()
    assert strip_namespace(raw) == raw


@pytest.mark.parametrize("attribute", [b"\x12\x00\x0a\x08raglog.x", b"\x0a\x01a\x0a\x08raglog.x"])
def test_the_key_that_peers_read_counts(attribute: bytes, wrap) -> None:
    """Wherever it stands in the attribute's bytes."""
    assert strip_namespace(wrap(5, b"n") + wrap(9, attribute)) == wrap(5, b"n")


def test_bytes_that_are_no_message_are_bad_input() -> None:
    """Spans that came through the doors never are."""
    with pytest.raises(BadInput):
        strip_namespace(b"\x4a\x05")

"""A parsed span to its header: why it is refused, or what holding and trust need to know."""

from __future__ import annotations

import re
from typing import NamedTuple

from otel_raglog.errors import BadInput
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.markers import RUN_FINISHED_KEY
from otel_raglog.receive.parsing import has_other_types
from otel_raglog.receive.traits import Traits
from otel_raglog.wire import LENGTH_DELIMITED, VARINT, fields

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
NO_TRACE_ID = bytes(TRACE_ID_BYTES)
NO_SPAN_ID = bytes(SPAN_ID_BYTES)
PARENT_IS_REMOTE = 0x300
"""The flags "known whether the parent is remote" and "it is"."""

_METRIC_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_.:/ -]*")
_DATA_POINTS = 1


class Header(NamedTuple):
    """What is read of a span at the door; see :class:`~otel_raglog.model.WireSpan`."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    remote_parent: bool
    held: bool
    finishes_run: bool
    spoofed: bool


def read_header(span: thin.Span, traits: Traits, names: tuple[bytes, ...]) -> Header:
    """Return the header of a span that :func:`refusal` accepts.

    A parent id of eight zero bytes is an empty one. Spans whose names begin with one of ``names``
    are held, too.
    """
    parent_id = span.parent_span_id if span.parent_span_id != NO_SPAN_ID else b""
    remote = span.flags & PARENT_IS_REMOTE == PARENT_IS_REMOTE
    return Header(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=parent_id,
        remote_parent=remote,
        held=traits.marked or remote or not parent_id or span.name.startswith(names),
        finishes_run=traits.may_finish and _finishes_run(span),
        spoofed=traits.spoofed,
    )


def refusal(span: thin.Span) -> str | None:
    """Return why a span cannot be accepted, as a snake_case word; ``None`` if it can.

    Links with ids of a wrong length are refused too: a backend answers them by refusing the
    whole request, which holds the spans of others.
    """
    if len(span.trace_id) != TRACE_ID_BYTES or span.trace_id == NO_TRACE_ID:
        return "invalid_trace_id"
    if len(span.span_id) != SPAN_ID_BYTES or span.span_id == NO_SPAN_ID:
        return "invalid_span_id"
    if len(span.parent_span_id) not in {0, SPAN_ID_BYTES}:
        return "invalid_parent_span_id"
    for link in span.links:
        if len(link.trace_id) not in {0, TRACE_ID_BYTES}:
            return "invalid_link"
        if len(link.span_id) not in {0, SPAN_ID_BYTES}:
            return "invalid_link"
    return None


def check_is_span(span: thin.Span) -> None:
    """Raise BadInput when a message is no span but a log record, a metric or a profile.

    One with a start time is a span: the others have no 64-bit number under its field number.
    Most of their fields have other types than a span's of the same number.
    """
    if span.start_time_unix_nano:
        return
    if has_other_types(span) or _is_metric(span):
        raise BadInput("this is not a span; are these logs or metrics?")


def _is_metric(span: thin.Span) -> bool:
    """Tell a metric all of whose fields have a span's types; its name may be as long as an id.

    A gauge has its data where a span has its name, a histogram where it has an attribute, a
    summary where it has an event. No real span has neither time nor kind, an id that reads as a
    metric's name, and a name of data points.
    """
    if span.end_time_unix_nano or span.kind or not _METRIC_NAME.fullmatch(span.trace_id):
        return False
    attributes, events = span.attributes, span.events
    return (
        (bool(span.name) and _holds_data_points(span.name))
        or (len(attributes) == 1 and _holds_data_points(attributes[0].SerializeToString()))
        or (len(events) == 1 and has_other_types(events[0]))
    )


def _holds_data_points(data: bytes) -> bool:
    """Tell whether ``data`` is a gauge or a histogram: messages, and how they are aggregated."""
    others: list[int] = []
    points = 0
    try:
        for number, wire_type, _, payload, end in fields(data, 0, len(data)):
            if number == _DATA_POINTS and wire_type == LENGTH_DELIMITED:
                points += sum(1 for _ in fields(data, payload, end))
            else:
                others.append(wire_type)
    except BadInput:
        return False
    return points > 0 and set(others) <= {VARINT}


def _finishes_run(span: thin.Span) -> bool:
    return any(
        attribute.key == RUN_FINISHED_KEY and not _is_false(attribute.value)
        for attribute in span.attributes
    )


def _is_false(value: thin.AnyValue) -> bool:
    return value.WhichOneof("value") == "bool_value" and not value.bool_value

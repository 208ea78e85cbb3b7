"""A parsed span to its wire span: valid ids, and what holding and trust need to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.unknown_fields import UnknownFieldSet

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, WireSpan
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.markers import EVALUATION_EVENT, OWN_PREFIX, RUN_FINISHED_KEY, Markers

_TRACE_ID_BYTES = 16
_SPAN_ID_BYTES = 8
_NO_SPAN_ID = bytes(_SPAN_ID_BYTES)
_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200
_PARENT_IS_REMOTE = _HAS_IS_REMOTE | _IS_REMOTE
_LAST_KNOWN_FIELD = 16


def refusal(span: thin.Span) -> str | None:
    """Return why a span cannot be accepted, as a snake_case word; ``None`` if it can.

    Links with ids of a wrong length are refused too: a backend answers them by refusing the
    whole request, which holds the spans of others.
    """
    if not _is_id(span.trace_id, _TRACE_ID_BYTES):
        return "invalid_trace_id"
    if not _is_id(span.span_id, _SPAN_ID_BYTES):
        return "invalid_span_id"
    if len(span.parent_span_id) not in {0, _SPAN_ID_BYTES}:
        return "invalid_parent_span_id"
    for link in span.links:
        if len(link.trace_id) not in {0, _TRACE_ID_BYTES}:
            return "invalid_link"
        if len(link.span_id) not in {0, _SPAN_ID_BYTES}:
            return "invalid_link"
    return None


def _is_id(value: bytes, length: int) -> bool:
    return len(value) == length and any(value)


def check_is_span(span: thin.Span) -> None:
    """Raise BadInput when a message is not a span at all, such as a log record or a metric.

    Their fields have other types under a span's field numbers, which protobuf keeps as unknown.
    """
    unknown = UnknownFieldSet(span)
    numbers = (unknown[index].field_number for index in range(len(unknown)))
    if any(number <= _LAST_KNOWN_FIELD for number in numbers):
        raise BadInput("this is not a span; are these logs or metrics?")


def read_header(
    span: thin.Span, raw: bytes, origin: Origin, markers: Markers, max_nesting_depth: int
) -> WireSpan:
    """Return the wire span of a span that :func:`refusal` accepts; ``raw`` are its bytes.

    A parent id of eight zero bytes is an empty one.

    Raises:
        BadInput: a value is nested more than ``max_nesting_depth`` deep.
    """
    parent_id = span.parent_span_id if span.parent_span_id != _NO_SPAN_ID else b""
    remote_parent = span.flags & _PARENT_IS_REMOTE == _PARENT_IS_REMOTE
    marked = not parent_id or remote_parent or span.name.startswith(markers.names)
    finishes = spoofed = False
    for attribute in span.attributes:
        key = attribute.key
        if key.startswith(OWN_PREFIX):
            spoofed = True
            finishes = finishes or (key == RUN_FINISHED_KEY and not _is_false(attribute.value))
        elif not marked and key.startswith(markers.key_prefixes):
            marked = True
    for key in _event_keys(span):
        spoofed = spoofed or key == EVALUATION_EVENT or key.startswith(OWN_PREFIX)
        marked = marked or key.startswith(markers.key_prefixes)
    check_depth(span.attributes, max_nesting_depth)
    for event in span.events:
        check_depth(event.attributes, max_nesting_depth)
    for link in span.links:
        check_depth(link.attributes, max_nesting_depth)
    return WireSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=parent_id,
        remote_parent=remote_parent,
        held=marked,
        finishes_run=finishes,
        spoofed=spoofed,
        origin=origin,
        raw=raw,
    )


def _event_keys(span: thin.Span) -> Iterator[bytes]:
    """Yield the names of a span's events and the keys of their attributes."""
    for event in span.events:
        yield event.name
        for attribute in event.attributes:
            yield attribute.key


def _is_false(value: thin.AnyValue) -> bool:
    return value.WhichOneof("value") == "bool_value" and not value.bool_value


def check_depth(attributes: Iterable[thin.KeyValue], levels: int) -> None:
    """Raise BadInput when a value has more than ``levels`` arrays and maps inside each other."""
    for attribute in attributes:
        _check_value_depth(attribute.value, levels)


def _check_value_depth(value: thin.AnyValue, levels: int) -> None:
    kind = value.WhichOneof("value")
    if kind not in {"array_value", "kvlist_value"}:
        return
    if levels == 0:
        raise BadInput("an attribute's value is nested too deep")
    if kind == "kvlist_value":
        check_depth(value.kvlist_value.values, levels - 1)
        return
    for item in value.array_value.values:
        _check_value_depth(item, levels - 1)

"""The bytes of an OTLP trace request to wire spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from google.protobuf.message import DecodeError

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Batch, Origin, RawSpan, WireSpan
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.header import check_depth, check_is_span, read_header, refusal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.wire import LENGTH_DELIMITED, Shape, fields, holds_more_values_than

_RESOURCE_SPANS = 1  # of ExportTraceServiceRequest
_WRAPPED = 2  # ResourceSpans.scope_spans and ScopeSpans.spans
_SMALL_BYTES = 256 * 1024
"""Below this, parsed values cost a few megabytes at most and are not worth counting."""
_FIELDS_PER_SPAN = 4
"""Envelope fields allowed per allowed span, so that empty envelopes cost little as well."""


def split_protobuf(body: bytes, limits: Limits, markers: Markers) -> Batch:
    """Return the spans of a serialized ``ExportTraceServiceRequest`` (or ``TracesData``).

    Spans with invalid ids are left out and counted by reason; all others keep their own bytes.
    Spans of equal resource and scope share one :class:`Origin`.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: these are not OTLP traces, or a value is nested too deep.
    """
    if len(body) > limits.max_request_bytes:
        raise TooLarge(f"request of more than {limits.max_request_bytes} bytes")
    spans: list[WireSpan] = []
    rejected: Counter[str] = Counter()
    checked: set[bytes | Origin] = set()
    for origin, raw in list(_open_envelopes(body, limits)):
        if origin not in checked:
            _check_origin(origin, checked, limits)
        span = parse_span(raw, limits)
        reason = refusal(span)
        if reason is None:
            spans.append(read_header(span, raw, origin, markers, limits.max_nesting_depth))
        else:
            rejected[reason] += 1
    return Batch(tuple(spans), dict(rejected))


def parse_span(raw: bytes, limits: Limits) -> thin.Span:
    """Return the parsed span, after making sure that it is one and not too large in memory."""
    _check_size(raw, Shape.SPAN, limits)
    try:
        span = thin.Span.FromString(raw)
    except DecodeError as error:
        raise BadInput(f"malformed span: {error}") from error
    check_is_span(span)
    return span


def _open_envelopes(body: bytes, limits: Limits) -> Iterator[RawSpan]:
    """Yield every span of a request; stop with TooLarge before more than ``limits`` allow."""
    budget = _Budget(limits.max_spans_per_request)
    origins: dict[Origin, Origin] = {}
    for number, wire_type, _, start, end in fields(body, 0, len(body)):
        budget.count_field()
        if number != _RESOURCE_SPANS or wire_type != LENGTH_DELIMITED:
            continue
        resource, scopes = _unwrap(body, (start, end), budget.count_field, budget.count_field)
        for place in scopes:
            scope, spans = _unwrap(body, place, budget.count_field, budget.count_span)
            origin = Origin(resource, scope)
            origin = origins.setdefault(origin, origin)
            for span_start, span_end in spans:
                yield RawSpan(origin, body[span_start:span_end])


class _Budget:
    """Counts spans and the fields of envelopes, and stops at the limit."""

    def __init__(self, max_spans: int) -> None:
        self._max_spans = max_spans
        self._spans_left = max_spans
        self._fields_left = max_spans * _FIELDS_PER_SPAN

    def count_field(self) -> None:
        self._fields_left -= 1
        if self._fields_left < 0:
            raise TooLarge(f"too many fields for a request of {self._max_spans} spans")

    def count_span(self) -> None:
        self._spans_left -= 1
        if self._spans_left < 0:
            raise TooLarge(f"request of more than {self._max_spans} spans")


_Place: TypeAlias = tuple[int, int]


def _unwrap(
    body: bytes,
    envelope: _Place,
    count_own: Callable[[], None],
    count_wrapped: Callable[[], None],
) -> tuple[bytes, list[_Place]]:
    """Return an envelope's own bytes, and where the messages are that it wraps."""
    own: list[bytes] = []
    wrapped: list[_Place] = []
    for number, wire_type, begin, payload, after in fields(body, *envelope):
        if number == _WRAPPED and wire_type == LENGTH_DELIMITED:
            count_wrapped()
            wrapped.append((payload, after))
        else:
            count_own()
            own.append(body[begin:after])
    return b"".join(own), wrapped


def _check_origin(origin: Origin, checked: set[bytes | Origin], limits: Limits) -> None:
    """Make sure that both envelopes parse: a broken one would spoil the request it leaves in."""
    try:
        if origin.resource not in checked:
            _check_size(origin.resource, Shape.RESOURCE_SPANS, limits)
            resource = thin.ResourceEnvelope.FromString(origin.resource).resource
            check_depth(resource.attributes, limits.max_nesting_depth)
            checked.add(origin.resource)
        _check_size(origin.scope, Shape.SCOPE_SPANS, limits)
        scope = thin.ScopeEnvelope.FromString(origin.scope).scope
        check_depth(scope.attributes, limits.max_nesting_depth)
    except DecodeError as error:
        raise BadInput(f"malformed resource or scope: {error}") from error
    checked.add(origin)


def _check_size(raw: bytes, shape: Shape, limits: Limits) -> None:
    if len(raw) <= _SMALL_BYTES:
        return
    if holds_more_values_than(limits.max_values_per_span, raw, shape):
        raise TooLarge(f"span or resource of more than {limits.max_values_per_span} values")

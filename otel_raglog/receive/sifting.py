"""The bytes of an OTLP trace request to what becomes of its spans: pass, wait, or refused.

This is the hot path: a request whose spans all pass costs no object per span. Places of spans
come from :mod:`envelopes`, ids from protobuf's parse, words from :mod:`traits`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from otel_raglog.errors import TooLarge
from otel_raglog.model import Headers, Origin, RawSpan, Signal, WireSpan
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.envelopes import (
    Opened,
    Place,
    Resource,
    Scope,
    join_places,
    open_request,
)
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.marking_values import MarkingValues
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog.receive.parsing import RequestParser
from otel_raglog.receive.span_header import (
    NO_SPAN_ID,
    NO_TRACE_ID,
    PARENT_IS_REMOTE,
    SPAN_ID_BYTES,
    TRACE_ID_BYTES,
    Header,
    check_is_span,
    read_header,
    refusal,
)
from otel_raglog.receive.traits import TraitReader, reduce_spans

_BYTES_PER_VALUE = 8
"""Roughly; hostile ones have two, usual ones thirty."""


class _Kept(NamedTuple):
    """A span that was looked at, and where it is."""

    ordinal: int
    header: Header
    resource: Resource
    scope: Scope
    place: Place


@dataclass(frozen=True, slots=True)
class Sifted:
    """What becomes of the spans of one request.

    ``rejected`` counts spans with invalid ids by reason. ``passing`` are the ordinals of accepted
    spans that do not wait; ``None`` when the whole request passes as it is, because no span is
    held, rejected, or bears words of our namespace.
    """

    accepted: int
    rejected: Mapping[str, int]
    passing: tuple[int, ...] | None
    _body: bytes
    _opened: Opened
    _kept: tuple[_Kept, ...]
    _spoofed: frozenset[int]

    def held(self, request: int, headers: Headers) -> tuple[WireSpan, ...]:
        """Return the spans that wait, of the request journalled as number ``request``.

        Those that finish a run are among them. Their bytes are copies, so the request's can be
        freed. Spans of equal resource and scope share one :class:`Origin`.
        """
        origins = _Origins(self._body)
        spans = []
        for ordinal, header, resource, scope, (start, end) in self._kept:
            origin = origins.read(resource, scope)
            raw = self._body[start:end]
            spans.append(WireSpan(*header, origin, raw, request, ordinal, headers))
        return tuple(spans)

    def passing_spans(self) -> tuple[RawSpan, ...]:
        """Return the spans that pass, as they leave: what ``pick`` returns for their ordinals.

        Nothing is walked or parsed again, but for spans with words of our namespace.
        """
        origins = _Origins(self._body)
        ordinals = range(self.accepted) if self.passing is None else self.passing
        spans: list[RawSpan] = []
        first = begin = 0
        for resource, scope in self._opened.scopes():
            after = first + len(scope.items)
            end = bisect_left(ordinals, after, begin)
            if end > begin:
                origin = origins.read(resource, scope)
                for ordinal in ordinals[begin:end]:
                    start, stop = scope.items[ordinal - first]
                    raw = self._body[start:stop]
                    if ordinal in self._spoofed:
                        raw = strip_namespace(raw)
                    spans.append(RawSpan(origin, raw))
            first, begin = after, end
        return tuple(spans)


class _Origins:
    """Reads the envelopes of scopes, and keeps one of those that are equal."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._of_scopes: dict[int, Origin] = {}
        self._of_resources: dict[int, bytes] = {}
        self._equal: dict[Origin, Origin] = {}

    def read(self, resource: Resource, scope: Scope) -> Origin:
        origin = self._of_scopes.get(id(scope))
        if origin is None:
            around = self._of_resources.get(id(resource))
            if around is None:
                around = self._of_resources[id(resource)] = join_places(self._body, resource.own)
            read = Origin(around, join_places(self._body, scope.own))
            origin = self._of_scopes[id(scope)] = self._equal.setdefault(read, read)
        return origin


class Sifter:
    """Sifts serialized ``ExportTraceServiceRequest`` (or ``TracesData``); for many threads."""

    def __init__(self, limits: Limits, markers: Markers) -> None:
        self._limits = limits
        self._names = markers.names
        self._scopes = markers.scopes
        self._traits = TraitReader(markers)
        self._values = MarkingValues(markers)

    def sift(self, body: bytes, *, keep_all: bool = False) -> Sifted:
        """Tell what becomes of the spans of ``body``; with ``keep_all`` every one is "held".

        Raises:
            TooLarge: the request is beyond the limits.
            BadInput: these are not OTLP traces, or a value is nested too deep.
        """
        if len(body) > self._limits.max_request_bytes:
            raise TooLarge(f"request of more than {self._limits.max_request_bytes} bytes")
        opened = open_request(body, self._limits.max_spans_per_request)
        parser = RequestParser(body, Signal.TRACES, self._limits)
        parser.check_envelopes(opened)
        heaps = _Heaps(keep_all=keep_all, most_values=self._limits.max_values_per_span)
        for resource, scope in opened.scopes():
            self._sift_scope(body, parser, resource, scope, heaps)
        return heaps.sifted(body, opened)

    def _sift_scope(
        self, body: bytes, parser: RequestParser, resource: Resource, scope: Scope, heaps: _Heaps
    ) -> None:
        names, mark = self._names, self._values.mark
        plain, by_value = self._traits.plain, self._traits.by_value
        scoped = self._is_marked(body, scope)
        done = 0
        for spans, piece in parser.parse(scope):
            together = zip(spans, reduce_spans(piece), strict=True)
            for index, (span, words) in enumerate(together, done):
                # The usual span of a busy service goes no further.
                usual = words in plain or (
                    words in by_value and not mark(body, *scope.items[index])
                )
                named = names and span.name.startswith(names)
                if usual and not (named or scoped or heaps.keep_all) and _is_plain(span):
                    continue
                header = self._look(span, words, body, scope.items[index], heaps)
                if scoped and isinstance(header, Header):
                    header = header._replace(held=True)
                heaps.put(header, index, resource, scope)
            done += len(spans)
        heaps.spans += len(scope.items)

    def _is_marked(self, body: bytes, scope: Scope) -> bool:
        """Tell whether all spans of a scope are held, by its name."""
        if not self._scopes:
            return False
        own = join_places(body, scope.own)
        return any(name in own for name in self._scopes)

    def _look(
        self, span: thin.Span, words: bytes, body: bytes, place: Place, heaps: _Heaps
    ) -> Header | str:
        """Return a span's header, or why it is refused."""
        start, end = place
        size = end - start
        if not span.start_time_unix_nano and heaps.may_look_at(size // _BYTES_PER_VALUE):
            check_is_span(span)
        traits = self._traits.recall(words)
        if traits is None:
            closely = heaps.may_look_at(len(words) // _BYTES_PER_VALUE)
            traits = self._traits.read(words) if closely else self._traits.guess(words)
        values = (len(span.links) if traits.links else 0) + (
            len(span.attributes) if traits.may_finish else 0
        )
        if values and not heaps.may_look_at(values):
            raise TooLarge("request of too many links, or attributes beside raglog.run.finished")
        if traits.by_value and not traits.marked and self._values.mark(body, start, end):
            traits = replace(traits, marked=True)
        reason = refusal(span)
        return reason if reason is not None else read_header(span, traits, self._names)


def _is_plain(span: thin.Span) -> bool:
    """Tell whether a span without telling words needs no closer look: it passes."""
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    return bool(
        len(trace_id) == TRACE_ID_BYTES
        and len(span_id) == len(parent_id) == SPAN_ID_BYTES
        and trace_id != NO_TRACE_ID
        and NO_SPAN_ID not in {span_id, parent_id}
        and span.start_time_unix_nano
        and span.flags & PARENT_IS_REMOTE != PARENT_IS_REMOTE
    )


class _Heaps:
    """The spans of a request so far, by what becomes of them."""

    def __init__(self, *, keep_all: bool, most_values: int) -> None:
        self.keep_all = keep_all
        self._values_left = most_values
        self.spans = 0
        """Spans of the scopes before this one."""
        self._kept: list[_Kept] = []
        self._rejected: Counter[str] = Counter()
        self._apart: set[int] = set()
        self._spoofed: set[int] = set()

    def may_look_at(self, values: int) -> bool:
        """Tell whether so many more values can be looked at singly, which is slow; count them."""
        if values > self._values_left:
            return False
        self._values_left -= values
        return True

    def put(self, header: Header | str, index: int, resource: Resource, scope: Scope) -> None:
        """Put span number ``index`` of ``scope`` where its header (or refusal) says."""
        ordinal = self.spans + index
        if isinstance(header, str):
            self._rejected[header] += 1
            self._apart.add(ordinal)
            return
        if header.spoofed:
            self._spoofed.add(ordinal)
        if header.held or header.finishes_run or self.keep_all:
            self._kept.append(_Kept(ordinal, header, resource, scope, scope.items[index]))
            self._apart.add(ordinal)

    def sifted(self, body: bytes, opened: Opened) -> Sifted:
        """Return the result."""
        passing = None
        if self._apart or self._spoofed:
            passing = tuple(n for n in range(self.spans) if n not in self._apart)
        return Sifted(
            accepted=self.spans - self._rejected.total(),
            rejected=dict(self._rejected),
            passing=passing,
            _body=body,
            _opened=opened,
            _kept=tuple(self._kept),
            _spoofed=frozenset(self._spoofed),
        )

"""Spans and what is appended to them to decisions, written down before anything is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from otel_raglog.errors import Unavailable
from otel_raglog.model import Decision, Headers, Origin, Payload, Piece, Signal, WireSpan
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog_exporters.grouping import encode_payload, split_spans

_RETRY_SECONDS = 0.1
_NOTHING: Mapping[bytes, bytes] = {}

Decide: TypeAlias = Callable[[Sequence[Decision], Sequence[Payload]], None]
"""Writes decisions down and hands out their payloads: all, or ``Unavailable`` and none."""


class Outlet:
    """The only way out for spans that waited: a decision in the journal, then the destinations.

    While the journal cannot be written (a full disk), it waits: behind it the backlog and the
    memory budget fill, and the doors refuse. Nothing is dropped: what still waits when
    :meth:`give_up` is called stays in the journal, undecided.
    """

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._giving_up = threading.Event()

    def put(
        self,
        spans: Sequence[WireSpan],
        additions: Mapping[bytes, bytes] = _NOTHING,
        *,
        trace_id: bytes = b"",
        late_addition: bytes = b"",
    ) -> None:
        """Let ``spans`` go, with the bytes of ``additions`` (by span id) appended.

        With ``trace_id`` they are a whole trace, whose later spans get ``late_addition``.
        """
        self.put_together([(trace_id, spans)], additions, late_addition=late_addition)

    def put_together(
        self,
        traces: Sequence[tuple[bytes, Sequence[WireSpan]]],
        additions: Mapping[bytes, bytes] = _NOTHING,
        *,
        late_addition: bytes = b"",
    ) -> None:
        """Let several traces, each an id and its spans, go at once: all of them, or none yet."""
        decisions: list[Decision] = []
        payloads: list[Payload] = []
        for trace_id, spans in traces:
            if not spans:
                continue
            own, bodies = zip(*_compose(spans, additions), strict=True)
            first = replace(own[0], trace_id=trace_id, late_addition=late_addition)
            decisions += (first, *own[1:])
            payloads += bodies
        if decisions:
            self._write(decisions, payloads)

    def give_up(self) -> None:
        """Stop waiting for the journal."""
        self._giving_up.set()

    def _write(self, decisions: Sequence[Decision], payloads: Sequence[Payload]) -> None:
        while True:
            try:
                self._decide(decisions, payloads)
            except Unavailable:
                if self._giving_up.wait(_RETRY_SECONDS):
                    return
            else:
                return


class _Leaving(NamedTuple):
    """A span as it leaves, and where it is journalled."""

    origin: Origin
    raw: bytes
    request: int
    ordinal: int
    addition: bytes


def _compose(
    spans: Sequence[WireSpan], additions: Mapping[bytes, bytes]
) -> Iterator[tuple[Decision, Payload]]:
    """Yield what to decide and send: spans by headers, cut where a request would be too large."""
    by_headers: dict[Headers, list[_Leaving]] = {}
    for span in spans:
        addition = additions.get(span.span_id, b"")
        raw = strip_namespace(span.raw) if span.spoofed else span.raw
        leaving = _Leaving(span.origin, raw + addition, span.request, span.ordinal, addition)
        by_headers.setdefault(span.headers, []).append(leaving)
    for headers, group in by_headers.items():
        for part in split_spans(group):
            decision = Decision(Signal.TRACES, len(part), tuple(_pieces(part)))
            yield decision, encode_payload(part, headers)


def _pieces(spans: Sequence[_Leaving]) -> Iterator[Piece]:
    """Yield the places of ``spans`` in their order, those of one request together."""
    for request, run in groupby(spans, key=attrgetter("request")):
        same = tuple(run)
        additions = tuple(span.addition for span in same)
        ordinals = tuple(span.ordinal for span in same)
        yield Piece(request, ordinals, additions if any(additions) else ())

"""Spans and what is appended to them to decisions, written down before anything is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from otel_raglog.errors import Unavailable
from otel_raglog.model import Decision, Headers, Payload, Piece, RawSpan, Signal, WireSpan
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog_exporters.grouping import MAX_REQUEST_BYTES, RequestSize, encode_request

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
        self._waiting = 0

    @property
    def waiting(self) -> bool:
        """Whether somebody waits for the journal now."""
        return self._waiting > 0

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
        if not spans:
            return
        decisions: list[Decision] = []
        payloads: list[Payload] = []
        for part in _parts(spans, additions):
            first = not decisions
            decision, payload = part.close(
                trace_id if first else b"", late_addition if first else b""
            )
            decisions.append(decision)
            payloads.append(payload)
        self._write(decisions, payloads)

    def give_up(self) -> None:
        """Stop waiting for the journal."""
        self._giving_up.set()

    def _write(self, decisions: Sequence[Decision], payloads: Sequence[Payload]) -> None:
        waits = 0
        try:
            while True:
                try:
                    self._decide(decisions, payloads)
                except Unavailable:
                    if not waits:
                        waits = 1
                        self._waiting += 1
                    if self._giving_up.wait(_RETRY_SECONDS):
                        return
                else:
                    return
        finally:
            self._waiting -= waits


class _Part:
    """Spans of equal headers that go out in one request."""

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self.size = RequestSize()
        self._spans: list[RawSpan] = []
        self._places: list[tuple[int, int, bytes]] = []

    def add(self, span: WireSpan, raw: RawSpan, addition: bytes) -> None:
        self.size.add(raw)
        self._spans.append(raw)
        self._places.append((span.request, span.ordinal, addition))

    @property
    def empty(self) -> bool:
        return not self._spans

    def close(self, trace_id: bytes, late_addition: bytes) -> tuple[Decision, Payload]:
        decision = Decision(
            Signal.TRACES, len(self._spans), tuple(self._pieces()), trace_id, late_addition
        )
        body = encode_request(self._spans)
        return decision, Payload(Signal.TRACES, body, len(self._spans), self.headers)

    def _pieces(self) -> Iterator[Piece]:
        """Yield the spans' places in their order, those of one request together."""
        start = 0
        for end in range(1, len(self._places) + 1):
            if end < len(self._places) and self._places[end][0] == self._places[start][0]:
                continue
            run = self._places[start:end]
            additions = tuple(addition for _, _, addition in run)
            yield Piece(
                run[0][0],
                tuple(ordinal for _, ordinal, _ in run),
                additions if any(additions) else (),
            )
            start = end


def _parts(spans: Sequence[WireSpan], additions: Mapping[bytes, bytes]) -> list[_Part]:
    """Return ``spans`` by headers, cut where a request would become too large."""
    closed: list[_Part] = []
    growing: dict[Headers, _Part] = {}
    for span in spans:
        addition = additions.get(span.span_id, b"")
        kept = strip_namespace(span.raw) if span.spoofed else span.raw
        raw = RawSpan(span.origin, kept + addition if addition else kept)
        part = growing.get(span.headers)
        if part is None or (not part.empty and part.size.with_span(raw) > MAX_REQUEST_BYTES):
            if part is not None:
                closed.append(part)
            part = growing[span.headers] = _Part(span.headers)
        part.add(span, raw, addition)
    return closed + list(growing.values())

"""Ended spans, as they come, turned into whole traces and requests of whole traces: no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""Estimated bytes after which a request is cut; the service takes 64 MiB unless told otherwise."""
_SPAN_BYTES, _ATTRIBUTE_BYTES, _NUMBER_BYTES = 400, 60, 24


@dataclass(frozen=True, slots=True)
class Ended:
    """A span that ended; ``done`` when nothing of its trace is known to be open here."""

    span: ReadableSpan
    trace_id: int
    bytes: int
    done: bool


@dataclass(slots=True)
class _Gathering:
    since: float
    spans: list[Ended] = field(default_factory=list)


class Traces:
    """Spans that wait for the others of their trace.

    A trace that is done waits ``batch_seconds`` for company and stragglers, one that is not for
    ``hold_seconds`` since its first span. Times are of a monotonic clock.
    """

    def __init__(self, *, batch_spans: int, batch_seconds: float, hold_seconds: float) -> None:
        self._batch_spans = batch_spans
        self._batch_seconds = batch_seconds
        self._hold_seconds = hold_seconds
        self._open: dict[int, _Gathering] = {}  # both in the order of their times
        self._done: dict[int, _Gathering] = {}
        self._done_spans = 0

    def add(self, ended: Ended, now: float) -> None:
        """Take in a span."""
        trace_id = ended.trace_id
        if trace_id in self._done:
            self._done[trace_id].spans.append(ended)
            self._done_spans += 1
            return
        gathering = self._open.setdefault(trace_id, _Gathering(now))
        gathering.spans.append(ended)
        if ended.done:
            self._done[trace_id] = _Gathering(now, self._open.pop(trace_id).spans)
            self._done_spans += len(gathering.spans)

    def due(self, now: float) -> list[list[Ended]]:
        """Return, and forget, the traces that need not wait."""
        due: list[list[Ended]] = []
        full = self._done_spans >= self._batch_spans
        while self._done and (full or self._first(self._done) + self._batch_seconds <= now):
            due.append(self._take(self._done))
            self._done_spans -= len(due[-1])
        while self._open and self._first(self._open) + self._hold_seconds <= now:
            due.append(self._take(self._open))
        return due

    def all(self) -> list[list[Ended]]:
        """Return, and forget, everything."""
        everything = [gathering.spans for gathering in self._done.values()]
        everything += [gathering.spans for gathering in self._open.values()]
        self._done, self._open, self._done_spans = {}, {}, 0
        return everything

    def seconds_left(self, now: float) -> float | None:
        """Return when something is due, in seconds from ``now``; ``None`` when nothing waits."""
        if self._done_spans >= self._batch_spans:
            return 0.0
        moments = []
        if self._done:
            moments.append(self._first(self._done) + self._batch_seconds)
        if self._open:
            moments.append(self._first(self._open) + self._hold_seconds)
        return max(0.0, min(moments) - now) if moments else None

    @staticmethod
    def _first(gatherings: Mapping[int, _Gathering]) -> float:
        return next(iter(gatherings.values())).since

    @staticmethod
    def _take(gatherings: dict[int, _Gathering]) -> list[Ended]:
        return gatherings.pop(next(iter(gatherings))).spans


def into_requests(
    traces: Iterable[list[Ended]], max_spans: int, max_bytes: int = MAX_REQUEST_BYTES
) -> Iterator[list[Ended]]:
    """Put whole traces together, up to ``max_spans`` and ``max_bytes``.

    A trace of more spans is a request of its own; one of more bytes is cut.
    """
    request: list[Ended] = []
    size = 0
    for trace in traces:
        for part in _cut(trace, max_bytes):
            part_size = sum(ended.bytes for ended in part)
            if request and (len(request) + len(part) > max_spans or size + part_size > max_bytes):
                yield request
                request, size = [], 0
            request.extend(part)
            size += part_size
    if request:
        yield request


def _cut(trace: list[Ended], max_bytes: int) -> Iterator[list[Ended]]:
    part: list[Ended] = []
    size = 0
    for ended in trace:
        if part and size + ended.bytes > max_bytes:
            yield part
            part, size = [], 0
        part.append(ended)
        size += ended.bytes
    if part:
        yield part


def estimated_bytes(span: ReadableSpan) -> int:
    """Return about how large a span is as JSON, without writing it."""
    total = _SPAN_BYTES + _mapping_bytes(span.attributes)
    for event in span.events:
        total += _ATTRIBUTE_BYTES + _mapping_bytes(event.attributes)
    for link in span.links:
        total += _SPAN_BYTES + _mapping_bytes(link.attributes)
    return total


def _mapping_bytes(attributes: Mapping[str, Any] | None) -> int:
    if not attributes:
        return 0
    plain = attributes.copy() if isinstance(attributes, MappingProxyType) else attributes
    total = _ATTRIBUTE_BYTES * len(plain)
    for key, value in plain.items():  # the SDK's own mapping is read item by item, in Python
        total += len(key) + (len(value) if type(value) is str else _value_bytes(value))
    return total


def _value_bytes(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, tuple | list):
        if value and isinstance(value[0], int | float):
            return _NUMBER_BYTES * len(value)  # vectors: counted, not read
        return sum(_NUMBER_BYTES + _value_bytes(item) for item in value)
    if isinstance(value, Mapping):
        return _mapping_bytes(value)
    return _NUMBER_BYTES

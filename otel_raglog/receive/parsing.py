"""The opened envelopes of a request to parsed messages, a bounded piece of it at a time.

Everything that will be forwarded is parsed once, at the depth at which a peer will see it: what
protobuf's limit on nesting or a broken field would make unreadable there is refused here. The
pieces are small because a message costs up to 25 times its bytes in memory once parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.envelopes import Opened, Place, Scope, join_places
from otel_raglog.receive.limits import Limits
from otel_raglog.wire import Shape, count_values, wrap_head

_SMALL_BYTES = 256 * 1024
"""So much is parsed at once, unless one item is longer: parsed, it costs a few megabytes."""
_FEWEST_BYTES = 2
"""What a value takes at least: shorter messages cannot have too many and need no counting."""
_COUNTED_SPANS = 4
"""Counting is slow: what is counted in one request are values for so many spans at most."""
_WRAPPED = 2


@dataclass(frozen=True, slots=True)
class _Schema:
    """How a signal's requests are parsed, and the fields that lead to its items."""

    request: Any
    resources: str
    scopes: str
    items: str
    scope_shape: Shape


_SCHEMAS: Mapping[Signal, _Schema] = {
    Signal.TRACES: _Schema(
        thin.TracesRequest, "resource_spans", "scope_spans", "spans", Shape.SCOPE_SPANS
    ),
    Signal.METRICS: _Schema(
        thin.MetricsRequest, "resource_metrics", "scope_metrics", "metrics", Shape.SCOPE_METRICS
    ),
    Signal.LOGS: _Schema(
        thin.LogsRequest, "resource_logs", "scope_logs", "log_records", Shape.SCOPE_LOGS
    ),
}


class RequestParser:
    """Parses one request of ``signal`` whose envelopes are opened."""

    def __init__(self, body: bytes, signal: Signal, limits: Limits) -> None:
        self._body = body
        self._view = memoryview(body)
        self._schema = _SCHEMAS[signal]
        self._most_values = limits.max_values_per_span
        self._values_left = _COUNTED_SPANS * limits.max_values_per_span

    def check_envelopes(self, opened: Opened) -> None:
        """Make sure that everything around the scopes can be read, also on its own.

        Raises:
            BadInput: it is malformed; it would spoil the requests that it leaves in.
            TooLarge: a resource has more values than the limits allow.
        """
        self._parse(join_places(self._body, opened.own), "request")
        for resource in opened.resources:
            own = join_places(self._body, resource.own)
            self._check_values(own, Shape.RESOURCE_ENVELOPE)
            self._parse(wrap_head(1, len(own)) + own, "resource")

    def parse(self, scope: Scope) -> Iterator[tuple[Any, bytes]]:
        """Yield the items of ``scope`` in their order, some at a time, all of its fields parsed.

        With the items comes a request in bytes that holds them and nothing else that matters.

        Raises:
            BadInput: something in it is malformed or nested too deep.
            TooLarge: an item has more values than the limits allow.
        """
        schema = self._schema
        for start, end in _cut(scope):
            size = end - start
            if size > _SMALL_BYTES:
                self._check_values(self._body[start:end], schema.scope_shape)
            inner = wrap_head(_WRAPPED, size)
            outer = wrap_head(1, len(inner) + size)
            piece = b"".join((outer, inner, self._view[start:end]))
            request = self._parse(piece, "scope or what is in it")
            resource = getattr(request, schema.resources)[0]
            yield getattr(getattr(resource, schema.scopes)[0], schema.items), piece

    def _check_values(self, raw: bytes, shape: Shape) -> None:
        if len(raw) <= _FEWEST_BYTES * self._most_values:
            return
        most = min(self._most_values, self._values_left)
        values = count_values(raw, shape, most)
        self._values_left -= values
        if values > most:
            raise TooLarge(
                f"span, record, metric or resource of more than {self._most_values} values"
            )

    def _parse(self, data: bytes, where: str) -> Any:
        try:
            return self._schema.request.FromString(data)
        except DecodeError as error:
            raise BadInput(f"malformed {where}: {error}") from error


def has_other_types(message: Message) -> bool:
    """Tell whether fields of a message have other wire types than the schema gives them.

    Such fields, which protobuf keeps as unknown, tell a message of another kind.
    """
    known = message.DESCRIPTOR.fields_by_number
    unknown = UnknownFieldSet(message)
    return any(unknown[index].field_number in known for index in range(len(unknown)))


def _cut(scope: Scope) -> Iterator[Place]:
    """Yield pieces of a scope that cover it, without cutting an item in two."""
    start, end = scope.place
    if end - start > _SMALL_BYTES:
        before = start
        for _, after in scope.items:
            if after - start > _SMALL_BYTES and before > start:
                yield start, before
                start = before
            before = after
    yield start, end

"""The bytes of an OTLP request to where its items are, the same way for every signal.

Spans, log records and metrics are wrapped alike: items in scopes, scopes in resources, resources
in the request, each under the same field number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.wire import LENGTH_DELIMITED, fields, read_length

Place: TypeAlias = tuple[int, int]
"""Start and end in the request's bytes."""

_RESOURCES = 1 << 3 | LENGTH_DELIMITED  # of a request
_WRAPPED = 2 << 3 | LENGTH_DELIMITED  # scopes in a resource, items in a scope
_CONTINUES = 0x80
_FIELDS_PER_ITEM = 4
"""Envelope fields allowed per allowed item, so that empty envelopes cost little as well."""

_USUAL_FIELDS = 8
"""An envelope's own fields, at most: OTLP has had three."""
_UNUSUAL_FIELDS = 1_000
"""Allowed beyond that, in all envelopes of a request: a gzip body of some kB has millions."""

_WORDS = {Signal.TRACES: "spans", Signal.METRICS: "metrics", Signal.LOGS: "log records"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a ``ScopeSpans`` (``ScopeLogs``, ``ScopeMetrics``) is, and what is in it.

    ``place`` is of its whole payload, ``own`` of its fields that are no items, tags included,
    ``items`` of the payloads of its items.
    """

    place: Place
    own: list[Place]
    items: list[Place]


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a ``ResourceSpans`` (``ResourceLogs``, ``ResourceMetrics``) has its own fields."""

    own: list[Place]
    scopes: list[Scope]


@dataclass(frozen=True, slots=True)
class Opened:
    """A request's resources in their order, and where its other fields are."""

    own: list[Place]
    resources: list[Resource]

    def scopes(self) -> Iterator[tuple[Resource, Scope]]:
        """Yield every scope with its resource, in their order."""
        for resource in self.resources:
            for scope in resource.scopes:
                yield resource, scope


def open_request(body: bytes, max_items: int, signal: Signal = Signal.TRACES) -> Opened:
    """Return where the items of ``body`` are, which is walked through without being parsed.

    Raises:
        TooLarge: there are more than ``max_items`` items, or too many fields around them.
        BadInput: these bytes are no protobuf message.
    """
    budget = _Budget(max_items, _WORDS[signal])
    try:
        own, places = _open(body, (0, len(body)), _RESOURCES, budget.fields_left, budget)
        budget.spend_fields(len(own) + len(places))
        resources = []
        for place in places:
            own_of_resource, scopes = _open(body, place, _WRAPPED, budget.fields_left, budget)
            budget.spend_fields(len(own_of_resource) + len(scopes))
            opened = [_open_scope(body, scope, budget) for scope in scopes]
            resources.append(Resource(own_of_resource, opened))
    except IndexError:
        raise BadInput("malformed protobuf: the request is cut off") from None
    return Opened(own, resources)


def join_places(body: bytes, places: list[Place]) -> bytes:
    """Return the bytes at ``places``, concatenated."""
    return b"".join([body[start:end] for start, end in places])


class _Budget:
    """Counts items and the fields of envelopes, and stops at the limit."""

    def __init__(self, max_items: int, word: str) -> None:
        self._max_items = max_items
        self._word = word
        self.items_left = max_items
        self.fields_left = max_items * _FIELDS_PER_ITEM
        self.unusual_left = _UNUSUAL_FIELDS

    def spend_unusual(self, count: int) -> None:
        self.unusual_left -= count
        if self.unusual_left < 0:
            raise TooLarge(f"too many fields around the {self._word}: unknown ones, or repeated")

    def spend_fields(self, count: int) -> None:
        self.fields_left -= count
        if self.fields_left < 0:
            raise TooLarge(f"too many fields for a request of {self._max_items} {self._word}")

    def spend_items(self, count: int) -> None:
        self.items_left -= count
        if self.items_left < 0:
            raise TooLarge(f"request of more than {self._max_items} {self._word}")


def _open_scope(body: bytes, place: Place, budget: _Budget) -> Scope:
    own, items = _open(body, place, _WRAPPED, budget.items_left, budget)
    budget.spend_fields(len(own))
    budget.spend_items(len(items))
    return Scope(place, own, items)


def _open(
    body: bytes, place: Place, tag: int, most: int, budget: _Budget
) -> tuple[list[Place], list[Place]]:
    """Return where a message's other fields are, and the payloads of those with ``tag``.

    Stops early, with more than ``most`` of the latter, on messages of more than that.
    """
    own: list[Place] = []
    wrapped: list[Place] = []
    position, end = place
    while position < end and len(wrapped) <= most:
        if body[position] != tag:
            _, _, begin, _, position = next(fields(body, position, end))
            own.append((begin, position))
            if len(own) > _USUAL_FIELDS:
                budget.spend_unusual(1)
            continue
        # This is done once for every item of every request: the usual lengths without a call.
        length = body[position + 1]
        payload = position + 2
        if length >= _CONTINUES:
            high = body[payload]
            if high < _CONTINUES:
                length += (high << 7) - _CONTINUES
                payload += 1
            else:
                length, payload = read_length(body, position + 1, end)
        position = payload + length
        if position > end:
            raise BadInput(f"malformed protobuf: the field before byte {payload} is cut off")
        wrapped.append((payload, position))
    return own, wrapped

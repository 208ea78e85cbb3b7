"""Ordinals to the spans of a journalled request, as they leave."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from itertools import chain, repeat

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, Piece, RawSpan
from otel_raglog.receive.envelopes import Place, join_places, open_request
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog.receive.traits import bears_our_words

_BYTES_PER_SPAN = 16
_BYTES_PER_SCOPE = 1_024
"""About what Python needs for the places of a scope's own fields, and of its resource's."""


class Picker:
    """A request that is opened once, to pick spans of it many times.

    Raises:
        BadInput: ``body`` is no request.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._envelopes: list[tuple[list[Place], list[Place]]] = []
        self._firsts: list[int] = []  # of each scope, the ordinal of its first span
        self._borders = array("Q")  # where each span begins and ends
        for resource, scope in open_request(body, sys.maxsize).scopes():
            self._envelopes.append((resource.own, scope.own))
            self._firsts.append(len(self._borders) // 2)
            self._borders.extend(chain.from_iterable(scope.items))
        self._origins: dict[int, Origin] = {}
        self._equal: dict[Origin, Origin] = {}
        self._resources: dict[bytes, bytes] = {}

    @property
    def index_bytes(self) -> int:
        """Bytes of memory that it holds beside ``body``, about and at most."""
        return (
            len(self._borders) * _BYTES_PER_SPAN // 2
            + len(self._envelopes) * _BYTES_PER_SCOPE
            + len(self._body)  # the envelopes, once they are read
        )

    def pick(self, piece: Piece) -> tuple[RawSpan, ...]:
        """Return the spans of ``piece``; see :func:`pick`.

        Raises:
            BadInput: the request does not have these spans.
        """
        count = len(self._borders) // 2
        ordinals = piece.ordinals or range(count)
        if ordinals and not 0 <= min(ordinals) <= max(ordinals) < count:
            raise BadInput(f"a request of {count} spans does not have all that are asked for")
        picked = []
        for ordinal, addition in zip(ordinals, piece.additions or repeat(b""), strict=False):
            raw = self._body[self._borders[2 * ordinal] : self._borders[2 * ordinal + 1]]
            if bears_our_words(raw):
                raw = strip_namespace(raw)
            origin = self._origin(bisect_right(self._firsts, ordinal) - 1)
            picked.append(RawSpan(origin, raw + addition if addition else raw))
        return tuple(picked)

    def _origin(self, scope: int) -> Origin:
        origin = self._origins.get(scope)
        if origin is None:
            resource, own = (join_places(self._body, places) for places in self._envelopes[scope])
            read = Origin(self._resources.setdefault(resource, resource), own)
            origin = self._origins[scope] = self._equal.setdefault(read, read)
        return origin


def pick(body: bytes, piece: Piece) -> tuple[RawSpan, ...]:
    """Return the spans of ``piece`` out of the request ``body``, in the order of its ordinals.

    A piece without ordinals is all spans. Attributes and verdict events of our namespace that
    came from outside are taken out of each; then its addition, if any, is appended. Spans of
    equal resource and scope share one :class:`Origin`.

    Raises:
        BadInput: ``body`` is no request, or does not have these spans.
    """
    return Picker(body).pick(piece)

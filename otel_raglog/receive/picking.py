"""Ordinals to the spans of a journalled request, as they leave."""

from __future__ import annotations

import sys
from itertools import repeat

from otel_raglog.errors import BadInput
from otel_raglog.model import Origin, Piece, RawSpan
from otel_raglog.receive.envelopes import open_request, read_origin
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog.receive.traits import bears_our_words


def pick(body: bytes, piece: Piece) -> tuple[RawSpan, ...]:
    """Return the spans of ``piece`` out of the request ``body``, in the order of its ordinals.

    A piece without ordinals is all spans. Attributes and verdict events of our namespace that
    came from outside are taken out of each; then its addition, if any, is appended. Spans of
    equal resource and scope share one :class:`Origin`.

    Raises:
        BadInput: ``body`` is no request, or does not have these spans.
    """
    scopes = list(open_request(body, sys.maxsize).scopes())
    places = [(number, place) for number, (_, scope) in enumerate(scopes) for place in scope.items]
    ordinals = piece.ordinals or range(len(places))
    if ordinals and not 0 <= min(ordinals) <= max(ordinals) < len(places):
        raise BadInput(f"a request of {len(places)} spans does not have all that are asked for")
    origins: dict[int, Origin] = {}
    equal: dict[Origin, Origin] = {}
    picked = []
    for ordinal, addition in zip(ordinals, piece.additions or repeat(b""), strict=False):
        number, (start, end) = places[ordinal]
        if number not in origins:
            origin = read_origin(body, *scopes[number])
            origins[number] = equal.setdefault(origin, origin)
        raw = body[start:end]
        if bears_our_words(raw):
            raw = strip_namespace(raw)
        picked.append(RawSpan(origins[number], raw + addition if addition else raw))
    return tuple(picked)

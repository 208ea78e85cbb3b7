"""A decision's number turned into the payload that left, or should have, from the two logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from otel_raglog.errors import BadInput
from otel_raglog.journal.decisions import StoredRequest, decode_decision, decode_request
from otel_raglog.journal.store import Store, Unreadable
from otel_raglog.model import Headers, Payload, Piece, RawSpan
from otel_raglog.receive.picking import pick
from otel_raglog_exporters.grouping import encode_request

_CACHE_BYTES = 16 * 1024 * 1024
"""Request bodies kept while decisions that follow one another are made again from them."""


@dataclass(frozen=True, slots=True)
class Made:
    """What could be made of a decision: no payload when nothing could; ``lost`` items missing.

    ``unreadable`` records stood in the way.
    """

    payload: Payload | None
    lost: int = 0
    unreadable: int = 0


def read_piece(body: bytes, piece: Piece) -> bytes | tuple[RawSpan, ...]:
    """Return what ``piece`` names of a request: all of its bytes, or spans.

    Raises:
        BadInput: the request does not hold them.
    """
    return pick(body, piece) if piece.ordinals else body


def join_pieces(pieces: Iterable[bytes | tuple[RawSpan, ...]]) -> bytes:
    """Return the request that holds the pieces, in order.

    Whole requests stay as they are; spans of pieces that follow one another are grouped together.
    """
    bodies: list[bytes] = []
    spans: list[RawSpan] = []
    for piece in pieces:
        if not isinstance(piece, bytes):
            spans.extend(piece)
            continue
        if spans:
            bodies.append(encode_request(spans))
            spans = []
        bodies.append(piece)
    if spans:
        bodies.append(encode_request(spans))
    return bodies[0] if len(bodies) == 1 else b"".join(bodies)


class Resolver:
    """Makes payloads again, byte for byte as they were given to the journal. For one thread."""

    def __init__(self, requests: Store, decisions: Store) -> None:
        self._requests = requests
        self._decisions = decisions
        self._cache: dict[int, StoredRequest] = {}
        self._cache_bytes = 0

    def make(self, number: int, items: int) -> Made:
        """Make the payload of decision ``number``, of which ``items`` are known to be owed.

        Raises:
            Unavailable: not now; the records are untouched.
        """
        try:
            decision = decode_decision(self._decisions.read(number))
        except (Unreadable, BadInput):
            return Made(None, items, 1)
        parts: list[bytes | tuple[RawSpan, ...]] = []
        headers: Headers = ()
        there = unreadable = 0
        for piece in decision.pieces:
            try:
                request = self._read(piece.request)
                parts.append(read_piece(request.body, piece))
            except (Unreadable, BadInput):
                unreadable += 1
            else:
                headers = request.headers
                there += len(piece.ordinals) or request.items
        if not parts:
            return Made(None, decision.items, unreadable)
        made = min(there, decision.items) if unreadable else decision.items
        payload = Payload(decision.signal, join_pieces(parts), made, headers)
        return Made(payload, decision.items - made, unreadable)

    def forget(self) -> None:
        """Free the memory that was kept for what follows."""
        self._cache.clear()
        self._cache_bytes = 0

    def _read(self, number: int) -> StoredRequest:
        kept = self._cache.get(number)
        if kept is not None:
            return kept
        request = decode_request(self._requests.read(number))
        if self._cache_bytes + len(request.body) > _CACHE_BYTES:
            self.forget()
        self._cache[number] = request
        self._cache_bytes += len(request.body)
        return request

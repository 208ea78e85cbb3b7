"""A decision's number turned into the payload that left, or should have, from the two logs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from otel_raglog.errors import BadInput
from otel_raglog.journal.damage import Log, Record
from otel_raglog.journal.decisions import StoredRequest, decode_decision, decode_request
from otel_raglog.journal.store import Store, Unreadable
from otel_raglog.model import Headers, Payload, Piece, RawSpan
from otel_raglog.receive.picking import Picker
from otel_raglog_exporters.grouping import encode_request

CACHE_BYTES = 16 * 1024 * 1024
"""Requests kept open while decisions that follow one another are made again from them."""
_OPENED_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class Made:
    """What could be made of a decision: no payload when nothing could; ``lost`` items missing.

    The ``unreadable`` records stood in the way.
    """

    payload: Payload | None
    lost: int = 0
    unreadable: tuple[Record, ...] = ()


class _Opened:
    """A journalled request, indexed as soon as some of its spans are asked for."""

    def __init__(self, request: StoredRequest) -> None:
        self.request = request
        self._picker: Picker | None = None

    @property
    def size(self) -> int:
        """Bytes of the request and its index, about."""
        body = _OPENED_BYTES + len(self.request.body)
        return body + self._picker.index_bytes if self._picker else body

    def read(self, piece: Piece) -> bytes | tuple[RawSpan, ...]:
        """Return what ``piece`` names of it: all of its bytes, or spans.

        Raises:
            BadInput: the request does not hold them.
        """
        if not piece.ordinals:
            return self.request.body
        if self._picker is None:
            self._picker = Picker(self.request.body)
        return self._picker.pick(piece)


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

    def __init__(self, requests: Store, decisions: Store, cache_bytes: int = CACHE_BYTES) -> None:
        self._requests = requests
        self._decisions = decisions
        self._cache_limit = cache_bytes
        self._cache: OrderedDict[int, _Opened] = OrderedDict()
        self._cache_bytes = 0

    def make(self, number: int, items: int) -> Made:
        """Make the payload of decision ``number``, of which ``items`` are known to be owed.

        Raises:
            Unavailable: not now; the records are untouched.
        """
        try:
            decision = decode_decision(self._decisions.read(number))
        except (Unreadable, BadInput):
            return Made(None, items, (Record(Log.DECISIONS, number),))
        parts: list[bytes | tuple[RawSpan, ...]] = []
        headers: Headers = ()
        unreadable: list[Record] = []
        there = 0
        for piece in decision.pieces:
            try:
                request, part = self._read(piece)
            except (Unreadable, BadInput):
                unreadable.append(Record(Log.REQUESTS, piece.request))
            else:
                parts.append(part)
                headers = request.headers
                there += len(piece.ordinals) or request.items
        if not parts:
            return Made(None, decision.items, tuple(unreadable))
        made = min(there, decision.items) if unreadable else decision.items
        payload = Payload(decision.signal, join_pieces(parts), made, headers)
        return Made(payload, decision.items - made, tuple(unreadable))

    def _read(self, piece: Piece) -> tuple[StoredRequest, bytes | tuple[RawSpan, ...]]:
        number = piece.request
        opened = self._cache.pop(number, None)
        if opened is None:
            opened = _Opened(decode_request(self._requests.read(number)))
        else:
            self._cache_bytes -= opened.size
        try:
            return opened.request, opened.read(piece)
        finally:
            self._keep(number, opened)

    def _keep(self, number: int, opened: _Opened) -> None:
        """Keep a request that was just used, and not those that were used least lately."""
        self._cache[number] = opened
        self._cache_bytes += opened.size
        while self._cache_bytes > self._cache_limit and len(self._cache) > 1:
            self._cache_bytes -= self._cache.popitem(last=False)[1].size

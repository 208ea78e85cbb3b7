"""Accepted requests to journal records, and their held spans to the assembler's queue."""

from __future__ import annotations

from collections import Counter

import structlog

from otel_raglog.errors import BadInput
from otel_raglog.journal.decisions import StoredRequest
from otel_raglog.journal.journal import Journal, Recovered
from otel_raglog.model import Decision, Payload, Piece, Signal
from otel_raglog.receive.inbox import Arrival, HeldQueue
from otel_raglog.receive.picking import pick
from otel_raglog.receive.sifting import Sifter
from otel_raglog_exporters.grouping import encode_request

_log = structlog.get_logger()


class JournalInbox:
    """The doors' inbox: a request is accepted once it is in the journal.

    What waits for nothing is decided with the same call; the rest goes to ``held``.
    """

    def __init__(self, journal: Journal, held: HeldQueue, sifter: Sifter) -> None:
        self._journal = journal
        self._held = held
        self._sifter = sifter

    def accept(self, arrival: Arrival) -> None:
        """Write a request down and pass it on.

        Raises:
            TooLarge: it is larger than the whole journal.
            Unavailable: the journal refuses; nothing of it was kept.
        """
        sifted = arrival.sifted
        if sifted is None or sifted.passing is None:
            self._journal.accept(
                arrival.signal, arrival.body, arrival.headers, None, arrival.items, 0
            )
            return
        passing = len(sifted.passing)
        number = self._journal.accept(
            arrival.signal,
            arrival.body,
            arrival.headers,
            sifted.passing,
            passing,
            arrival.items - passing,
        )
        held = sifted.held(number, arrival.headers)
        if held:
            self._held.put(held)

    def restore(self, recovered: Recovered) -> Counter[Signal]:
        """Take up what an earlier process accepted and did not decide; return its items."""
        items: Counter[Signal] = Counter()
        for number, request, decided in recovered.requests:
            items[request.signal] += self._restore(number, request, decided)
        return +items

    def _restore(self, number: int, request: StoredRequest, decided: frozenset[int]) -> int:
        if request.signal is not Signal.TRACES:
            return self._pass_whole(number, request, request.items)
        try:
            sifted = self._sifter.sift(request.body)
        except BadInput as error:
            # The limits are narrower than when it was accepted: it goes on unread.
            _log.warning("a journalled request passes unread", error=str(error))
            return self._pass_whole(number, request, request.items)
        if sifted.passing is None and not decided:
            return self._pass_whole(number, request, sifted.accepted)
        held = [
            span for span in sifted.held(number, request.headers) if span.ordinal not in decided
        ]
        everything = range(sifted.accepted) if sifted.passing is None else sifted.passing
        passing = tuple(ordinal for ordinal in everything if ordinal not in decided)
        self._journal.recovered(number, len(held) + len(passing))
        if passing:
            piece = Piece(number, passing)
            spans = pick(request.body, piece)
            payload = Payload(Signal.TRACES, encode_request(spans), len(spans), request.headers)
            self._journal.decide([Decision(Signal.TRACES, len(spans), (piece,))], [payload])
        if held:
            self._held.put(tuple(held))
        return len(held) + len(passing)

    def _pass_whole(self, number: int, request: StoredRequest, items: int) -> int:
        self._journal.recovered(number, items)
        payload = Payload(request.signal, request.body, items, request.headers)
        self._journal.decide([Decision(request.signal, items, (Piece(number),))], [payload])
        return items

"""Accepted requests, and spans of our own, to journal records; held spans to the assembler's queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import structlog

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.journal.decisions import StoredRequest
from otel_raglog.journal.journal import Journal, Recovered
from otel_raglog.ledger import Ledger
from otel_raglog.model import Decision, Headers, Payload, Piece, RawSpan, Signal
from otel_raglog.receive.inbox import Arrival, HeldQueue
from otel_raglog.receive.sifting import Sifter
from otel_raglog_exporters.grouping import encode_payload, split_spans

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
        request = Payload(arrival.signal, arrival.body, arrival.items, arrival.headers)
        sifted = arrival.sifted
        if sifted is None or sifted.passing is None:
            self._journal.accept(request, request)
            return
        passes = None
        if sifted.passing:
            passes = encode_payload(sifted.passing_spans(), arrival.headers)
        number = self._journal.accept(request, passes, sifted.passing)
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
        if request.own or request.signal is not Signal.TRACES:
            return self._pass_whole(number, request, request.items)
        try:
            sifted = self._sifter.sift(request.body)
        except BadInput as error:
            # Another version of us could read it: it was accepted, so it goes on.
            _log.warning("a journalled request passes unread", error=str(error))
            return self._pass_whole(number, request, request.items)
        if sifted.passing is None and not decided:
            return self._pass_whole(number, request, sifted.accepted)
        held = [
            span for span in sifted.held(number, request.headers) if span.ordinal not in decided
        ]
        everything = range(sifted.accepted) if sifted.passing is None else sifted.passing
        passing = tuple(ordinal for ordinal in everything if ordinal not in decided)
        self._journal.correct_undecided(number, len(held) + len(passing))
        if passing:
            owed = set(passing)
            spans = zip(everything, sifted.passing_spans(), strict=True)
            payload = encode_payload((s for n, s in spans if n in owed), request.headers)
            decision = Decision(Signal.TRACES, len(passing), (Piece(number, passing),))
            self._journal.pass_on(decision, payload)
        if held:
            self._held.put(tuple(held))
        return len(held) + len(passing)

    def _pass_whole(self, number: int, request: StoredRequest, items: int) -> int:
        self._journal.correct_undecided(number, items)
        payload = Payload(request.signal, request.body, items, request.headers)
        self._journal.pass_on(Decision(request.signal, items, (Piece(number),)), payload)
        return items


class OwnSpans:
    """Sends spans that we made: kept in the journal and delivered like those that came in.

    They count as received, so that the balance of spans holds; when the journal refuses, they are
    rejected, and nobody sends them again.
    """

    def __init__(self, journal: Journal, ledger: Ledger) -> None:
        self._journal = journal
        self._ledger = ledger

    def send(self, spans: Sequence[RawSpan], headers: Headers) -> bool:
        """Write spans down and pass them on, with the headers of those that they are about.

        Returns whether the journal took them all.
        """
        taken = [self._accept(encode_payload(part, headers)) for part in split_spans(spans)]
        return all(taken)

    def _accept(self, payload: Payload) -> bool:
        self._ledger.received(Signal.TRACES, payload.items)
        try:
            self._journal.accept(payload, payload, own=True)
        except Unavailable:
            self._ledger.rejected(Signal.TRACES, "unavailable", payload.items)
        except TooLarge:
            self._ledger.rejected(Signal.TRACES, "too_large", payload.items)
        else:
            return True
        return False

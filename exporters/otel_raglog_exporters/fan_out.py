"""One stream of spans turned into the same stream for several destinations."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from otel_raglog.errors import Unavailable
from otel_raglog.model import WireSpan
from otel_raglog_exporters.sending import Sender

_RETRY_SECONDS = 0.1


class FanOut:
    """Offers spans to every sender or to none, so that trying again duplicates nothing.

    Until there is a journal, a destination that stays down pushes back on all of them once
    its queue is full: the alternative would be to drop. All offers must come through here.
    """

    def __init__(self, senders: Sequence[Sender]) -> None:
        self._senders = tuple(senders)
        self._offering = threading.Lock()

    def offer(self, spans: Sequence[WireSpan]) -> None:
        """Queue all of ``spans`` for each destination.

        Raises:
            Unavailable: a queue has no room; nothing was queued anywhere.
        """
        with self._offering:
            for sender in self._senders:
                if not sender.has_room(spans):
                    raise Unavailable(f"the queue of {sender.name} is full", _RETRY_SECONDS)
            for sender in self._senders:
                sender.offer(spans)

    def offer_where_room(
        self, spans: Sequence[WireSpan], only: Collection[str] | None = None
    ) -> tuple[str, ...]:
        """Queue ``spans`` for each destination that has room; return the names of the others.

        For the end of a shutdown, when one destination must not cost another its spans. ``only``
        names the destinations that are left; trying again with what was returned duplicates
        nothing.
        """
        without: list[str] = []
        with self._offering:
            for sender in self._senders:
                if only is not None and sender.name not in only:
                    continue
                try:
                    sender.offer(spans)
                except Unavailable:
                    without.append(sender.name)
        return tuple(without)

"""One stream of spans turned into the same stream for several destinations."""

from __future__ import annotations

import threading
from collections.abc import Sequence

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

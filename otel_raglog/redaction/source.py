"""What one destination is owed to what it may see of it: the one way to every sender."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import structlog

from otel_raglog.errors import BadInput
from otel_raglog.model import Payload, Signal
from otel_raglog.redaction.recent import Recent
from otel_raglog_exporters.sending import Pull, Source, Taken

_log = structlog.get_logger()


class RedactionObserver(Protocol):
    """What is counted of redaction, by the destination's name."""

    def redaction_failed(self, exporter: str, signal: Signal, count: int) -> None:
        """Items, or resources and scopes of them, go out without content."""
        ...

    def dropped(self, exporter: str, signal: Signal, reason: str, count: int) -> None:
        """Items do not go out."""
        ...


class RedactedSource:
    """A ``Source`` whose payloads are redacted as they are taken.

    A sender knows them in no other form: batches, retries and dead letters are made of these. A
    payload that is no request goes out empty; its items are counted as ``redaction_failed``.
    """

    def __init__(
        self,
        destination: str,
        signal: Signal,
        source: Source,
        redact: Recent,
        observer: RedactionObserver,
    ) -> None:
        self._destination = destination
        self._signal = signal
        self._source = source
        self._redact = redact
        self._observer = observer
        self._logged = False

    def take(self, pull: Pull) -> Taken | None:
        """Return the next batch, redacted; see ``Source.take``."""
        taken = self._source.take(pull)
        if taken is None:
            return None
        return replace(taken, payloads=tuple(map(self._redacted, taken.payloads)))

    def settle(self, taken: Taken) -> None:
        """Never hand out ``taken`` again."""
        self._source.settle(taken)

    def close(self) -> None:
        """Wait no longer."""
        self._source.close()

    @property
    def pending_items(self) -> int:
        """Items not settled."""
        return self._source.pending_items

    def _redacted(self, payload: Payload) -> Payload:
        try:
            redacted = self._redact(payload)
        except BadInput:
            self._note_failure()
            self._observer.dropped(
                self._destination, self._signal, "redaction_failed", payload.items
            )
            return replace(payload, body=b"", items=0)
        if redacted.stripped:
            self._note_failure()
            self._observer.redaction_failed(self._destination, self._signal, redacted.stripped)
        return redacted.payload

    def _note_failure(self) -> None:
        if not self._logged:
            self._logged = True
            _log.error(
                "redaction failed: what could not be redacted goes out without its content",
                exporter=self._destination,
                signal=self._signal.value,
            )

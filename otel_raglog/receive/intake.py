"""A request's body to spans in the inbox: what both doors do, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.model import Batch
from otel_raglog.receive.inbox import Inbox
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers

Split: TypeAlias = Callable[[bytes, Limits, Markers], Batch]
"""``split_protobuf`` or ``split_json``."""


class ReceiveObserver(Protocol):
    """Counts spans at the doors: received = accepted + rejected.

    A request that cannot be read counts as one span.
    """

    def received(self, spans: int) -> None:
        """Count spans that arrived, whatever became of them."""
        ...

    def rejected(self, reason: str, spans: int) -> None:
        """Count spans among those received that were refused, for a snake_case reason."""
        ...


DEFAULT_RETRY_SECONDS = 1.0
"""What a client is told when the inbox does not say when to come back."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Splits requests, puts their spans into the inbox and counts them."""

    inbox: Inbox
    observer: ReceiveObserver
    limits: Limits
    markers: Markers

    def take(self, body: bytes, split: Split) -> Batch:
        """Accept a request; when this returns, its spans are in the inbox.

        Raises:
            TooLarge: beyond the limits.
            BadInput: not readable.
            Unavailable: the inbox is full.
        """
        try:
            batch = split(body, self.limits, self.markers)
        except BadInput as error:
            self.refuse(error)
            raise
        self.observer.received(len(batch.spans) + batch.rejected_count)
        for reason, spans in batch.rejected.items():
            self.observer.rejected(reason, spans)
        if batch.spans:
            try:
                self.inbox.put(batch)
            except Unavailable:
                self.observer.rejected("unavailable", len(batch.spans))
                raise
        return batch

    def refuse(self, error: BadInput) -> None:
        """Count a request that cannot be read, as one span."""
        self.observer.received(1)
        self.observer.rejected("too_large" if isinstance(error, TooLarge) else "malformed", 1)


def describe_rejections(batch: Batch) -> str:
    """Return one line for the client on what was rejected and why."""
    return ", ".join(f"{reason}: {spans}" for reason, spans in sorted(batch.rejected.items()))

"""Answers to the events that they consist of."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog_proxy_bridge.model import Exchange


def events_in(exchange: Exchange) -> Sequence[object]:
    """Return the events of the answer; one that came whole counts as a single event.

    A stream of one JSON line cannot be told from a whole answer: readers treat them alike.
    """
    if exchange.events or exchange.response is None:
        return exchange.events
    return (exchange.response,)

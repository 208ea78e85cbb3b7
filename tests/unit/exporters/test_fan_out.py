"""Several destinations get the same spans, and trying again duplicates none."""

from __future__ import annotations

from random import Random

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Unavailable
from otel_raglog_exporters.fan_out import FanOut
from otel_raglog_exporters.sending import ExportOutcome, Sender, SendingConfig


class Taker:
    def __init__(self, name: str) -> None:
        self.name = name

    def export(self, spans):
        return ExportOutcome(len(spans))

    def close(self):
        pass


def sender(name, observer, queue_spans):
    config = SendingConfig(queue_spans=queue_spans)
    return Sender(Taker(name), config, observer, ManualClock(), Random(1))


def test_every_destination_gets_the_spans(span, observer):
    """What is offered is queued for each destination."""
    senders = [sender("a", observer, 10), sender("b", observer, 10)]
    FanOut(senders).offer([span(1), span(2)])
    assert [one.counts().pending for one in senders] == [2, 2]


def test_no_destination_gets_spans_that_another_has_no_room_for(span, observer):
    """An offer that is refused left nothing behind, so it can be repeated."""
    senders = [sender("roomy", observer, 10), sender("tight", observer, 1)]
    fan_out = FanOut(senders)
    fan_out.offer([span(1)])
    with pytest.raises(Unavailable, match="tight"):
        fan_out.offer([span(2)])
    assert [one.counts().pending for one in senders] == [1, 1]


def test_at_the_end_each_destination_gets_what_it_has_room_for(span):
    """A dead destination does not cost the others their spans."""

    class Queue:
        def __init__(self, name, room):
            self.name, self.room, self.spans = name, room, []

        def has_room(self, spans):
            return len(spans) <= self.room

        def offer(self, spans):
            if not self.has_room(spans):
                raise Unavailable("full")
            self.spans += spans

    dead, healthy = Queue("dead", 0), Queue("healthy", 10)
    spans = [span(1), span(2)]
    assert FanOut([dead, healthy]).offer_where_room(spans) == ("dead",)
    assert FanOut([dead, healthy]).offer_where_room(spans, ("dead",)) == ("dead",)
    assert (dead.spans, healthy.spans) == ([], spans)

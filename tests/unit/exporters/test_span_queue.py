"""The queue's books: every span stands in them exactly once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog.errors import Unavailable
from otel_raglog.model import Origin, WireSpan
from otel_raglog_exporters.span_queue import Pull, SpanQueue

PULL = Pull(spans=4, bytes=10_000, seconds=0.0)


def tiny(number: int = 0, size: int = 1) -> WireSpan:
    span_id = number.to_bytes(8, "big")
    return WireSpan(b"", span_id, b"", False, True, False, False, Origin(b"", b""), bytes(size))


def test_an_offer_is_taken_whole_or_not_at_all():
    """A queue without room for all takes none, and says when to try again."""
    queue = SpanQueue(3, 1_000)
    queue.offer([tiny(), tiny()])
    with pytest.raises(Unavailable) as refusal:
        queue.offer([tiny(), tiny()])
    assert refusal.value.retry_after_seconds
    assert queue.counts().offered == queue.counts().pending == 2
    assert queue.has_room([tiny()])
    assert not queue.has_room([tiny(), tiny()])


def test_bytes_are_bounded_too():
    """A few big spans fill the queue as well."""
    queue = SpanQueue(100, 1_000)
    queue.offer([tiny(size=900)])
    with pytest.raises(Unavailable):
        queue.offer([tiny(size=200)])


def test_what_is_being_sent_still_takes_room():
    """A taken batch counts until it is settled."""
    queue = SpanQueue(2, 1_000)
    queue.offer([tiny(), tiny()])
    assert len(queue.take(PULL)) == 2
    with pytest.raises(Unavailable):
        queue.offer([tiny()])
    queue.settle(forwarded=2)
    queue.offer([tiny()])


def test_an_empty_queue_takes_any_offer():
    """A request bigger than the queue is not refused for ever."""
    queue = SpanQueue(2, 10)
    queue.offer([tiny(size=100) for _ in range(5)])
    assert queue.counts().pending == 5


def test_batches_are_cut_by_spans_and_by_bytes():
    """A batch is at most so many spans, and so many bytes of request."""
    queue = SpanQueue(100, 100_000)
    queue.offer([tiny(number) for number in range(6)])
    assert [s.span_id[-1] for s in queue.take(PULL)] == [0, 1, 2, 3]
    queue.settle(forwarded=4)
    queue.offer([tiny(9, size=9_990)])
    assert [s.span_id[-1] for s in queue.take(PULL)] == [4, 5]
    queue.settle(forwarded=2)
    assert [s.span_id[-1] for s in queue.take(PULL)] == [9]


def test_a_closed_queue_gives_the_rest_and_then_nothing():
    """After closing, offers are refused and what waits can still be taken."""
    queue = SpanQueue(10, 1_000)
    queue.offer([tiny()])
    queue.close()
    with pytest.raises(Unavailable):
        queue.offer([tiny()])
    assert not queue.has_room([tiny()])
    assert len(queue.take(PULL)) == 1
    queue.settle(forwarded=1)
    assert queue.take(PULL) == ()


def test_a_batch_that_was_abandoned_is_not_settled_again():
    """An answer that comes after the books were closed changes nothing."""
    queue = SpanQueue(10, 1_000)
    queue.offer([tiny(), tiny()])
    queue.take(PULL)
    assert queue.abandon("shutdown") == 2
    assert queue.settle(forwarded=2) == 0
    assert queue.counts().dropped == {"shutdown": 2}
    assert queue.counts().forwarded == 0
    assert queue.counts().balanced


@given(st.lists(st.sampled_from(["offer", "send", "reject", "drop", "abandon"]), max_size=40))
def test_the_books_balance_after_every_step(steps):
    """offered = forwarded + rejected by the backend + dropped + pending, always."""
    queue = SpanQueue(8, 1_000)
    for step in steps:
        if step == "offer":
            if queue.has_room([tiny()] * 3):
                queue.offer([tiny()] * 3)
        elif step == "abandon":
            queue.abandon("shutdown")
        elif queue.counts().pending:
            taken = len(queue.take(PULL))
            assert queue.counts().balanced
            match step:
                case "send":
                    queue.settle(forwarded=taken)
                case "reject":
                    queue.settle(forwarded=taken - 1, rejected=1)
                case "drop":
                    queue.settle(dropped="rejected")
        counts = queue.counts()
        assert counts.balanced
        assert counts.pending_bytes == counts.pending

"""The inbox in memory."""

from __future__ import annotations

import threading

import pytest

from otel_raglog.errors import Unavailable
from otel_raglog.model import Batch, Origin, WireSpan
from otel_raglog.receive.inbox import MemoryInbox

ORIGIN = Origin(b"resource", b"scope")


def batch(spans: int, size: int = 10) -> Batch:
    wire = WireSpan(b"t" * 16, b"s" * 8, b"", False, True, False, False, ORIGIN, b"x" * size)
    return Batch((wire,) * spans)


def test_batches_come_out_in_order() -> None:
    """First in, first out."""
    inbox = MemoryInbox(100, 1_000_000)
    first, second = batch(1), batch(2)
    inbox.put(first)
    inbox.put(second)
    assert inbox.spans == 3
    assert inbox.get(0) is first
    assert inbox.get(0) is second
    assert (inbox.spans, inbox.bytes) == (0, 0)


def test_an_empty_inbox_gives_nothing() -> None:
    """After the time given, not an error."""
    assert MemoryInbox(1, 1).get(0) is None


def test_too_many_spans_are_refused_and_cost_nothing() -> None:
    """The client is told when to come back, and what was accepted stays."""
    inbox = MemoryInbox(3, 1_000_000, retry_after_seconds=7)
    inbox.put(batch(2))
    with pytest.raises(Unavailable) as refused:
        inbox.put(batch(2))
    assert refused.value.retry_after_seconds == 7
    assert inbox.spans == 2
    inbox.put(batch(1))


def test_too_many_bytes_are_refused() -> None:
    """Whichever limit is met first counts."""
    inbox = MemoryInbox(100, 10_000)
    inbox.put(batch(1, size=8_000))
    with pytest.raises(Unavailable):
        inbox.put(batch(1, size=8_000))


def test_an_empty_inbox_takes_any_batch() -> None:
    """Otherwise a large request would be sent again for ever."""
    inbox = MemoryInbox(1, 1)
    inbox.put(batch(5))
    with pytest.raises(Unavailable):
        inbox.put(batch(1))


def test_a_closed_inbox_refuses_but_gives_what_it_has() -> None:
    """At shutdown nothing that was accepted is lost."""
    inbox = MemoryInbox(10, 1_000_000)
    inbox.put(batch(1))
    inbox.close()
    with pytest.raises(Unavailable, match="shutting down"):
        inbox.put(batch(1))
    assert inbox.get(60) is not None
    assert inbox.get(60) is None


def test_a_waiting_reader_is_woken() -> None:
    """By a batch, long before its time is over."""
    inbox = MemoryInbox(10, 1_000_000)
    got: list[Batch | None] = []
    reader = threading.Thread(target=lambda: got.append(inbox.get(60)))
    reader.start()
    inbox.put(batch(1))
    reader.join(10)
    assert got == [batch(1)]


def test_many_writers_and_readers_lose_nothing() -> None:
    """Every span put is got once."""
    inbox = MemoryInbox(1_000_000, 1 << 40)
    got: list[int] = []

    def read() -> None:
        while (taken := inbox.get(60)) is not None:
            got.append(len(taken.spans))

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [
        threading.Thread(target=lambda: [inbox.put(batch(n % 3 + 1)) for n in range(300)])
        for _ in range(4)
    ]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join(30)
    inbox.close()
    for thread in readers:
        thread.join(30)
    assert sum(got) == 4 * 600

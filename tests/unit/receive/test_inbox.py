"""The queue of held spans."""

from __future__ import annotations

import threading

from otel_raglog.model import Origin, WireSpan
from otel_raglog.receive.inbox import HeldQueue

ORIGIN = Origin(b"resource", b"scope")


def spans(count: int) -> tuple[WireSpan, ...]:
    return (
        WireSpan(b"t" * 16, b"s" * 8, b"", False, True, False, False, ORIGIN, b"x" * 10),
    ) * count


def test_spans_come_out_in_order() -> None:
    """First in, first out, in the batches in which they were put."""
    queue = HeldQueue()
    first, second = spans(1), spans(2)
    queue.put(first)
    queue.put(second)
    assert queue.bytes > 3 * 10
    assert queue.get(0) is first
    assert queue.get(0) is second
    assert queue.bytes == 0


def test_an_empty_queue_gives_nothing() -> None:
    """After the time given, not an error."""
    assert HeldQueue().get(0) is None


def test_a_closed_queue_still_takes_and_gives() -> None:
    """What a request under way was journalled for is not lost at shutdown."""
    queue = HeldQueue()
    queue.close()
    queue.put(spans(1))
    assert queue.get(60) == spans(1)
    assert queue.get(60) is None


def test_a_waiting_reader_is_woken() -> None:
    """Before its time is over."""
    queue = HeldQueue()
    got: list[tuple[WireSpan, ...] | None] = []
    reader = threading.Thread(target=lambda: got.append(queue.get(60)))
    reader.start()
    queue.put(spans(1))
    reader.join(10)
    assert got == [spans(1)]


def test_many_writers_and_readers_lose_nothing() -> None:
    """Every span put is got once."""
    queue = HeldQueue()
    got: list[int] = []

    def read() -> None:
        while (taken := queue.get(60)) is not None:
            got.append(len(taken))

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [
        threading.Thread(target=lambda: [queue.put(spans(n % 3 + 1)) for n in range(300)])
        for _ in range(4)
    ]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join(30)
    queue.close()
    for thread in readers:
        thread.join(30)
    assert sum(got) == 4 * 600

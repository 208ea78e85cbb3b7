"""Waits that end."""

from __future__ import annotations

import threading

from otel_raglog.clock import ManualClock
from otel_raglog.receive.patience import Patience


def test_a_long_wait_is_cancelled_once() -> None:
    """Not before its time."""
    clock, cancelled = ManualClock(), []
    patience = Patience(30.0, 2, clock)
    with patience.waiting(lambda: cancelled.append(1)):
        clock.advance(29.9)
        patience.end_long_waits()
        assert not cancelled
        clock.advance(0.1)
        patience.end_long_waits()
        patience.end_long_waits()
    assert cancelled == [1]


def test_a_wait_that_is_over_is_not_cancelled() -> None:
    """Whatever time passes afterwards."""
    clock, cancelled = ManualClock(), []
    patience = Patience(30.0, 2, clock)
    with patience.waiting(lambda: cancelled.append(1)):
        pass
    clock.advance(100)
    patience.end_long_waits()
    assert not cancelled


def test_when_all_threads_wait_a_second_is_enough() -> None:
    """The wait that began later keeps its time, since a thread is free then."""
    clock, cancelled = ManualClock(), []
    patience = Patience(30.0, 2, clock)
    with patience.waiting(lambda: cancelled.append("first")):
        clock.advance(0.9)
        with patience.waiting(lambda: cancelled.append("second")):
            patience.end_long_waits()
            assert not cancelled
            clock.advance(0.2)
            patience.end_long_waits()
            clock.advance(5)
            patience.end_long_waits()
    assert cancelled == ["first"]


def test_the_more_calls_wait_for_a_thread_the_less_it_takes() -> None:
    """A flood of silent calls must not keep others out for minutes."""
    clock, cancelled = ManualClock(), []
    patience = Patience(30.0, 2, clock, queued=lambda: 18)
    with (
        patience.waiting(lambda: cancelled.append("first")),
        patience.waiting(lambda: cancelled.append("second")),
    ):
        clock.advance(0.09)
        patience.end_long_waits()
        assert not cancelled
        clock.advance(0.02)
        patience.end_long_waits()
    assert cancelled == ["first", "second"]


def test_it_watches_by_itself() -> None:
    """On a thread that ends with it."""
    cancelled = threading.Event()
    patience = Patience(0.02, 8)
    patience.start()
    with patience.waiting(cancelled.set):
        assert cancelled.wait(30)
    patience.stop()
    assert not any(thread.name == "patience" for thread in threading.enumerate())

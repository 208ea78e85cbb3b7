"""The breaker: when it opens, for how long, and what closes it."""

import threading

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.judge.breaker import Breaker, BreakerConfig, BreakerState

CONFIG = BreakerConfig(failures=3, first_seconds=30, most_seconds=100, unauthorized_seconds=900)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def breaker(clock):
    return Breaker(clock, CONFIG)


def fail(breaker, times=3):
    for _ in range(times):
        breaker.failed()


def test_it_opens_after_so_many_failures_in_a_row(breaker):
    """Until then everything goes out."""
    fail(breaker, 2)
    assert (breaker.state, breaker.admit()) == (BreakerState.CLOSED, True)
    fail(breaker, 1)
    assert (breaker.state, breaker.admit()) == (BreakerState.OPEN, False)


def test_a_success_in_between_keeps_it_closed(breaker):
    """Failures count only in a row."""
    fail(breaker, 2)
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.state is BreakerState.CLOSED


def test_after_the_back_off_one_run_goes_out(breaker, clock):
    """The others wait for what becomes of it."""
    fail(breaker)
    clock.advance(30)
    assert breaker.state is BreakerState.HALF_OPEN
    assert [breaker.admit(), breaker.admit()] == [True, False]
    assert breaker.state is BreakerState.HALF_OPEN


def test_a_success_of_the_one_closes_it(breaker, clock):
    """And it takes as many failures as ever to open it again, for the first back-off."""
    fail(breaker)
    clock.advance(30)
    breaker.admit()
    breaker.succeeded()
    assert (breaker.state, breaker.admit()) == (BreakerState.CLOSED, True)
    fail(breaker)
    clock.advance(30)
    assert breaker.state is BreakerState.HALF_OPEN


def test_each_failed_try_doubles_the_back_off_up_to_the_most(breaker, clock):
    """30, 60, 100, 100 seconds."""
    fail(breaker)
    for seconds in (30, 60, 100, 100):
        clock.advance(seconds - 1)
        assert breaker.state is BreakerState.OPEN
        clock.advance(1)
        assert breaker.admit()
        breaker.failed()


def test_calls_that_were_out_when_it_opened_do_not_make_the_back_off_grow(breaker, clock):
    """The calls of one run fail together."""
    fail(breaker, 8)
    clock.advance(30)
    assert breaker.admit()
    fail(breaker, 5)
    clock.advance(60)
    assert breaker.state is BreakerState.HALF_OPEN


def test_a_run_of_which_nothing_is_heard_is_followed_by_another(breaker, clock):
    """After as long again."""
    fail(breaker)
    clock.advance(30)
    breaker.admit()
    clock.advance(29)
    assert not breaker.admit()
    clock.advance(1)
    assert breaker.admit()


def test_a_refused_key_opens_it_at_once_and_for_longer(breaker, clock):
    """A key is rarely taken half a minute later."""
    breaker.unauthorized()
    clock.advance(899)
    assert breaker.state is BreakerState.OPEN
    clock.advance(1)
    assert breaker.state is BreakerState.HALF_OPEN


@pytest.mark.parametrize(("told", "seconds"), [(50, 50), (10, 30), (5_000, 100)])
def test_it_stays_open_for_what_the_provider_told(breaker, clock, told, seconds):
    """Not for less than the back-off, and not for ever."""
    fail(breaker, 2)
    breaker.failed(told)
    clock.advance(seconds - 1)
    assert breaker.state is BreakerState.OPEN
    clock.advance(1)
    assert breaker.state is BreakerState.HALF_OPEN


def test_of_many_threads_one_goes_out(breaker, clock):
    """However many ask at the same moment."""
    fail(breaker)
    clock.advance(30)
    barrier, admitted = threading.Barrier(16), []

    def ask():
        barrier.wait()
        admitted.append(breaker.admit())

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1

"""Retries: how often, after which wait, and when there is no point in another one."""

from random import Random

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.retrying import Retrier, RetryConfig


class Call:
    """A call that takes ``seconds`` each time, and fails as told before it returns ``done``."""

    def __init__(self, *failures, seconds=0.0, cut=False, **config):
        self.clock = ManualClock(100.0)
        self.failures = list(failures)
        self.seconds = seconds
        self.cut = cut
        self.waits, self.left = [], []
        self.retrier = Retrier(RetryConfig(**config), self.clock, Random(1), self.wait)

    def wait(self, seconds):
        self.waits.append(seconds)
        self.clock.advance(seconds)
        return self.cut

    def once(self, left):
        self.left.append(left)
        self.clock.advance(self.seconds)
        if self.failures:
            raise self.failures.pop(0)
        return "done"

    def run(self, latest=None, may_retry=lambda: True):
        return self.retrier.call(self.once, self.retrier.deadline(latest), may_retry=may_retry)


def test_a_call_that_may_work_later_is_tried_again():
    """After waits that grow, each shortened by up to half."""
    call = Call(Unavailable("x"), Unavailable("x"), first_seconds=1, most_seconds=8)
    assert call.run() == "done"
    first, second = call.waits
    assert 0.5 <= first <= 1 <= second <= 2


def test_waits_do_not_grow_beyond_the_most():
    """They double until then."""
    config, random = RetryConfig(first_seconds=1, most_seconds=5), Random(1)
    waits = [config.backoff_seconds(failures, random) for failures in range(1, 50)]
    assert max(waits) <= 5
    assert all(wait >= 2.5 for wait in waits[3:])


def test_the_last_failure_is_raised_when_the_tries_are_over():
    """Three by default."""
    call = Call(*[Unavailable(str(number)) for number in range(5)])
    with pytest.raises(Unavailable, match="2"):
        call.run()
    assert len(call.left) == 3


def test_what_is_refused_for_good_is_not_tried_again():
    """A wrong key stays wrong."""
    call = Call(Rejected("x", "unauthorized"))
    with pytest.raises(Rejected):
        call.run()
    assert len(call.left) == 1


def test_the_providers_word_goes_before_the_back_off():
    """Retry-After is waited to the second."""
    call = Call(Unavailable("x", 7.0), Unavailable("x", 0.0))
    assert call.run() == "done"
    assert call.waits == [7.0, 0.0]


def test_a_wait_that_does_not_fit_in_the_time_left_is_not_begun():
    """It gives up at once rather than at the end."""
    call = Call(Unavailable("x", 31.0), seconds=30)
    with pytest.raises(Unavailable):
        call.run()
    assert (call.waits, call.clock.monotonic()) == ([], 130.0)


def test_each_try_has_what_is_left_of_the_time():
    """Waits and earlier tries included."""
    call = Call(Unavailable("x", 5.0), Unavailable("x", 5.0), seconds=4)
    call.run()
    assert call.left == [30, 21, 12]


def test_a_nearer_deadline_goes_before_the_own_one():
    """And a later one does not."""
    call = Call()
    assert call.retrier.deadline(110.0) == 110.0
    assert call.retrier.deadline(900.0) == call.retrier.deadline(None) == 130.0


def test_a_wait_that_is_cut_short_ends_the_tries():
    """The service stops."""
    call = Call(Unavailable("x"), cut=True)
    with pytest.raises(Unavailable):
        call.run()
    assert (len(call.waits), len(call.left)) == (1, 1)


@pytest.mark.parametrize(("answers", "waits"), [([False], 0), ([True, False], 1)])
def test_it_asks_whether_another_try_is_wanted(answers, waits):
    """Before it waits, and after: a breaker may have opened meanwhile."""
    call, answers = Call(Unavailable("x")), list(answers)
    with pytest.raises(Unavailable):
        call.run(may_retry=lambda: answers.pop(0))
    assert (len(call.waits), len(call.left)) == (waits, 1)


def test_a_wait_that_lasted_too_long_is_followed_by_no_try():
    """A clock that jumped, or a busy machine."""
    call = Call(Unavailable("x", 1.0))
    call.retrier = Retrier(
        RetryConfig(seconds=10), call.clock, Random(1), lambda _: call.clock.advance(11) < 0
    )
    with pytest.raises(Unavailable):
        call.run()
    assert len(call.left) == 1

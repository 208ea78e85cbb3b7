"""What the memory budget promises: the doors refuse before memory runs out, and only then."""

from otel_raglog.clock import ManualClock
from otel_raglog.memory_budget import MemoryBudget


def make_budget(used, clock=None):
    """Return a budget of 100 bytes."""
    return MemoryBudget(100, lambda: used, clock or ManualClock())


def test_requests_are_taken_while_they_fit():
    """To the last byte."""
    assert make_budget(60).why_refuse(40) is None
    assert make_budget(60).why_refusing() is None


def test_a_request_that_does_not_fit_is_refused_by_the_options_name():
    """An operator knows what to raise."""
    assert "memory.budget_mib" in make_budget(60).why_refuse(41)


def test_with_nothing_in_memory_any_request_is_taken():
    """One that is larger than the budget would else be refused for ever."""
    assert make_budget(0).why_refuse(1_000) is None


def test_readiness_says_so_for_a_second():
    """Between two refusals the service is no more ready than during them."""
    clock = ManualClock(10.0)
    budget = make_budget(100, clock)
    budget.why_refuse(1)
    clock.advance(0.9)
    assert "memory.budget_mib" in budget.why_refusing()
    clock.advance(0.2)
    assert budget.why_refusing() is None

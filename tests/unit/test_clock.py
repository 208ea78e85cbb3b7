"""Time as an argument."""

from otel_raglog.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_told():
    """Tests own the time."""
    clock = ManualClock(10.0)
    assert clock.monotonic() == clock.perf_counter() == 10.0
    assert clock.advance(2.5) == clock.monotonic() == 12.5
    assert clock.unix_nano() == 12_500_000_000


def test_the_systems_clock_does_not_go_backwards():
    """Windows are measured on it."""
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
    assert clock.perf_counter() <= clock.perf_counter()
    assert clock.unix_nano() > 1_700_000_000 * 10**9

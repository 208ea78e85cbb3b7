"""When a trace is due: the arithmetic of the completion policy."""

from __future__ import annotations

import pytest

from otel_raglog.assemble.policy import CompletionPolicy, is_root
from otel_raglog.errors import ConfigError
from otel_raglog.model import Completion, Origin, WireSpan

POLICY = CompletionPolicy()


def wire(*, parent: bytes = b"", remote: bool = False) -> WireSpan:
    return WireSpan(
        trace_id=b"t" * 16,
        span_id=b"s" * 8,
        parent_id=parent,
        remote_parent=remote,
        held=True,
        finishes_run=False,
        spoofed=False,
        origin=Origin(b"resource", b"scope"),
        raw=b"raw",
    )


def test_a_trace_with_root_is_due_after_a_short_quiet():
    """With a root a trace is due five seconds after it was last touched."""
    assert POLICY.deadline(0.0, 7.0, rooted=True) == 12.0
    assert POLICY.completion(0.0, 7.0, rooted=True) is Completion.ROOT_QUIET


def test_a_trace_without_root_waits_longer():
    """Without a root it takes fifteen seconds: two flushes of a batch processor and more."""
    assert POLICY.deadline(0.0, 7.0, rooted=False) == 22.0
    assert POLICY.completion(0.0, 7.0, rooted=False) is Completion.ORPHAN_QUIET


def test_a_trace_that_is_never_quiet_is_due_after_the_longest_wait():
    """Two minutes after its first span a trace is due, however lively it is."""
    assert POLICY.deadline(0.0, 119.0, rooted=True) == 120.0
    assert POLICY.completion(0.0, 119.0, rooted=True) is Completion.MAX_WAIT


def test_quiet_is_the_reason_when_both_deadlines_fall_together():
    """A trace that is quiet in time is complete, even at its last moment."""
    assert POLICY.completion(0.0, 115.0, rooted=True) is Completion.ROOT_QUIET


@pytest.mark.parametrize(
    ("option", "value"),
    [("quiet_seconds", -1.0), ("max_open_traces", 0), ("max_wait_seconds", float("nan"))],
)
def test_values_out_of_range_are_refused_by_name(option, value):
    """A wrong option is an error that names it."""
    with pytest.raises(ConfigError, match=option):
        CompletionPolicy(**{option: value})


def test_a_root_has_no_parent_or_a_remote_one():
    """What counts as a root is the missing or remote parent, not the span's kind."""
    assert is_root(wire())
    assert is_root(wire(parent=b"p" * 8, remote=True))
    assert not is_root(wire(parent=b"p" * 8))

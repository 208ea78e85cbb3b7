"""What is particular to the log in memory; the rest is in tests/contract/test_stores.py."""

from __future__ import annotations

from otel_raglog.clock import ManualClock
from otel_raglog.journal.memory import RECORD_OVERHEAD, MemoryStore


def test_bodies_are_not_copied():
    """A record of one chunk is that object, before and after."""
    store = MemoryStore(1000, ManualClock())
    body = b"x" * 100
    store.append([[body]])
    assert store.read(1) is body


def test_the_size_counts_what_python_adds():
    """Many small records fill the memory that they really take."""
    store = MemoryStore(10_000, ManualClock())
    store.append([[b"x"], [b"yy", b"z"]])
    assert store.size_bytes == 4 + 2 * RECORD_OVERHEAD
    store.drop_before(3)
    assert store.size_bytes == 0

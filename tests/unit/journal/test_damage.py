"""Damage is told once for each record."""

from __future__ import annotations

from otel_raglog.journal.damage import Damage, Log, Record


def test_each_record_is_told_once() -> None:
    """Within a call and over calls; equal numbers of the two logs are different records."""
    told: list[int] = []
    damage = Damage(told.append)
    damage.note([Record(Log.REQUESTS, 1), Record(Log.REQUESTS, 1), Record(Log.DECISIONS, 1)])
    damage.note([Record(Log.REQUESTS, 1)])
    damage.note([])
    damage.note([Record(Log.REQUESTS, 1), Record(Log.REQUESTS, 2)])
    assert told == [2, 1]


def test_its_memory_is_bounded() -> None:
    """A log that is damaged all over is forgotten from its beginning."""
    damage = Damage(lambda count: None)
    for number in range(100_010):
        damage.note([Record(Log.REQUESTS, number)])
    assert len(damage._told) == 100_000
    assert Record(Log.REQUESTS, 100_009) in damage._told

"""Leader and followers; with threads and files it is tested in test_segments.py."""

from __future__ import annotations

import threading

import pytest

from otel_raglog.journal.group_commit import GroupCommit


def test_a_lone_writer_syncs_for_itself():
    """Each wait is one sync, made without the lock."""
    lock = threading.Lock()
    group = GroupCommit(lock)
    held: list[bool] = []
    with lock:
        group.wait(1, lambda: held.append(lock.locked()), pytest.fail)
        group.wait(2, lambda: held.append(lock.locked()), pytest.fail)
        assert not group.waiting
    assert held == [False, False]


def test_a_failure_reaches_the_writer_after_the_undoing():
    """``failed`` gets the least number that waits, with the lock held."""
    lock = threading.Lock()
    group = GroupCommit(lock)
    undone: list[tuple[int, bool]] = []

    def refuse() -> None:
        raise OSError(5, "no")

    with lock, pytest.raises(OSError, match="no"):
        group.wait(7, refuse, lambda number: undone.append((number, lock.locked())))
    assert undone == [(7, True)]
    with lock:
        group.wait(8, lambda: None, pytest.fail)


def test_those_who_come_during_a_sync_are_served_by_the_next():
    """The sync that runs does not count for what was written after it began."""
    lock = threading.Lock()
    group = GroupCommit(lock)
    running, go = threading.Event(), threading.Event()
    syncs: list[int] = []

    def sync() -> None:
        syncs.append(1)
        running.set()
        assert go.wait(10)

    def write(number: int) -> None:
        with lock:
            group.wait(number, sync, pytest.fail)

    threads = [threading.Thread(target=write, args=(1,))]
    threads[0].start()
    assert running.wait(10)
    threads += [threading.Thread(target=write, args=(number,)) for number in range(2, 6)]
    for thread in threads[1:]:
        thread.start()
    while len(group._waiting) < 5:
        pass
    go.set()
    for thread in threads:
        thread.join()
    assert len(syncs) == 2


def test_finishing_serves_who_waits():
    """Before a file is closed, its writers have their answer."""
    lock = threading.Lock()
    group = GroupCommit(lock)
    with lock:
        group.finish(pytest.fail, pytest.fail)
    running, go = threading.Event(), threading.Event()
    served: list[int] = []

    def sync() -> None:
        running.set()
        assert go.wait(10)

    def write() -> None:
        with lock:
            group.wait(1, sync, pytest.fail)
            served.append(1)

    thread = threading.Thread(target=write)
    thread.start()
    assert running.wait(10)
    go.set()
    with lock:
        group.finish(sync, pytest.fail)
        assert not group.waiting
    thread.join()
    assert served == [1]

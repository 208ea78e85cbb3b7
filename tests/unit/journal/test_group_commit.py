"""Leader and followers; with threads and files it is tested in test_segments.py."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from otel_raglog.journal.group_commit import GroupCommit, _Ticket


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait, at most ten seconds, for what another thread is about to do."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_lone_writer_syncs_for_itself():
    """Each wait is one sync, made without the lock."""
    lock = threading.Lock()
    held: list[bool] = []
    group = GroupCommit(lock, lambda: lambda: held.append(lock.locked()), pytest.fail)
    with lock:
        group.wait(1)
        group.wait(2)
        assert not group.waiting
    assert held == [False, False]


def test_a_failure_reaches_the_writer_after_the_undoing():
    """``failed`` gets the least number that waits, with the lock held."""
    lock = threading.Lock()
    undone: list[tuple[int, bool]] = []
    errors = [OSError(5, "no")]

    def sync() -> None:
        if errors:
            raise errors.pop()

    group = GroupCommit(lock, lambda: sync, lambda number: undone.append((number, lock.locked())))
    with lock, pytest.raises(OSError, match="no"):
        group.wait(7)
    assert undone == [(7, True)]
    with lock:
        group.wait(8)
    assert undone == [(7, True)]


def test_those_who_come_during_a_sync_are_served_by_the_next():
    """The sync that runs does not count for what was written after it began."""
    lock = threading.Lock()
    running, go = threading.Event(), threading.Event()
    syncs: list[int] = []

    def sync() -> None:
        syncs.append(1)
        running.set()
        assert go.wait(10)

    group = GroupCommit(lock, lambda: sync, pytest.fail)

    def write(number: int) -> None:
        with lock:
            group.wait(number)

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
    running, go = threading.Event(), threading.Event()
    served: list[int] = []

    def sync() -> None:
        running.set()
        assert go.wait(10)

    group = GroupCommit(lock, lambda: sync, pytest.fail)
    with lock:
        group.finish()
    assert not running.is_set()

    def write() -> None:
        with lock:
            group.wait(1)
            served.append(1)

    thread = threading.Thread(target=write)
    thread.start()
    assert running.wait(10)
    go.set()
    with lock:
        group.finish()
        assert not group.waiting
    thread.join()
    assert served == [1]


def test_who_waits_to_finish_syncs_the_file_of_that_time():
    """Whoever wakes to other writers syncs what these wrote, not the file it had come for.

    That one may be closed by then, and its descriptor be nobody's or another file's.
    """
    lock = threading.Lock()
    current = ["old"]
    synced: list[str] = []
    running, go = threading.Event(), threading.Event()

    def begin() -> Callable[[], None]:
        name = current[0]

        def sync() -> None:
            synced.append(name)
            running.set()
            assert go.wait(10)

        return sync

    group = GroupCommit(lock, begin, pytest.fail)

    def write() -> None:
        with lock:
            group.wait(1)

    def finish() -> None:
        with lock:
            group.finish()

    threads = [threading.Thread(target=write), threading.Thread(target=finish)]
    threads[0].start()
    assert running.wait(10)
    threads[1].start()
    wait_until(lambda: len(group._changed._waiters) == 1)
    with lock:  # others went on to the next file, and one of them waits for it
        current[0] = "new"
        group._waiting.append(_Ticket(2))
    go.set()
    for thread in threads:
        thread.join(10)
    assert synced == ["old", "new"]
    assert not group.waiting

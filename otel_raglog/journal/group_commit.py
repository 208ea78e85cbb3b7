"""Many writers' waits for the disk to one: whoever comes first syncs for all who wrote before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class _Ticket:
    number: int
    settled: bool = False
    error: OSError | None = None


class GroupCommit:
    """Leader and followers around the file being written; called with ``lock`` held.

    ``begin`` is called with the lock held each time that somebody is about to sync, and returns
    the sync of the file that is written then: who waits may wake to another file. What it returns
    is called without the lock. When that fails, ``failed`` is called with the lock held and the
    least number that waits, and all who wait get the error: nothing of theirs is sure.
    """

    def __init__(
        self,
        lock: threading.Lock,
        begin: Callable[[], Callable[[], None]],
        failed: Callable[[int], None],
    ) -> None:
        self._lock = lock
        self._begin = begin
        self._failed = failed
        self._changed = threading.Condition(lock)
        self._waiting: list[_Ticket] = []
        self._syncing = False

    @property
    def waiting(self) -> bool:
        """Whether a writer still waits for the disk."""
        return bool(self._waiting)

    def wait(self, number: int) -> None:
        """Return when record ``number`` and those before are on the disk; the lock is free meanwhile.

        Raises:
            OSError: that of the failed sync.

        """
        ticket = _Ticket(number)
        self._waiting.append(ticket)
        while not ticket.settled:
            if self._syncing:
                self._changed.wait()
            else:
                self._lead()
        if ticket.error is not None:
            raise ticket.error

    def _lead(self) -> None:
        served = list(self._waiting)
        sync = self._begin()
        error = None
        self._syncing = True
        self._lock.release()
        try:
            sync()
        except OSError as refused:
            error = refused
        finally:
            self._lock.acquire()
            self._syncing = False
        if error is not None:
            self._failed(min(ticket.number for ticket in self._waiting))
            served = list(self._waiting)
        self._settle(served, error)

    def _settle(self, served: list[_Ticket], error: OSError | None) -> None:
        for ticket in served:
            ticket.settled = True
            ticket.error = error
        self._waiting = [ticket for ticket in self._waiting if not ticket.settled]
        self._changed.notify_all()

    def finish(self) -> None:
        """Serve all who wait, so that the file can be closed; nothing is raised.

        The lock may be free for a while, but is not between the last sync and the return.
        """
        while self._waiting or self._syncing:
            if self._syncing:
                self._changed.wait()
            else:
                self._lead()

"""What belongs to one process: the queue of its spans, its lock, its thread and its counts."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from otel_raglog_exporters.in_app.settings import InAppConfig
from otel_raglog_exporters.in_app.traces import Ended, Traces


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the spans that were put in: ``waiting`` is what is neither."""

    sent: int = 0
    dropped: int = 0
    waiting: int = 0


@dataclass(slots=True)
class Flush:
    """A wish to be told when everything before it has been dealt with."""

    done: threading.Event = field(default_factory=threading.Event)
    delivered: bool = False


class Bell:
    """Wakes our thread; unlike an Event's, its ringing may be within another one of its thread."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()
        self._is_ringing = False

    def ring(self) -> None:
        """Wake the thread, once until it has gone on."""
        if not self._is_ringing:
            self._is_ringing = True
            self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Wait for a ring, or for so long."""
        with contextlib.suppress(Empty):
            self._rings.get(timeout=seconds)

    def quieten(self) -> None:
        """Be ready for the next ring.

        One that comes before the last line is not heard: what it rang for must be looked for after.
        """
        with contextlib.suppress(Empty):
            while True:
                self._rings.get(block=False)
        self._is_ringing = False


class Process:
    """What belongs to one process: a fork starts with a new one, its parent sends the old spans."""

    def __init__(self, config: InAppConfig) -> None:
        self.pid = os.getpid()
        # Ending a span may happen within any other code of the same thread: a finaliser, a signal
        # handler. So a lock that may be entered twice, and a queue whose put() may be.
        self.lock = threading.RLock()
        self.inbox: SimpleQueue[Ended | Flush | None] = SimpleQueue()
        self.bell = Bell()  # there is something to take
        self.hurry = threading.Event()  # somebody waits: no pause between tries
        self.abandoned = threading.Event()
        self.thread: threading.Thread | None = None
        self.traces = Traces(
            batch_spans=config.batch_spans,
            batch_seconds=config.batch_seconds,
            hold_seconds=config.hold_seconds,
        )
        self.deadline: float | None = None
        self.waiting = self.waiting_bytes = self.sent = self.dropped = 0
        self.cut: dict[int, None] = {}
        self.told: set[str] = set()
        self.failing = False
        self.ending = False
        self.overflowed = False

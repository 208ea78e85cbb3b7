"""Records that cannot be read turned into a count of them, each once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

_MOST_REMEMBERED = 100_000


class Log(Enum):
    """The two logs of a journal."""

    REQUESTS = 1
    DECISIONS = 2


class Record(NamedTuple):
    """A record by its log and its number."""

    log: Log
    number: int


class Damage:
    """Tells of each record that cannot be read once, whoever comes upon it. Safe for threads.

    It remembers the last hundred thousand: one that is met again after more than these is told
    again.
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._told: dict[Record, None] = {}

    def note(self, records: Iterable[Record]) -> None:
        """Tell how many of ``records`` are new."""
        with self._lock:
            new = [record for record in dict.fromkeys(records) if record not in self._told]
            self._told.update(dict.fromkeys(new))
            while len(self._told) > _MOST_REMEMBERED:
                del self._told[next(iter(self._told))]
        if new:
            self._tell(len(new))

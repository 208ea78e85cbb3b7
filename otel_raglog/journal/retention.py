"""What every destination has, or the journal has no room for, turned into free space."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from otel_raglog.clock import Clock
from otel_raglog.journal.books import Books
from otel_raglog.journal.feed import Feed
from otel_raglog.journal.store import Store

_IDLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """What the journal may use.

    ``max_bytes`` bounds both logs together: no request is accepted beyond it (decisions about
    what was accepted are always written, and are small). Items not delivered for
    ``max_age_seconds`` are dropped. No request is accepted while the disk has fewer than
    ``reserve_bytes`` free, so that decisions find room. ``ring_bytes`` of payloads stay in memory
    for the senders. ``remember_bytes`` of old decisions are kept so that late spans get the
    verdicts of their traces after a restart.
    """

    max_bytes: int
    max_age_seconds: float
    reserve_bytes: int
    ring_bytes: int
    remember_bytes: int


class Retention:
    """Frees space by the rules of :class:`Books`, and breaks a deadlock of destinations.

    A feed that is caught up must not suffer from others that lag: when the journal is full, these
    lose their oldest decisions, a segment of requests at a time. Where none is caught up, nothing
    is lost and nothing more is accepted.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        requests: Store,
        decisions: Store,
        books: Books,
        feeds: Sequence[Feed],
        last_shown: Callable[[], int],
        limits: JournalLimits,
        clock: Clock,
        free_bytes: Callable[[], int | None],
    ) -> None:
        self._requests = requests
        self._decisions = decisions
        self._books = books
        self._feeds = feeds
        self._last_shown = last_shown
        self._limits = limits
        self._clock = clock
        self._free_bytes = free_bytes
        self._working = threading.Lock()
        self._in_vain: tuple[int, ...] | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of both logs."""
        return self._requests.size_bytes + self._decisions.size_bytes

    def why_full(self, more: int) -> str | None:
        """Return why ``more`` bytes cannot be accepted at the moment; ``None`` when they can."""
        if self.size_bytes + more > self._limits.max_bytes:
            return "the journal is full"
        free = self._free_bytes()
        if free is not None and free < self._limits.reserve_bytes + more:
            return "the disk is full"
        return None

    def make_room(self, more: int, *, anew: bool = True) -> str | None:
        """Free space for ``more`` bytes; return why that was not possible.

        Without ``anew``, not where it was sought in vain and nothing was decided or delivered
        since: looking through a segment of small records takes milliseconds, and a full journal
        refuses every request.
        """
        with self._working:
            full = self.why_full(more)
            if full and not anew and self._progress() == self._in_vain:
                return full
            if full:
                self._reclaim(also_current=True, remember=0)
                full = self.why_full(more)
            while full and self._unblock():
                if not self._reclaim(also_current=True, remember=0):
                    break
                full = self.why_full(more)
            self._in_vain = self._progress() if full else None
            return full

    def _progress(self) -> tuple[int, ...]:
        """Return what changes whenever space may have become free."""
        reached = (feed.reached for feed in self._feeds)
        delivered = (feed.delivered for feed in self._feeds)
        return (self._books.undecided_items, self._last_shown(), *reached, *delivered)

    def tidy(self) -> None:
        """Drop what is too old, and free what is needed no more."""
        now = self._clock.unix_nano() / 1e9
        for feed in self._feeds:
            feed.expire(now - self._limits.max_age_seconds)
        age = self._requests.oldest_age_seconds(now)
        idle = not self._books.undecided_items and not any(f.pending_items for f in self._feeds)
        expired = age > self._limits.max_age_seconds
        also_current = expired or (idle and age > _IDLE_SECONDS)
        with self._working:
            self._reclaim(also_current=also_current, remember=self._limits.remember_bytes)

    def _reached(self) -> int:
        """Return the last decision that no feed owes any more, nor any before it."""
        return min((feed.reached for feed in self._feeds), default=self._last_shown())

    def _reclaim(self, *, also_current: bool, remember: int) -> int:
        """Free whole segments, those being written only with ``also_current``; return bytes."""
        reached = self._reached()
        requests = self._droppable_requests(reached, also_current=also_current)
        freed = 0
        # Cursors first: after a kill none may point at what is gone.
        if requests > self._requests.first and all(feed.sync() for feed in self._feeds):
            freed = self._requests.drop_before(requests)
        freed += self._reclaim_decisions(reached, also_current=also_current, remember=remember)
        self._books.forget_before(self._requests.first, self._decisions.first)
        return freed

    def _droppable_requests(self, reached: int, *, also_current: bool) -> int:
        start = self._requests.first
        limit = self._requests.next
        while start < limit:
            end = self._requests.segment_end(start)
            if end > limit or (end == limit and not also_current):
                break
            if self._books.has_undecided(start, end):
                break
            if self._books.last_decision(start, end) > reached:
                break
            start = end
        return start

    def _reclaim_decisions(self, reached: int, *, also_current: bool, remember: int) -> int:
        freed = 0
        while True:
            start, limit = self._decisions.first, self._decisions.next
            end = self._decisions.segment_end(start)
            if start >= limit or (end == limit and not also_current):
                return freed
            spare = self._decisions.size_bytes - remember
            if remember and spare < self._decisions.segment_bytes:
                return freed
            needed = self._books.last_request(start, end) >= self._requests.first
            if end - 1 > reached or needed:
                return freed
            gained = self._decisions.drop_before(end)
            if not gained:
                return freed
            freed += gained

    def _unblock(self) -> bool:
        """Let laggards lose the oldest segment, if another feed is caught up."""
        start = self._requests.first
        end = self._requests.segment_end(start)
        if start >= self._requests.next or self._books.has_undecided(start, end):
            return False
        needed = self._books.last_decision(start, end)
        owing = [feed for feed in self._feeds if feed.reached < needed]
        lagging = {feed.destination for feed in owing}
        oldest = min((feed.reached for feed in owing), default=needed)
        others = (feed for feed in self._feeds if feed.destination not in lagging)
        if not any(self._is_caught_up(feed, oldest) for feed in others):
            return False
        for feed in owing:
            feed.give_up(needed, "journal_full")
        return bool(owing)

    def _is_caught_up(self, feed: Feed, owed_after: int) -> bool:
        """Return whether ``feed`` owes little, and delivered lately: also where nothing comes.

        Lately is later than half of what was decided since the oldest decision that others owe.
        """
        little = max(self._requests.segment_bytes, self._limits.max_bytes // 4)
        lately = (owed_after + self._last_shown()) // 2
        return feed.delivered > lately and feed.pending_bytes <= little

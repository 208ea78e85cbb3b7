"""Accepted requests and decisions about them written down, then shown to each destination."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import TooLarge, Unavailable
from otel_raglog.journal.backlog import Backlog, Entry
from otel_raglog.journal.books import Books
from otel_raglog.journal.cursors import Cursors
from otel_raglog.journal.damage import Damage
from otel_raglog.journal.decisions import encode_decision, encode_request_head
from otel_raglog.journal.feed import Feed, JournalObserver, cursor_name
from otel_raglog.journal.rebuilding import Forgotten, Rebuilding, Recovered
from otel_raglog.journal.reserve import NoReserve, Reserve
from otel_raglog.journal.resolving import Resolver
from otel_raglog.journal.retention import JournalLimits, Retention
from otel_raglog.journal.store import Store
from otel_raglog.model import Decision, Payload, Piece, Signal

__all__ = ["Journal", "JournalLimits", "JournalObserver", "Recovered"]

_RETRY_SECONDS = 1.0
_RECORD_BYTES = 512
"""More than a request costs beside its body: its framing and its own decision."""
_LONGEST_PROBE = 64 * 1024
_log = structlog.get_logger()


class Journal:
    """Keeps what was accepted until every destination has it. Safe for threads.

    A request's record is written before it is acknowledged, a decision's before any feed sees it:
    a process that is killed decides nothing differently, and loses nothing that it accepted.
    Call :meth:`open` and :meth:`recover`, once and in this order, before anything else, and
    :meth:`tick` about once a second.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        requests: Store,
        decisions: Store,
        cursors: Cursors,
        limits: JournalLimits,
        observer: JournalObserver,
        clock: Clock,
        free_bytes: Callable[[], int | None],
        reserve: Reserve | None = None,
    ) -> None:
        self._requests = requests
        self._decisions = decisions
        self._cursors = cursors
        self._limits = limits
        self._observer = observer
        self._clock = clock
        self._reserve = reserve or NoReserve()
        self._reserve.hold()
        self._backlog = Backlog(limits.ring_bytes)
        self._books = Books(requests.first, decisions.first)
        self._feeds: list[Feed] = []
        self._damage = Damage(observer.damaged)
        self._forgotten: list[Forgotten] = []
        self._retention = Retention(
            requests,
            decisions,
            self._books,
            self._feeds,
            lambda: self._backlog.last_shown,
            limits,
            clock,
            free_bytes,
        )
        self._owed: list[tuple[Decision, Payload]] = []
        self._owing = threading.Lock()
        self._refusing: str | None = None
        self._undecidable: str | None = None
        self._needed = 0
        self._closed = False
        self._logged: set[tuple[str, str]] = set()

    # ---------------------------------------------------------------------- starting

    def open(self, destinations: Mapping[str, frozenset[Signal]]) -> Sequence[Feed]:
        """Return a feed for each signal of each destination; cursors of others are forgotten."""
        wanted = [(name, signal) for name in destinations for signal in Signal]
        wanted = [(name, signal) for name, signal in wanted if signal in destinations[name]]
        forgotten = self._cursors.keep_only({cursor_name(*which) for which in wanted})
        self._forgotten = [Forgotten(name, mark) for name, mark in forgotten.items()]
        for name, signal in wanted:
            cursor = self._cursors.open(cursor_name(name, signal))
            resolver = Resolver(self._requests, self._decisions)
            feed = Feed(name, signal, self._backlog, resolver, cursor, self._damage, self._observer)
            self._feeds.append(feed)
        return tuple(self._feeds)

    def recover(self) -> Recovered:
        """Read what an earlier process left, and return what is to be done about it.

        A request record that is damaged is counted and lost; a decision record that is damaged is
        counted, and what it decided is undecided again. A feed without a readable cursor begins
        behind the last decision about a request that is gone.

        Raises:
            Unavailable: a log cannot be read at the moment (out of file descriptors or memory).
        """
        rebuilding = Rebuilding(
            self._requests,
            self._decisions,
            self._books,
            self._backlog,
            self._feeds,
            self._forgotten,
            self._damage,
        )
        return rebuilding.run()

    def correct_undecided(self, request: int, undecided: int) -> None:
        """Correct how many items of a recovered request are undecided, where sifting it differs."""
        self._books.set_undecided(request, undecided)

    # ----------------------------------------------------------------------- writing

    def accept(
        self,
        request: Payload,
        passes: Payload | None,
        ordinals: tuple[int, ...] = (),
        *,
        own: bool = False,
    ) -> int:
        """Write a request down and return its number: from then on it can be acknowledged.

        ``request`` is its body as it came; its items are those that were accepted of it. What
        ``passes`` leaves at once: the request itself, or its spans ``ordinals`` as ``pick``
        returns them, encoded by ``encode_request``. The rest waits for decisions. ``own``: this
        service made it, and a restart lets it pass whole.

        Raises:
            TooLarge: the request is bigger than the whole journal.
            Unavailable: the journal is full or closed, or the disk refuses; nothing was kept.
        """
        undecided = request.items
        head = encode_request_head(request.signal, request.headers, undecided, own=own)
        size = len(request.body) + len(head) + _RECORD_BYTES
        self._require_room(size)
        ticket = self._books.begin(self._requests.next)
        number = 0
        try:
            number = self._requests.append([(head, request.body)])
        except Unavailable as failure:
            self._refuse(str(failure), size)
            raise
        finally:
            self._books.finish(ticket, number, undecided)
        self._refusing = None
        if passes is not None:
            piece = Piece(number, ordinals)
            self.pass_on(Decision(passes.signal, passes.items, (piece,)), passes)
        return number

    def decide(self, decisions: Sequence[Decision], payloads: Sequence[Payload]) -> None:
        """Write decisions down, in one go, and show the feeds their payloads.

        A payload's body is what its decision says: the named spans of journalled requests as
        ``pick`` returns them, encoded by ``encode_request``; whole requests as they came.

        Raises:
            Unavailable: the disk refuses, or the journal is closed; nothing was decided.
        """
        if not decisions:
            return
        now = self._clock.unix_nano() // 1_000_000_000
        pairs = list(zip(decisions, payloads, strict=True))
        records = [(encode_decision(made, len(out.body), now),) for made, out in pairs]
        self._backlog.begin()
        try:
            first = self._append(records)
        except Unavailable as failure:
            self._backlog.fail()
            self._undecidable = str(failure)
            raise
        self._undecidable = None
        for number, decision in enumerate(decisions, first):
            self._books.decide(number, decision)
        entries = [Entry(made.signal, made.items, len(out.body), now, out) for made, out in pairs]
        self._backlog.publish(first, entries)

    def pass_on(self, decision: Decision, payload: Payload) -> None:
        """Decide what waits for nothing; what cannot be written now is, at the next tick."""
        try:
            self.decide([decision], [payload])
        except Unavailable as failure:
            self._log_once("decisions cannot be written", str(failure))
            with self._owing:
                self._owed.append((decision, payload))

    def _append(self, records: Sequence[Sequence[bytes]]) -> int:
        try:
            return self._decisions.append(records)
        except Unavailable:
            # Until decisions are written nothing is delivered, and so no space freed.
            if not self._reserve.release():
                raise
            return self._decisions.append(records)

    def tick(self) -> None:
        """Write what is owed, drop what is too old, and free space. Call it about once a second."""
        with self._owing:
            owed, self._owed = self._owed, []
        for decision, payload in owed:
            self.pass_on(decision, payload)
        self._retention.tidy()
        for feed in self._feeds:
            feed.flush()
        if self._closed:
            return
        if self._undecidable:
            self._undecidable = _why_not(self._decisions, _RECORD_BYTES)
        if self._refusing:
            why = self._retention.make_room(self._needed)
            self._refusing = why or _why_not(self._requests, min(self._needed, _LONGEST_PROBE))
        if not (self._refusing or self._undecidable):
            self._reserve.hold()

    def close(self) -> None:
        """Accept and decide nothing more, end the feeds, and keep where they are."""
        self._closed = True
        for feed in self._feeds:
            feed.release()
        self._requests.close()
        self._decisions.close()

    # ------------------------------------------------------------------------ asking

    def why_refusing(self) -> str | None:
        """Return why requests are refused at the moment; ``None`` when they are accepted."""
        return "the journal is closed" if self._closed else self._undecidable or self._refusing

    @property
    def size_bytes(self) -> int:
        """Bytes of both logs."""
        return self._retention.size_bytes

    @property
    def undecided_items(self) -> int:
        """Accepted items about which nothing was decided yet."""
        return self._books.undecided_items

    @property
    def oldest_seconds(self) -> float:
        """Age of the oldest request that is still kept; 0 when there is none."""
        return self._requests.oldest_age_seconds(self._clock.unix_nano() / 1e9)

    def _require_room(self, size: int) -> None:
        if self._closed:
            raise Unavailable("the journal is closed")
        if size > self._limits.max_bytes:
            raise TooLarge(
                f"request of {size} bytes, more than the whole journal may hold (journal.max_mib)"
            )
        if self._undecidable:
            # Nothing of it could leave, and what is owed to the decision log is in memory.
            raise Unavailable(self._undecidable, _RETRY_SECONDS)
        why = self._retention.why_full(size) and self._retention.make_room(size, anew=False)
        if why:
            self._refuse(why, size)
            raise Unavailable(why, _RETRY_SECONDS)

    def _refuse(self, why: str, size: int) -> None:
        self._refusing = why
        self._needed = size
        self._log_once("requests are refused", why)

    def _log_once(self, event: str, why: str) -> None:
        if (event, why) not in self._logged:
            self._logged.add((event, why))
            _log.warning(event, why=why)


def _why_not(store: Store, size: int) -> str | None:
    """Return why ``store`` takes no record of ``size`` bytes at the moment."""
    try:
        store.probe(size)
    except Unavailable as failure:
        return str(failure)
    return None

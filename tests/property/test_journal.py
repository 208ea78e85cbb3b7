"""Whatever happens to a journal, each feed gets, still owes, or counts as lost every item."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from journalled import (
    Desk,
    TroubledStore,
    log_request,
    log_texts,
    span_names,
    trace_request,
)

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Unavailable
from otel_raglog.journal.cursors import CursorFolder
from otel_raglog.journal.journal import JournalLimits
from otel_raglog.journal.segments import SegmentStore
from otel_raglog.model import Decision, Payload, Piece, Signal
from otel_raglog.receive.picking import pick
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.sending import Pull, Taken

DESTINATIONS = ("one", "two")
SIGNALS = (Signal.TRACES, Signal.LOGS)
FEEDS = [(name, signal) for name in DESTINATIONS for signal in SIGNALS]
HEADERS = ((), (("x-scope-orgid", "7"),))
SEGMENT_BYTES = 400
MAX_BYTES = 2_500
MAX_AGE = 1_000.0
RARE_SECONDS = 600.0

signals = st.sampled_from(SIGNALS)
feeds = st.sampled_from(FEEDS)
headers = st.sampled_from(HEADERS)


@dataclass
class Item:
    """A span or log record: where it is, what it left as, and who has it."""

    name: str
    signal: Signal
    request: int
    ordinal: int
    headers: tuple[tuple[str, str], ...]
    payload: Payload | None = None
    settled: set[str] = field(default_factory=set)


class JournalMachine(RuleBasedStateMachine):
    """A journal beside a list of all items; destination ``two`` may be down for long."""

    on_disk = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) if self.on_disk else None
        self.items: dict[str, Item] = {}
        self.taken: dict[tuple[str, Signal], Taken] = {}
        self.limits = JournalLimits(MAX_BYTES, MAX_AGE, 0, 500, 500)
        self.names = 0
        self.owed: list[tuple[list[str], Payload]] = []
        if self.folder is None:
            self.desk = Desk(DESTINATIONS, limits=self.limits, segment_bytes=SEGMENT_BYTES)
        else:
            self.desk = Desk(
                DESTINATIONS,
                limits=self.limits,
                stores=self.open_stores(),
                cursors=CursorFolder(self.folder / "cursors"),
            )

    def open_stores(self) -> tuple[SegmentStore, SegmentStore]:
        assert self.folder is not None
        clock = ManualClock(1_000_000.0)
        return (
            SegmentStore(self.folder / "requests", SEGMENT_BYTES, "none", clock),
            SegmentStore(self.folder / "decisions", SEGMENT_BYTES, "none", clock),
        )

    def teardown(self) -> None:
        self.desk.journal.close()
        if self.folder is not None:
            shutil.rmtree(self.folder)

    # ------------------------------------------------------------------------- doors

    @rule(
        signal=signals,
        kept=headers,
        kinds=st.lists(st.booleans(), min_size=1, max_size=4),
        size=st.integers(1, 200),
    )
    def accept(
        self, signal: Signal, kept: tuple[tuple[str, str], ...], kinds: list[bool], size: int
    ) -> None:
        """Accept a request of items that pass and others that wait; logs all pass."""
        names = [self.new_name(size) for _ in kinds]
        whole = signal is Signal.LOGS or all(kinds)
        passing = () if whole else tuple(at for at, passes in enumerate(kinds) if passes)
        passes = names if whole else [names[at] for at in passing]
        body = trace_request(names) if signal is Signal.TRACES else log_request(names)
        request = Payload(signal, body, len(names), kept)
        payload = request if whole else encode_payload(pick(body, Piece(0, passing)), kept)
        must_take = self.must_take()
        try:
            number = self.desk.journal.accept(request, payload if passes else None, passing)
        except Unavailable:
            event("refused")
            assert not must_take
            assert self.desk.journal.why_refusing() is not None
            return
        for at, name in enumerate(names):
            self.items[name] = Item(name, signal, number, at, kept)
        if passes:
            if self.desk.decisions.refusing:
                self.owed.append((passes, payload))
            else:
                self.left(passes, payload)

    def new_name(self, size: int) -> str:
        self.names += 1
        return f"{self.names}-{'x' * size}"

    def must_take(self) -> bool:
        """Return whether nothing may hold up the journal: one destination has everything."""
        if any(item.payload is None for item in self.items.values()):
            return False
        return any(
            all(name in item.settled for item in self.items.values()) for name in DESTINATIONS
        )

    @rule(data=st.data())
    @precondition(lambda self: self.waiting())
    def decide(self, data: st.DataObject) -> None:
        """Release some spans that wait, in any order, in one decision or two."""
        chosen = data.draw(st.permutations(self.waiting()))
        chosen = chosen[: data.draw(st.integers(1, len(chosen)))]
        kept = self.items[chosen[0]].headers
        groups = [
            [name for name in chosen if (self.items[name].headers == kept) is same]
            for same in (True, False)
        ]
        made = [self.decision(group) for group in groups if group]
        try:
            self.desk.journal.decide([one for one, _ in made], [other for _, other in made])
        except Unavailable:
            assert self.desk.decisions.refusing
            return
        for group, (_, payload) in zip([group for group in groups if group], made, strict=True):
            self.left(group, payload)

    def waiting(self) -> list[str]:
        return [
            item.name
            for item in self.items.values()
            if item.payload is None and item.signal is Signal.TRACES
        ]

    def decision(self, names: list[str]) -> tuple[Decision, Payload]:
        chosen = [self.items[name] for name in names]
        pieces = tuple(Piece(item.request, (item.ordinal,), (b"",)) for item in chosen)
        spans = [s for piece in pieces for s in pick(self.desk.read(piece.request), piece)]
        payload = Payload(Signal.TRACES, encode_request(spans), len(names), chosen[0].headers)
        return Decision(Signal.TRACES, len(names), pieces, b"t" * 16), payload

    def left(self, names: Iterable[str], payload: Payload) -> None:
        for name in names:
            assert self.items[name].payload is None
            self.items[name].payload = payload

    # ----------------------------------------------------------------------- senders

    @rule(which=feeds, items=st.integers(1, 6))
    def take(self, which: tuple[str, Signal], items: int) -> None:
        """Send a batch, as far as the destination gets to see it; it is not settled yet."""
        feed = self.desk.feed(*which)
        if not feed.pending_items:
            return
        taken = feed.take(Pull(items, 10_000, 0.0))
        assert taken is not None
        assert taken.payloads
        for payload in taken.payloads:
            for name in names_in(payload):
                assert payload == self.items[name].payload
                assert which[0] not in self.items[name].settled
        self.taken[which] = taken

    @rule(which=feeds)
    def settle(self, which: tuple[str, Signal]) -> None:
        """Settle what was taken, also when the journal gave it up meanwhile."""
        taken = self.taken.pop(which, None)
        if taken is None:
            return
        self.desk.feed(*which).settle(taken)
        for payload in taken.payloads:
            for name in names_in(payload):
                self.items[name].settled.add(which[0])

    @rule()
    def deliver_all_to_one(self) -> None:
        """Destination ``one`` is up most of the time."""
        for signal in SIGNALS:
            while self.desk.feed("one", signal).pending_items:
                self.take(("one", signal), 100)
                self.settle(("one", signal))

    # -------------------------------------------------------------------------- time

    @rule()
    def tick(self) -> None:
        """Tidy up; owed decisions are written."""
        self.desk.journal.tick()
        if not self.desk.decisions.refusing:
            for names, payload in self.owed:
                self.left(names, payload)
            self.owed.clear()

    @rule()
    def grow_old(self) -> None:
        """Now and then something expires."""
        self.desk.clock.advance(RARE_SECONDS)
        self.tick()

    @rule(refusing=st.booleans())
    def trouble(self, refusing: bool) -> None:
        """The disk refuses decisions, or takes them again."""
        self.desk.decisions.refusing = refusing
        if not refusing:
            self.tick()

    @rule(torn=st.binary(max_size=30))
    def crash(self, torn: bytes) -> None:
        """Kill the process and start it anew; the disk may hold the beginning of a record."""
        event("killed" + (" with something adrift" if self.is_adrift() else ""))
        self.desk.decisions.refusing = False
        self.taken.clear()
        self.owed.clear()
        if self.folder is not None:
            self.desk.requests.inner.close()
            self.desk.decisions.inner.close()
            for folder in ("requests", "decisions"):
                last = max((self.folder / folder).iterdir(), default=None)
                if last is not None and last.is_file():
                    with last.open("ab") as file:
                        file.write(torn)
            stores = self.open_stores()
            self.desk.requests = TroubledStore(stores[0])
            self.desk.decisions = TroubledStore(stores[1])
            self.desk.cursors = CursorFolder(self.folder / "cursors")
        self.desk.start()
        undecided = {
            (number, ordinal)
            for number, request, decided in self.desk.recovered.requests
            for ordinal in set(range(request.items)) - decided
        }
        expected = {(i.request, i.ordinal) for i in self.items.values() if i.payload is None}
        assert undecided == expected
        unsent = (item for item in self.items.values() if item.payload is None)
        for number in {item.request for item in unsent if item.signal is Signal.LOGS}:
            self.pass_again(number)

    def pass_again(self, number: int) -> None:
        """Decide a recovered request whose passing decision was owed, as the service does."""
        names = [item.name for item in self.items.values() if item.request == number]
        item = self.items[names[0]]
        payload = Payload(item.signal, self.desk.read(number), len(names), item.headers)
        made = Decision(item.signal, len(names), (Piece(number),))
        self.desk.journal.decide([made], [payload])
        self.left(names, payload)

    def is_adrift(self) -> bool:
        feeds_there = (self.desk.feed(*which) for which in FEEDS)
        return any(feed._backlog.passed(feed._place).lent for feed in feeds_there)

    # -------------------------------------------------------------------- conclusions

    @invariant()
    def nothing_is_lost_silently(self) -> None:
        """Decided = settled + dropped and counted + pending, for each feed, at any moment."""
        for name, signal in FEEDS:
            there = [item for item in self.items.values() if item.signal is signal]
            decided = sum(item.payload is not None for item in there)
            settled = sum(name in item.settled for item in there)
            lost = self.desk.tally.lost(name, signal)
            pending = self.desk.feed(name, signal).pending_items
            assert decided == settled + lost + pending, (name, signal)
        for _, _, reason in self.desk.tally.dropped_items:
            event(f"dropped: {reason}")

    @invariant()
    def what_is_undecided_is_known(self) -> None:
        """To the item."""
        undecided = sum(item.payload is None for item in self.items.values())
        assert self.desk.journal.undecided_items == undecided

    @invariant()
    def nothing_is_damaged(self) -> None:
        """A torn tail was never acknowledged, and what is dropped is dropped in order."""
        assert self.desk.tally.damaged_records == 0
        assert not any(
            reason == "journal_damaged" for _, _, reason in self.desk.tally.dropped_items
        )

    @invariant()
    def memory_is_bounded(self) -> None:
        """Payloads beyond the ring's size are made again from the log."""
        assert self.desk.journal._backlog.ring_bytes <= self.limits.ring_bytes

    @rule()
    def deliver_everything(self) -> None:
        """Once everything is decided and delivered, space is free again."""
        if self.desk.decisions.refusing or self.waiting():
            return
        for which in FEEDS:
            self.settle(which)
            while self.desk.feed(*which).pending_items:
                self.take(which, 100)
                self.settle(which)
        assert self.desk.journal._backlog.ring_bytes == 0
        self.desk.clock.advance(MAX_AGE + 1)
        self.desk.journal.tick()
        assert self.desk.requests.first == self.desk.requests.next


def names_in(payload: Payload) -> list[str]:
    return span_names(payload.body) if payload.signal is Signal.TRACES else log_texts(payload.body)


class DiskJournalMachine(JournalMachine):
    """The same on files, with torn tails."""

    on_disk = True


patiently = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
TestJournalInMemory = JournalMachine.TestCase
TestJournalInMemory.settings = settings(max_examples=60, stateful_step_count=50, **patiently)
TestJournalOnDisk = DiskJournalMachine.TestCase
TestJournalOnDisk.settings = settings(max_examples=25, stateful_step_count=40, **patiently)

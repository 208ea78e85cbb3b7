"""A feed hands out what was decided, in batches that one request can carry."""

from __future__ import annotations

from journalled import NOW, Desk, span_names, trace_request

from otel_raglog.errors import Unavailable
from otel_raglog.journal.cursors import Mark, MemoryCursor, MemoryCursors
from otel_raglog.journal.feed import cursor_name
from otel_raglog.journal.journal import JournalLimits
from otel_raglog.model import Signal
from otel_raglog_exporters.sending import Pull

NO_RING = JournalLimits(100_000_000, 3600.0, 0, 0, 0)


def fill(desk: Desk, *orgs: str) -> None:
    """Accept a request of one span for each organisation."""
    for org in orgs:
        desk.pass_whole(trace_request([org]), 1, headers=(("org", org),))


def taken_names(desk: Desk, pull: Pull = NOW) -> list[str]:
    taken = desk.feed().take(pull)
    assert taken is not None
    desk.feed().settle(taken)
    return [name for payload in taken.payloads for name in span_names(payload.body)]


def test_payloads_of_one_batch_keep_their_headers() -> None:
    """Of several tenants at once, from memory and made again: none of them waits for another."""
    for limits in (None, NO_RING):
        desk = Desk(limits=limits)
        fill(desk, "a", "a", "b", "a")
        taken = desk.feed().take(NOW)
        assert taken is not None
        tenants = [payload.headers for payload in taken.payloads]
        assert tenants == [(("org", org),) for org in "aaba"]
        assert taken_names(desk) == ["a", "a", "b", "a"]


def test_a_feed_that_keeps_up_never_reads_the_log() -> None:
    """One that does not, does."""
    desk = Desk()
    fill(desk, "a")
    taken_names(desk)
    assert desk.decisions.reads == 0
    slow = Desk(limits=NO_RING)
    fill(slow, "a")
    taken_names(slow)
    assert slow.decisions.reads == 1


def test_what_cannot_be_made_again_is_counted_once_and_passed_over() -> None:
    """Taking it again without having settled it counts nothing more."""
    desk = Desk(limits=NO_RING)
    fill(desk, "a", "a", "a")
    desk.requests.damaged.add(2)
    for _ in range(2):
        taken = desk.feed().take(NOW)
        assert taken is not None
        assert len(taken.payloads) == 2
    desk.feed().settle(taken)
    assert desk.tally.dropped_items == {("one", Signal.TRACES, "journal_damaged"): 1}
    assert desk.tally.damaged_records == 1
    assert desk.feed().pending_items == 0


def test_a_feed_with_nothing_but_damage_moves_on() -> None:
    """To what comes after, or to its end."""
    desk = Desk(limits=NO_RING)
    fill(desk, "a", "b")
    desk.decisions.damaged.add(1)
    assert taken_names(desk) == ["b"]
    fill(desk, "c")
    desk.requests.missing.add(3)
    desk.feed().close()
    assert desk.feed().take(NOW) is None
    assert desk.tally.lost("one", Signal.TRACES) == 2


def test_a_log_that_cannot_be_read_now_loses_nothing() -> None:
    """A closed feed does not wait for it."""
    desk = Desk(limits=NO_RING)
    fill(desk, "a")

    def refuse(number: int) -> bytes:
        raise Unavailable("too many open files")

    desk.requests.read = refuse  # type: ignore[method-assign]
    desk.feed().close()
    assert desk.feed().take(NOW) is None
    assert desk.feed().pending_items == 1
    assert not desk.tally.dropped_items


def test_closing_a_feed() -> None:
    """It ends when it is empty."""
    desk = Desk()
    fill(desk, "a")
    desk.feed().close()
    assert taken_names(desk, Pull(10, 1_000, 60.0)) == ["a"]
    assert desk.feed().take(NOW) is None


class StubbornCursors(MemoryCursors):
    """Cursors of a disk that refuses for a while."""

    refusing = False

    def open(self, name: str) -> MemoryCursor:
        cursor = super().open(name)
        write = cursor.write

        def refuse(mark: Mark) -> None:
            if self.refusing:
                raise Unavailable("no space left on device")
            write(mark)

        cursor.write = refuse  # type: ignore[method-assign]
        return cursor


def test_a_cursor_that_cannot_be_written_is_written_later() -> None:
    """The feed goes on meanwhile."""
    cursors = StubbornCursors()
    desk = Desk(cursors=cursors)
    cursors.refusing = True
    fill(desk, "a")
    taken_names(desk)
    cursor = cursors._cursors[cursor_name("one", Signal.TRACES)]
    assert cursor.read() == Mark(0, 0)
    cursors.refusing = False
    desk.journal.tick()
    assert cursor.read() == Mark(1, 0)

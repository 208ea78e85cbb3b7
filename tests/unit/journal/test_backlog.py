"""A backlog shows decisions in order, and each place goes its own way through them."""

from __future__ import annotations

import threading

from otel_raglog.journal.backlog import Backlog, Entry, Place, Slot
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.sending import Pull, Taken

NOW = Pull(1_000, 1_000_000, 0.0)
SLOW = Pull(1_000, 1_000_000, 60.0)


def entry(name: str = "a", signal: Signal = Signal.TRACES, items: int = 1) -> Entry:
    payload = Payload(signal, name.encode(), items)
    return Entry(signal, items, len(payload.body), 0, payload)


def publish(backlog: Backlog, first: int, *entries: Entry) -> None:
    backlog.begin()
    backlog.publish(first, entries)


def numbers(backlog: Backlog, place: Place, pull: Pull = NOW) -> list[int]:
    slots = backlog.wait(place, pull)
    assert isinstance(slots, list)
    return [slot.number for slot in slots]


def lend(backlog: Backlog, place: Place, pull: Pull = NOW) -> Taken:
    slots = backlog.wait(place, pull)
    assert isinstance(slots, list)
    taken = backlog.lend(place, [(slot.number, slot.payload) for slot in slots if slot.payload])
    assert taken is not None
    return taken


def test_decisions_are_not_shown_before_those_that_are_still_being_written() -> None:
    """Else a cursor would pass them by."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    backlog.begin()
    publish(backlog, 2, entry())
    assert (place.items, backlog.last_shown) == (0, 0)
    backlog.publish(1, [entry()])
    assert numbers(backlog, place) == [1, 2]


def test_a_number_that_nobody_will_publish_holds_up_nothing() -> None:
    """As after a refused write."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    backlog.begin()
    publish(backlog, 2, entry())
    backlog.fail()
    assert numbers(backlog, place) == [2]
    publish(backlog, 5, entry())
    assert numbers(backlog, place) == [2, 5]


def test_other_signals_are_passed_over() -> None:
    """A place without anything to get has reached everything."""
    backlog = Backlog(1_000)
    traces, logs = backlog.subscribe(Signal.TRACES), backlog.subscribe(Signal.LOGS)
    publish(backlog, 1, entry(signal=Signal.LOGS), entry(), entry(signal=Signal.LOGS))
    assert numbers(backlog, traces) == [2]
    assert numbers(backlog, logs) == [1, 3]
    assert (backlog.reached(traces), backlog.reached(logs)) == (1, 0)
    backlog.settle(logs, 3)
    assert backlog.reached(logs) == 3


def test_a_batch_ends_where_it_would_be_too_big() -> None:
    """It holds one payload at least."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry("aaa", items=5), entry("b", items=5), entry("cc", items=1))
    assert numbers(backlog, place, Pull(1, 1, 0.0)) == [1]
    assert numbers(backlog, place, Pull(10, 100, 0.0)) == [1, 2]
    assert numbers(backlog, place, Pull(100, 4, 0.0)) == [1, 2]
    assert numbers(backlog, place) == [1, 2, 3]


def test_a_batch_that_is_full_or_closed_does_not_wait() -> None:
    """Others wait for more."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry(items=9))
    assert numbers(backlog, place, Pull(9, 1_000, 60.0)) == [1]
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(backlog.wait(place, SLOW)))
    thread.start()
    while place.wanted is None:
        pass
    backlog.close(place)
    thread.join(10)
    assert found == [[Slot(1, 9, Payload(Signal.TRACES, b"a", 9))]]
    assert numbers(backlog, place, SLOW) == [1]
    backlog.settle(place, 1)
    assert backlog.wait(place, SLOW) is None


def test_after_a_failure_the_next_waits_until_all_who_write_are_done() -> None:
    """Else a number that is missing for good could not be told from one that is still written."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    backlog.begin()
    backlog.begin()
    backlog.fail()
    third = threading.Thread(target=backlog.begin, daemon=True)
    third.start()
    third.join(0.05)
    assert third.is_alive()
    backlog.publish(2, [entry()])  # number 1 went with the failure
    third.join(10)
    assert not third.is_alive()
    assert numbers(backlog, place) == [2]


def test_what_all_places_have_passed_is_let_go() -> None:
    """A line that only grew would fill the memory in weeks."""
    backlog = Backlog(1_000)
    one, two = backlog.subscribe(Signal.TRACES), backlog.subscribe(Signal.TRACES)
    for number in range(1, 1_001):
        publish(backlog, number, entry())
        backlog.settle(one, number)
        if number > 10:
            backlog.settle(two, number - 10)
    line = one.line
    columns = (line._numbers, line._items, line._sizes, line._seconds)
    assert {len(column) for column in columns} <= set(range(10, 31))
    assert numbers(backlog, two) == list(range(991, 1_001))


def test_payloads_leave_memory_when_all_have_settled_them() -> None:
    """Not when the first has."""
    backlog = Backlog(1_000)
    one, two = backlog.subscribe(Signal.TRACES), backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry("aaaa"), entry("bb"))
    backlog.settle(one, 2)
    assert backlog.ring_bytes == 6
    backlog.settle(two, 1)
    assert backlog.ring_bytes == 2
    backlog.settle(two, 2)
    assert backlog.ring_bytes == 0


def test_beyond_the_budget_the_oldest_payloads_leave_memory() -> None:
    """They are still owed; so is one that is bigger than the budget."""
    backlog = Backlog(5)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry("aaa"), entry("bbb"), entry("cc"))
    slots = backlog.wait(place, NOW)
    assert isinstance(slots, list)
    assert [slot.payload is not None for slot in slots] == [False, True, True]
    publish(backlog, 4, entry("dddddd"))
    assert backlog.ring_bytes == 0
    assert (place.items, place.size) == (4, 14)


def test_what_is_given_up_is_lost_except_what_a_sender_has() -> None:
    """That stays pending until it is settled, and is told as adrift."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, *(entry(items=10) for _ in range(4)))
    taken = lend(backlog, place, Pull(20, 1_000, 0.0))
    assert backlog.give_up(place, 3) == 10
    assert (place.items, backlog.reached(place)) == (30, 3)
    assert tuple(backlog.passed(place)) == (3, 20)
    assert backlog.wait(place, NOW) is taken
    backlog.settle(place, taken.last)
    assert place.items == 10
    assert tuple(backlog.passed(place)) == (3, 0)
    assert numbers(backlog, place) == [4]


def test_giving_up_in_the_middle_of_what_a_sender_has_sets_all_of_it_adrift() -> None:
    """Nothing of it is lost, and nothing comes twice."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry(), entry(), entry())
    taken = lend(backlog, place, Pull(2, 1_000, 0.0))
    assert backlog.give_up(place, 1) == 0
    backlog.settle(place, taken.last)
    assert numbers(backlog, place) == [3]


def test_what_is_not_shown_yet_cannot_be_given_up() -> None:
    """It would be owed, and yet passed."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry())
    backlog.begin()
    assert backlog.give_up(place, 2) == 1
    backlog.publish(2, [entry()])
    assert lend(backlog, place).last == 2


def test_a_batch_that_was_given_up_while_it_was_made_is_not_lent() -> None:
    """It was counted already."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, entry(), entry())
    slots = backlog.wait(place, NOW)
    assert isinstance(slots, list)
    payloads = [(slot.number, slot.payload) for slot in slots if slot.payload]
    backlog.give_up(place, 1)
    taken = backlog.lend(place, payloads)
    assert taken is not None
    assert len(taken.payloads) == 1
    backlog.settle(place, 2)
    assert backlog.lend(place, payloads) is None


def test_decisions_expire_by_the_time_they_were_taken() -> None:
    """Only those that are owed count."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    publish(backlog, 1, *(entry()._replace(unix_seconds=at) for at in (10, 20, 30)))
    assert [backlog.expired(place, at) for at in (9, 10, 25, 99)] == [0, 1, 2, 3]
    backlog.settle(place, 3)
    assert backlog.expired(place, 99) == 0


def test_a_restored_line_is_what_is_behind_the_cursor() -> None:
    """Numbers go on where they were."""
    backlog = Backlog(1_000)
    place = backlog.subscribe(Signal.TRACES)
    backlog.restore([(4, Entry(Signal.TRACES, 7, 70, 0)), (6, Entry(Signal.TRACES, 8, 80, 0))], 9)
    backlog.put_back(place, 4)
    assert (place.items, place.size, numbers(backlog, place)) == (8, 80, [6])
    publish(backlog, 9, entry())
    assert numbers(backlog, place) == [6, 9]

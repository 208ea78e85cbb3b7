"""What every store of the journal must do, asked of the one on disk and the one in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Unavailable
from otel_raglog.journal.memory import MemoryStore
from otel_raglog.journal.segments import SegmentStore
from otel_raglog.journal.store import Missing, Store

SEGMENT_BYTES = 4096

Opened = Callable[[], Store]


@pytest.fixture(params=["memory", "segments", "segments, group commit"])
def open_store(request, tmp_path, clock) -> Iterator[Opened]:
    opened: list[Store] = []

    def open_one() -> Store:
        if request.param == "memory":
            store: Store = MemoryStore(SEGMENT_BYTES, clock)
        else:
            fsync = "group" if "group" in request.param else "none"
            store = SegmentStore(tmp_path / "log", SEGMENT_BYTES, fsync, clock)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def store(open_store) -> Store:
    return open_store()


def test_numbers_are_consecutive_from_one(store):
    """The first record is 1, and a batch has the numbers from the one that is returned."""
    assert store.append([[b"a"]]) == 1
    assert store.append([[b"b"], [b"c"], [b"d"]]) == 2
    assert store.append([[b"e"]]) == 5
    assert store.next == 6
    assert list(store.numbers()) == [1, 2, 3, 4, 5]


def test_a_record_is_the_concatenation_of_its_chunks(store):
    """Chunks are joined when read; empty chunks and empty records are allowed."""
    store.append([[b"head", b"", b"body"], [], [b""], [bytes(range(256)) * 100]])
    assert [store.read(number) for number in (1, 2, 3, 4)] == [
        b"headbody",
        b"",
        b"",
        bytes(range(256)) * 100,
    ]


def test_many_chunks_in_one_append(store):
    """More chunks than the system takes in one call make no difference."""
    records = [[str(number).encode(), b"-", b"x" * (number % 7)] for number in range(3000)]
    store.append(records)
    assert [store.read(n) for n in store.numbers()] == [b"".join(record) for record in records]


def test_appending_nothing_changes_nothing(store):
    """No records get no number."""
    assert store.append([]) == 1
    assert store.next == 1
    assert list(store.numbers()) == []


def test_a_probe_changes_nothing(open_store):
    """A closed store refuses it as it refuses a record."""
    store = open_store()
    store.append([[b"a"]])
    store.probe(1_000)
    assert (store.first, store.next, list(store.numbers())) == (1, 2, [1])
    store.close()
    with pytest.raises(Unavailable):
        store.probe(1)


@pytest.mark.parametrize("number", [-1, 0, 3, 10**12])
def test_what_was_never_written_is_missing(store, number):
    """A number outside the log is Missing, and the error bears it."""
    store.append([[b"a"], [b"b"]])
    with pytest.raises(Missing) as caught:
        store.read(number)
    assert caught.value.number == number


def test_an_empty_store_says_so(store):
    """Nothing there: first is next, no age, no numbers."""
    assert store.first == store.next == 1
    assert store.oldest_age_seconds(5000.0) == 0.0
    assert store.segment_bytes == SEGMENT_BYTES
    assert store.damaged_records == 0


def test_segments_end_where_the_next_begins(store):
    """Going from one segment's end to the next visits all records and stops at ``next``."""
    for _ in range(20):
        store.append([[b"x" * 1000]])
    ends = []
    number = store.first
    while number < store.next:
        number = store.segment_end(number)
        ends.append(number)
    assert len(ends) > 3
    assert ends[-1] == store.next == 21


def test_a_batch_stays_in_one_segment(store):
    """A batch is not cut in two, and a record larger than a segment gets one of its own."""
    store.append([[b"x" * 3000]])
    store.append([[b"y" * 3000]] * 5)
    store.append([[b"z"]])
    assert store.segment_end(1) == 2
    assert store.segment_end(2) == 7
    assert store.read(6) == b"y" * 3000


def test_dropping_frees_whole_segments_only(store):
    """Records of a segment that is still needed stay; those of others are Missing afterwards."""
    for _ in range(20):
        store.append([[b"x" * 1000]])
    end = store.segment_end(1)
    before = store.size_bytes
    assert store.drop_before(end - 1) == 0
    assert store.read(1) == b"x" * 1000
    freed = store.drop_before(end)
    assert freed >= 1000 * (end - 1)
    assert store.size_bytes == before - freed
    assert store.first == end
    assert list(store.numbers()) == list(range(end, 21))
    with pytest.raises(Missing):
        store.read(1)
    assert store.read(end) == b"x" * 1000


def test_the_segment_being_written_is_freed_when_nothing_in_it_is_needed(store):
    """Dropping everything leaves next to nothing, and the numbers go on."""
    store.append([[b"x" * 1000], [b"y"]])
    assert store.drop_before(2) == 0
    assert store.drop_before(store.next) >= 1001
    assert store.size_bytes < 200
    assert store.first == store.next == 3
    assert store.append([[b"z"]]) == 3
    assert store.read(3) == b"z"
    assert list(store.numbers()) == [3]


def test_dropping_beyond_the_end_is_dropping_all(store):
    """A number far ahead drops what is there and does not move the numbers."""
    store.append([[b"a"]])
    store.drop_before(1000)
    assert store.append([[b"b"]]) == 2


def test_skipping_leaves_a_gap(store):
    """Later numbers begin at the number asked for; those in between are Missing."""
    store.append([[b"a"]])
    store.skip_to(10)
    assert store.next == 10
    assert store.append([[b"b"]]) == 10
    assert list(store.numbers()) == [1, 10]
    assert store.segment_end(1) == 2
    assert store.segment_end(2) == store.segment_end(5) == 10
    assert store.segment_end(10) == 11
    with pytest.raises(Missing):
        store.read(5)


def test_skipping_back_does_nothing(store):
    """Numbers never go back."""
    store.append([[b"a"], [b"b"]])
    store.skip_to(1)
    assert store.append([[b"c"]]) == 3


def test_skipping_twice_on_an_empty_store(store):
    """The last of several skips counts, and nothing is there."""
    store.skip_to(7)
    store.skip_to(9)
    assert store.first == store.next == 9
    assert store.append([[b"a"]]) == 9


def test_the_oldest_records_age(store, clock):
    """Age runs from the first record that is left, not from the making of its segment."""
    clock.advance(500)
    store.append([[b"x" * 3000]])
    clock.advance(60)
    store.append([[b"y" * 3000]])
    assert store.oldest_age_seconds(1600.0) == pytest.approx(100)
    store.drop_before(2)
    assert store.oldest_age_seconds(1600.0) == pytest.approx(40)
    assert store.oldest_age_seconds(0.0) == 0.0


def test_a_closed_store_takes_nothing_but_can_be_read(store):
    """After close, appending is Unavailable and reading goes on; closing again is nothing."""
    store.append([[b"a"]])
    store.close()
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.append([[b"b"]])
    assert store.read(1) == b"a"


def test_threads_append_and_read_at_once(store):
    """Every record is read back under the number its writer was given, whoever else is at work."""
    kept: dict[int, bytes] = {}
    wrong: list[int] = []
    written = threading.Event()

    def write(name: int) -> None:
        for count in range(60):
            records = [[b"%d-" % name, b"%d-%d" % (count, part) * 20] for part in range(3)]
            first = store.append(records)
            own = {first + part: b"".join(chunks) for part, chunks in enumerate(records)}
            kept.update(own)
            check(own)

    def read() -> None:
        while not written.is_set():
            check(kept.copy())

    def check(expected: dict[int, bytes]) -> None:
        wrong.extend(number for number in expected if store.read(number) != expected[number])

    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    reader = threading.Thread(target=read)
    for thread in [*writers, reader]:
        thread.start()
    for thread in writers:
        thread.join()
    written.set()
    reader.join()
    assert wrong == []
    assert list(store.numbers()) == sorted(kept) == list(range(1, 721))


def test_reading_what_is_dropped_meanwhile_is_missing_at_worst(store):
    """A reader that races with dropping gets the record or Missing, never damage."""
    done = threading.Event()
    problems: list[BaseException] = []

    def read() -> None:
        while not done.is_set():
            for number in store.numbers():
                try:
                    assert store.read(number) == b"%d" % number * 300
                except Missing:
                    pass
                except BaseException as wrong:  # noqa: BLE001 - carried to the test's thread
                    problems.append(wrong)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 300):
        store.append([[b"%d" % number * 300]])
        store.drop_before(number - 5 if number % 3 else number + 1)
    done.set()
    reader.join()
    assert problems == []
    assert store.damaged_records == 0

"""Segment files against a plain dictionary, through appends, drops, restarts and every damage."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from otel_raglog.clock import ManualClock
from otel_raglog.journal.framing import RECORD_HEADER, SEGMENT_HEADER, RecordHeader, checksum
from otel_raglog.journal.numbering import holding
from otel_raglog.journal.segments import SegmentStore
from otel_raglog.journal.store import Damaged, Missing, Unreadable

SEGMENT_BYTES = 1500


def disguised(number: int) -> bytes:
    """Return a payload that looks like a record, without knowing the segment's mark."""
    inner = b"I am a record"
    return RecordHeader(number, 1, len(inner), checksum(inner)).encode(b"whatever") + inner


payloads = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.just(b""),
    st.integers(0, 700).map(lambda size: b"\0" * size),
    st.integers(1, 40).map(disguised),
    st.just(b"x" * (2 * SEGMENT_BYTES)),
)


@dataclass
class Place:
    """Where a record's bytes are."""

    file: Path
    start: int
    end: int


def positions(places: list[Place], size: int) -> st.SearchStrategy[int]:
    """Return offsets within a file: anywhere, in the headers of records, in their payloads."""
    anywhere = st.integers(0, size - 1)
    headers = [at for p in places for at in range(p.start, p.start + RECORD_HEADER)]
    last_bytes = [p.end - 1 for p in places]
    return st.one_of(anywhere, *(st.sampled_from(some) for some in (headers, last_bytes) if some))


class Machine(RuleBasedStateMachine):
    """A store on disk, and what it should hold.

    ``held`` are readable records, ``damaged`` those that must be told as such, and ``lost`` those
    that must not be readable, whether the store still knows of them or not.
    """

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.held: dict[int, bytes] = {}
        self.damaged: set[int] = set()
        self.lost: set[int] = set()
        self.given = 0
        self.hurt: set[Path] = set()
        self.open()

    def open(self) -> None:
        self.store = SegmentStore(self.folder, SEGMENT_BYTES, "none", ManualClock(1.0))

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def places(self) -> dict[int, Place]:
        """Return where each held record is, as the store that wrote them knows."""
        places = {}
        for segment in self.store._segments:
            for number in range(segment.first, segment.end):
                if number in self.held:
                    start = segment.offsets[number - segment.first]
                    end = start + RECORD_HEADER + len(self.held[number])
                    places[number] = Place(segment.path, start, end)
        return places

    def files(self) -> list[Path]:
        return [segment.path for segment in self.store._segments if segment.offsets]

    @rule(batch=st.lists(payloads, min_size=1, max_size=4), cuts=st.integers(0, 50))
    def append(self, batch: list[bytes], cuts: int) -> None:
        first = self.store.append([[payload[:cuts], payload[cuts:]] for payload in batch])
        assert first > self.given
        self.given = first + len(batch) - 1
        self.held |= dict(enumerate(batch, first))

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, self.given + 2))
        size = self.store.size_bytes
        freed = self.store.drop_before(number)
        left = set(self.store.numbers())
        for gone in [known for known in self.held if known not in left]:
            assert gone < number
            del self.held[gone]
        self.damaged &= left
        assert size - freed <= self.store.size_bytes <= size - freed + SEGMENT_HEADER
        assert not left or min(left) >= number or self.store.segment_end(min(left)) > number

    @rule(ahead=st.integers(0, 5))
    def skip(self, ahead: int) -> None:
        """Leave numbers out; behind a damaged end they cannot be told from damaged ones."""
        self.store.skip_to(self.given + ahead)
        self.lost |= set(range(self.given + 1, self.given + ahead))
        self.given = max(self.given, self.given + ahead - 1)

    @rule()
    def restart(self) -> None:
        following = self.store.next
        self.store.close()
        self.open()
        assert self.store.next == following

    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        """Cut any file at any length: whole records before the cut stay."""
        if not self.files():
            return
        file = data.draw(st.sampled_from(self.files()))
        length = data.draw(st.integers(0, file.stat().st_size))
        places = self.places()
        unsure = {number for number in self.damaged if self.in_file(number, file)}
        self.store.close()
        with file.open("r+b") as opened:
            opened.truncate(length)
        self.lose(
            {n for n, place in places.items() if place.file == file and place.end > length} | unsure
        )
        self.hurt.add(file)
        self.open_and_skip()

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.files():
            return
        file = data.draw(st.sampled_from(self.files()))
        gone = {number for number in self.damaged | set(self.held) if self.in_file(number, file)}
        self.store.close()
        file.unlink()
        self.lose(gone)
        self.open_and_skip()

    @rule(data=st.data(), mask=st.integers(1, 255))
    def flip(self, data: st.DataObject, mask: int) -> None:
        """Change one byte of a file that is whole: it costs its record, if it is in one."""
        whole = [file for file in self.files() if file not in self.hurt]
        if not whole:
            return
        file = data.draw(st.sampled_from(whole))
        data_bytes = bytearray(file.read_bytes())
        places = self.places()
        here = [place for place in places.values() if place.file == file]
        at = data.draw(positions(here, len(data_bytes)))
        data_bytes[at] ^= mask
        self.store.close()
        file.write_bytes(data_bytes)
        hit = {
            number
            for number, place in places.items()
            if place.file == file and place.start <= at < place.end
        }
        for number in hit:
            del self.held[number]
        self.damaged |= hit
        self.hurt.add(file)
        self.open()
        assert self.store.next > self.given
        assert self.store.damaged_records == len(self.present_damaged())

    def in_file(self, number: int, file: Path) -> bool:
        segment = holding(self.store._segments, number)
        return segment is not None and segment.path == file

    def present_damaged(self) -> set[int]:
        return {number for number in self.store.numbers() if number not in self.held}

    def lose(self, numbers: set[int]) -> None:
        for number in numbers:
            self.held.pop(number, None)
        self.damaged -= numbers
        self.lost |= numbers

    def open_and_skip(self) -> None:
        """Open after numbers may have been lost; others remember them, as cursors do."""
        self.open()
        assert self.store.next > max([0, *self.held, *self.damaged, *self.store.numbers()])
        self.store.skip_to(self.given + 1)

    @invariant()
    def holds_what_it_should(self) -> None:
        if not hasattr(self, "store"):
            return
        for number, payload in self.held.items():
            assert self.store.read(number) == payload
        for number in self.damaged:
            with pytest.raises(Damaged):
                self.store.read(number)
        for number in self.lost:
            with pytest.raises(Unreadable):
                self.store.read(number)
        numbers = list(self.store.numbers())
        assert numbers == sorted(set(numbers))
        assert set(self.held) | self.damaged <= set(numbers)
        assert set(numbers) <= set(self.held) | self.damaged | self.lost
        assert self.store.next > self.given
        with pytest.raises(Missing):
            self.store.read(self.store.next)
        assert self.store.first <= min(numbers, default=self.store.next)


Machine.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


class TestSegments(Machine.TestCase):
    """A store on disk does what a dictionary would, but for the records that were damaged."""

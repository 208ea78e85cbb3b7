"""Segment files: the folder, the lock, disks that refuse, and the durability that is asked for."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.journal.framing import MAGIC, SEGMENT_HEADER
from otel_raglog.journal.segments import SegmentStore
from otel_raglog.journal.store import Damaged, Missing
from otel_raglog.journal.writing import SystemFiles

SEGMENT_BYTES = 4096


class FailingFiles(SystemFiles):
    """The system's calls, until a test says that one of them fails."""

    def __init__(self) -> None:
        self.write_error: int | None = None
        self.room = 0
        self.truncate_error: int | None = None
        self.sync_error: int | None = None
        self.syncs = 0
        self.before_sync = threading.Event()
        self.before_sync.set()

    def writev(self, descriptor: int, chunks: Sequence[bytes | memoryview]) -> int:
        if self.write_error is None:
            return super().writev(descriptor, chunks)
        if not self.room:
            raise OSError(self.write_error, os.strerror(self.write_error))
        written = os.write(descriptor, b"".join(chunks)[: self.room])
        self.room -= written
        return written

    def truncate(self, descriptor: int, size: int) -> None:
        if self.truncate_error is not None:
            raise OSError(self.truncate_error, os.strerror(self.truncate_error))
        super().truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        self.before_sync.wait(10)
        self.syncs += 1
        if self.sync_error is not None:
            raise OSError(self.sync_error, os.strerror(self.sync_error))


@pytest.fixture
def files() -> FailingFiles:
    return FailingFiles()


@pytest.fixture
def open_store(tmp_path, files) -> Iterator:
    opened = []

    def open_one(fsync="none", folder=tmp_path / "log") -> SegmentStore:
        for store in opened:
            store.close()
        opened.append(SegmentStore(folder, SEGMENT_BYTES, fsync, ManualClock(1e9), files=files))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store) -> SegmentStore:
    return open_store()


def segment_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.segment"))


# --- the folder ---


def test_the_folder_is_private(store, tmp_path):
    """Nobody else may read what was accepted: folder 0700, files 0600."""
    store.append([[b"secret"]])
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "log").iterdir()} == {0o600}


def test_an_open_folder_is_made_private(open_store, tmp_path):
    """A folder that was there and readable to others is closed to them."""
    (tmp_path / "log").mkdir(mode=0o755)
    open_store()
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o700


def test_a_folder_has_one_owner(store, tmp_path):
    """A second store in the same folder is refused, and the option is named."""
    with pytest.raises(ConfigError, match=r"journal\.path .*log: another process has it"):
        SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", ManualClock())
    store.append([[b"still mine"]])
    store.close()
    SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", ManualClock()).close()


def test_a_folder_that_cannot_be_made(tmp_path):
    """A file in the way is a wrong configuration, told in the system's words."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"journal\.path .*Not a directory"):
        SegmentStore(tmp_path / "file" / "log", SEGMENT_BYTES, "none", ManualClock())


def test_reopening_reads_what_was_written_and_begins_a_segment(open_store, tmp_path):
    """Records and numbers outlive the process; the old file is not written again."""
    open_store().append([[b"a"], [b"b", b"c"]])
    old = segment_files(tmp_path / "log")[0].read_bytes()
    again = open_store()
    assert [again.read(n) for n in again.numbers()] == [b"a", b"bc"]
    assert again.append([[b"d"]]) == 3
    assert segment_files(tmp_path / "log")[0].read_bytes() == old


def test_opening_and_closing_leaves_no_pile_of_files(open_store, tmp_path):
    """Empty segments are removed at the next start."""
    open_store().append([[b"a"]])
    for _ in range(5):
        open_store()
    assert len(segment_files(tmp_path / "log")) == 2


def test_numbers_go_on_although_everything_was_dropped(open_store):
    """An empty log remembers how far it had counted."""
    first = open_store()
    first.append([[b"a"]] * 9)
    first.drop_before(10)
    assert open_store().next == 10
    assert open_store().append([[b"b"]]) == 10


def test_a_skip_is_remembered(open_store):
    """After a restart the numbers go on from where they were skipped to."""
    open_store().skip_to(100)
    again = open_store()
    assert again.append([[b"a"]]) == 100
    again.skip_to(200)
    assert open_store().next == 200


def test_a_killed_process_loses_nothing(tmp_path):
    """Whatever append returned for is there after ``kill -9``, without any sync."""
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from otel_raglog.clock import SystemClock\n"
        "from otel_raglog.journal.segments import SegmentStore\n"
        "store = SegmentStore(Path(sys.argv[1]), 4096, 'none', SystemClock())\n"
        "for n in range(50): print(store.append([[b'%d' % n * 100]]), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, check=False
    )
    assert done.returncode == -9
    numbers = [int(line) for line in done.stdout.split()]
    store = SegmentStore(tmp_path, SEGMENT_BYTES, "none", ManualClock())
    assert numbers == list(store.numbers()) == list(range(1, 51))
    assert all(store.read(n) == b"%d" % (n - 1) * 100 for n in numbers)
    store.close()


# --- files that are not as they were ---


def test_files_of_others_are_left_alone(open_store, tmp_path):
    """What is no segment stays as it is, is counted, and its number is not used."""
    folder = tmp_path / "log"
    folder.mkdir()
    foreign = folder / "00000000000000000007.segment"
    foreign.write_bytes(b"somebody else's" * 20)
    (folder / "notes.txt").write_text("mine")
    store = open_store()
    assert sorted(path.name for path in store.left_alone) == [foreign.name, "notes.txt"]
    assert store.append([[b"a"]]) == 8
    assert foreign.read_bytes() == b"somebody else's" * 20


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, 10**20 - 1])
def test_a_number_that_leaves_no_room_in_64_bits_is_not_ours(open_store, tmp_path, number):
    """Such a file is left alone, and does not keep the service from starting."""
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / f"{number:020d}.segment").touch()
    store = open_store()
    assert [path.name for path in store.left_alone] == [f"{number:020d}.segment"]
    assert store.append([[b"a"]]) == 1


def test_a_newer_version_is_left_alone(open_store, tmp_path):
    """A file of a version from the future is neither read nor removed."""
    folder = tmp_path / "log"
    folder.mkdir()
    newer = folder / "00000000000000000003.segment"
    newer.write_bytes(MAGIC + (99).to_bytes(4, "little") + b"who knows" * 30)
    store = open_store()
    assert store.left_alone == [newer]
    assert store.append([[b"a"]]) == 4
    open_store()
    assert newer.exists()


def test_a_header_that_was_never_completed_is_cleared_away(open_store, tmp_path):
    """A kill while a segment is made leaves a stub: no report, no file, but its number counts."""
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "00000000000000000005.segment").write_bytes(MAGIC[:5])
    store = open_store()
    assert store.left_alone == []
    assert store.append([[b"a"]]) == 5
    assert store.read(5) == b"a"


def test_a_file_deleted_while_running_costs_its_own_records(store, tmp_path):
    """Its records are Missing, the others are read, and appending goes on."""
    for _ in range(9):
        store.append([[b"x" * 1500]])
    segment_files(tmp_path / "log")[1].unlink()
    lost = range(store.segment_end(1), store.segment_end(store.segment_end(1)))
    for number in store.numbers():
        if number in lost:
            with pytest.raises(Missing):
                store.read(number)
        else:
            assert store.read(number) == b"x" * 1500
    assert store.append([[b"y"]]) == 10
    assert store.drop_before(10) > 0


def test_a_byte_flipped_while_running_costs_its_record(store, tmp_path):
    """The record is Damaged from then on and counted once."""
    store.append([[b"a" * 100], [b"b" * 100], [b"c" * 100]])
    file = segment_files(tmp_path / "log")[0]
    data = bytearray(file.read_bytes())
    data[data.index(b"bbbb") + 50] ^= 1
    file.write_bytes(data)
    for _ in range(2):
        with pytest.raises(Damaged, match="record 2 is damaged"):
            store.read(2)
    assert store.damaged_records == 1
    assert (store.read(1), store.read(3)) == (b"a" * 100, b"c" * 100)


def test_running_out_of_descriptors_is_no_damage(store):
    """A passing shortage is Unavailable; the record is read when it is over."""
    store.append([[b"a"]])
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        with pytest.raises(Unavailable, match="Too many open files"):
            store.read(1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert store.read(1) == b"a"


def refuse_reading(monkeypatch, error):
    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("otel_raglog.journal.segments._read_at", refuse)


@pytest.mark.parametrize("error", [errno.EACCES, errno.ESTALE, errno.EIO, errno.ENOMEM])
def test_a_record_that_was_not_read_is_not_damaged(store, error):
    """A passing error is Unavailable, also one of the disk; the record is read when it is over."""
    store.append([[b"a"]])
    with pytest.MonkeyPatch.context() as patched:
        refuse_reading(patched, error)
        for _ in range(5):
            with pytest.raises(Unavailable):
                store.read(1)
    assert store.read(1) == b"a"
    assert store.damaged_records == 0


def test_a_bad_sector_costs_its_record(tmp_path, monkeypatch):
    """What the disk says for a minute is believed: else its feed would wait for good."""
    clock = ManualClock(1e9)
    store = SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", clock)
    store.append([[b"a"], [b"b"]])
    with monkeypatch.context() as patched:
        refuse_reading(patched, errno.EIO)
        with pytest.raises(Unavailable):
            store.read(1)
        clock.advance(59.0)
        with pytest.raises(Unavailable):
            store.read(1)
    assert store.read(1) == b"a"
    clock.advance(1_000.0)
    refuse_reading(monkeypatch, errno.EIO)
    for seconds in (0.0, 60.0):
        clock.advance(seconds)
        with pytest.raises(Unavailable):
            store.read(1)
    clock.advance(1.0)
    with pytest.raises(Damaged, match="record 1"):
        store.read(1)
    assert store.damaged_records == 1
    store.close()


def test_a_folder_without_permission_stays_undamaged(tmp_path, monkeypatch):
    """An operator can mend it."""
    clock = ManualClock(1e9)
    store = SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", clock)
    store.append([[b"a"]])
    refuse_reading(monkeypatch, errno.EACCES)
    for _ in range(3):
        clock.advance(1e6)
        with pytest.raises(Unavailable):
            store.read(1)
    store.close()


# --- disks that refuse ---


@pytest.mark.parametrize("fsync", ["none", "group"])
def test_a_probe_tells_whether_the_disk_takes_something(open_store, files, tmp_path, fsync):
    """It leaves nothing behind, also when it is repeated."""
    store = open_store(fsync)
    store.append([[b"a"]])
    files.write_error = errno.ENOSPC
    for files.room in (0, 150):
        with pytest.raises(Unavailable, match="No space left"):
            store.probe(1_000)
    files.write_error = None
    for _ in range(3):
        store.probe(1_000)
    assert len(segment_files(tmp_path / "log")) == 2
    assert store.append([[b"b"]]) == 2
    assert [store.read(number) for number in (1, 2)] == [b"a", b"b"]
    store = open_store(fsync)
    assert [store.read(number) for number in (1, 2)] == [b"a", b"b"]
    assert (store.damaged_records, store.next) == (0, 3)


def test_a_probe_fails_with_the_sync(open_store, files):
    """The next record goes to another file: a failed write-back is reported once."""
    store = open_store("group")
    files.sync_error = errno.EIO
    with pytest.raises(Unavailable):
        store.probe(100)
    files.sync_error = None
    assert store.append([[b"a"]]) == 1
    assert store.read(1) == b"a"


def test_after_a_failed_probe_the_file_is_begun_anew(tmp_path):
    """Also when its header was on the disk already."""

    class Failing(SystemFiles):
        syncs = 0

        def sync(self, descriptor: int) -> None:
            self.syncs += 1
            if self.syncs == 3:  # of the opening, of the probe's header, and of its zeros
                raise OSError(errno.EIO, "input/output error")

    files = Failing()
    store = SegmentStore(tmp_path / "log", SEGMENT_BYTES, "group", ManualClock(1e9), files=files)
    with pytest.raises(Unavailable):
        store.probe(100)
    store.append([[b"a"]])
    assert files.syncs == 5
    store.close()


def test_a_probe_that_cannot_be_cut_is_no_record(open_store, files):
    """Nor is one that a kill cut short: zeros are nothing."""
    store = open_store()
    store.append([[b"a"]])
    files.truncate_error = errno.EIO
    store.probe(1_000)
    files.truncate_error = None
    assert store.append([[b"b"]]) == 2
    store = open_store()
    assert [store.read(number) for number in store.numbers()] == [b"a", b"b"]
    assert store.damaged_records == 0


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("room", [0, 10, 60, 150])
def test_a_refused_write_leaves_the_log_as_it_was(open_store, files, tmp_path, error, room):
    """Unavailable names the option and the system's words; nothing is left of the attempt."""
    store = open_store()
    store.append([[b"before"]])
    file = segment_files(tmp_path / "log")[0]
    data = file.read_bytes()
    files.write_error, files.room = error, room
    message = rf"journal\.path .*log: {re.escape(os.strerror(error))}"
    with pytest.raises(Unavailable, match=message) as caught:
        store.append([[b"x" * 100], [b"y" * 100]])
    assert caught.value.retry_after_seconds is not None
    assert file.read_bytes() == data
    assert store.next == 2
    files.write_error = None
    assert store.append([[b"after"]]) == 2
    again = open_store()
    assert [again.read(n) for n in again.numbers()] == [b"before", b"after"]
    assert again.damaged_records == 0


def test_short_writes_are_continued(store, files):
    """A system that takes a few bytes at a time gets the rest in further calls."""

    class Dribbling(FailingFiles):
        def writev(self, descriptor, chunks):
            return os.write(descriptor, b"".join(chunks)[:7])

    store._files = Dribbling()
    store.append([[b"a" * 30, b"", b"b" * 5], [b"c" * 11]])
    assert store.read(1) == b"a" * 30 + b"b" * 5
    assert store.read(2) == b"c" * 11


@pytest.mark.parametrize("room", [10, 60, 200])
def test_a_torn_piece_that_cannot_be_cut_costs_nothing(open_store, files, tmp_path, room):
    """Where cutting back fails too, writing goes on in a new segment."""
    store = open_store()
    store.append([[b"before"]])
    files.write_error, files.room, files.truncate_error = errno.ENOSPC, room, errno.EIO
    with pytest.raises(Unavailable):
        store.append([[b"x" * 100], [b"y" * 100]])
    files.write_error = files.truncate_error = None
    number = store.append([[b"after"]])
    assert number > 1
    assert len(segment_files(tmp_path / "log")) == 2
    assert store.read(number) == b"after"
    again = open_store()
    assert again.read(1) == b"before"
    assert again.read(number) == b"after"
    assert again.damaged_records == 0
    assert again.append([[b"next"]]) == number + 1


def test_a_segment_that_cannot_be_begun(open_store, files, tmp_path):
    """A full disk at a segment's end is Unavailable, and over when there is space."""
    store = open_store()
    store.append([[b"x" * 3000]])
    files.write_error, files.room = errno.ENOSPC, 20
    for _ in range(3):
        with pytest.raises(Unavailable, match="No space left"):
            store.append([[b"y" * 3000]])
    assert store.read(1) == b"x" * 3000
    files.write_error = None
    assert store.append([[b"y" * 3000]]) == 2
    again = open_store()
    assert list(again.numbers()) == [1, 2]
    assert again.left_alone == []


def test_it_opens_on_a_full_disk(open_store, files):
    """Everything can be read and dropped; appending works when there is space."""
    open_store().append([[b"a"]])
    files.write_error = errno.ENOSPC
    store = open_store()
    assert store.read(1) == b"a"
    with pytest.raises(Unavailable, match="No space left"):
        store.append([[b"b"]])
    store.skip_to(5)
    files.write_error = None
    assert store.append([[b"b"]]) == 5
    assert list(open_store().numbers()) == [1, 5]


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_cannot_be_written_is_a_wrong_configuration(tmp_path, files, error):
    """At start, before anything was promised, read-only is said at once."""
    files.write_error = error
    with pytest.raises(ConfigError, match=r"journal\.path .*" + os.strerror(error)):
        SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", ManualClock(), files=files)
    files.write_error = None
    SegmentStore(tmp_path / "log", SEGMENT_BYTES, "none", ManualClock(), files=files).close()


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 2 MiB; mounting one takes a privilege."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a Linux tmpfs")
def test_a_really_full_disk(small_disk, files, tmp_path):
    """Filled to the brim it refuses, loses nothing, frees what it is told to, and goes on."""
    store = SegmentStore(small_disk / "log", 256 * 1024, "none", ManualClock(1e9))
    written = 0
    with contextlib.suppress(Unavailable):
        while written < 100:
            store.append([[b"head", b"x" * 70_000]])
            written += 1
    assert 20 < written < 30
    with pytest.raises(Unavailable, match=r"journal\.path .*No space left on device"):
        store.append([[b"head", b"x" * 70_000]])
    assert list(store.numbers()) == list(range(1, written + 1))
    (small_disk / "filler").write_bytes(b"")
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(b"f" * 500_000)
    assert store.drop_before(store.next) > 70_000 * written
    (small_disk / "filler").unlink()
    assert store.append([[b"x" * 70_000]]) == written + 1
    store.close()
    again = SegmentStore(small_disk / "log", 256 * 1024, "none", ManualClock(1e9))
    assert list(again.numbers()) == [written + 1]
    assert again.damaged_records == 0
    again.close()


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a Linux tmpfs")
def test_a_really_read_only_disk(small_disk):
    """It opens nothing new, and says why; a running store refuses and still reads."""
    store = SegmentStore(small_disk / "log", SEGMENT_BYTES, "none", ManualClock(1e9))
    store.append([[b"a" * SEGMENT_BYTES]])
    # What is open for writing keeps a file system from turning read-only.
    with store._lock:
        store._finish()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Unavailable, match="Read-only file system"):
        store.append([[b"b"]])
    assert store.drop_before(2) == 0
    assert store.read(1) == b"a" * SEGMENT_BYTES
    store.close()
    with pytest.raises(ConfigError, match=r"journal\.path .*Read-only file system"):
        SegmentStore(small_disk / "log", SEGMENT_BYTES, "none", ManualClock(1e9))


# --- fsync ---


def test_without_fsync_nothing_is_synced(store, files):
    """``none`` leaves the disk to the system."""
    for _ in range(20):
        store.append([[b"x" * 1000]])
    assert files.syncs == 0


def test_group_commit_syncs_before_it_returns(open_store, files):
    """``group``: every append is followed by a sync before the caller is told."""
    store = open_store("group")
    before = files.syncs
    for count in range(1, 6):
        store.append([[b"x"], [b"y"]])
        assert files.syncs == before + count


def test_one_sync_serves_all_who_wrote_before_it(open_store, files):
    """Ten writers who come while a sync runs need one more between them."""
    store = open_store("group")
    before = files.syncs
    files.before_sync.clear()
    threads = [threading.Thread(target=store.append, args=([[b"x"]],)) for _ in range(10)]
    for thread in threads:
        thread.start()
    while store.next < 11:
        pass
    files.before_sync.set()
    for thread in threads:
        thread.join()
    assert 1 <= files.syncs - before <= 2
    assert list(store.numbers()) == list(range(1, 11))


def test_a_failed_sync_takes_the_records_back(open_store, files):
    """The writer is refused, the record is gone, its number stays used, a new file is begun."""
    store = open_store("group")
    store.append([[b"sure"]])
    files.sync_error = errno.EIO
    with pytest.raises(Unavailable, match="Input/output error"):
        store.append([[b"unsure"], [b"too"]])
    assert list(store.numbers()) == [1]
    with pytest.raises(Missing):
        store.read(2)
    files.sync_error = None
    assert store.append([[b"sure again"]]) == 4
    again = open_store()
    assert [(n, again.read(n)) for n in again.numbers()] == [(1, b"sure"), (4, b"sure again")]
    assert again.damaged_records == 0


def test_all_who_wait_for_a_failed_sync_are_refused(open_store, files):
    """None of several waiting writers is told that its record is safe."""
    store = open_store("group")
    files.before_sync.clear()
    files.sync_error = errno.EIO
    outcomes: list[str] = []

    def write() -> None:
        try:
            store.append([[b"x"]])
        except Unavailable:
            outcomes.append("refused")

    threads = [threading.Thread(target=write) for _ in range(5)]
    for thread in threads:
        thread.start()
    while store.next < 6:
        pass
    files.before_sync.set()
    for thread in threads:
        thread.join()
    assert outcomes == ["refused"] * 5
    assert list(store.numbers()) == []


def test_closing_waits_for_the_writers(open_store, files):
    """A writer who waits for the disk gets its answer, although the store closes meanwhile."""
    store = open_store("group")
    files.before_sync.clear()
    numbers: list[int] = []
    writer = threading.Thread(target=lambda: numbers.append(store.append([[b"x"]])))
    writer.start()
    while store.next < 2:
        pass
    closer = threading.Thread(target=store.close)
    closer.start()
    files.before_sync.set()
    closer.join()
    writer.join()
    assert numbers == [1]
    assert list(open_store().numbers()) == [1]


def test_a_segment_header_is_as_long_as_the_framing_says(store, tmp_path):
    """An empty store is one file with a header and nothing else."""
    (file,) = segment_files(tmp_path / "log")
    assert file.stat().st_size == SEGMENT_HEADER == store.size_bytes

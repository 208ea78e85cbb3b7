"""Segment files and SQLite as a log of records, as ratios to a bare append of the same bytes.

Run ``python tests/bench/journal_stores.py [--mib N] [--repeats N] [--folder DIR] [--json]``. Each
contender writes in a process of its own, which then kills itself; a second process opens what was
left, reads all of it back and drops it. Figures are medians over the repeats, whose contenders
take turns, so that a busy machine hurts all alike. CPU is that of the process, user and system.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from otel_raglog.clock import SystemClock
from otel_raglog.journal.segments import SegmentStore

SEGMENT_BYTES = 16 * 2**20
SIZES = {"700 kB": 700_000, "2 kB": 2_000}
HEAD = b"h" * 30
HELD_SHARE = 4
"""One part in so many of what is streamed is kept meanwhile: the rest is delivered and dropped."""
SYNCED = (
    "bare write + fdatasync",
    "segments, group",
    "segments, group, 4 threads",
    "SQLite WAL, FULL",
)


class Log(Protocol):
    """What a contender must do."""

    def append(self, head: bytes, body: bytes) -> None: ...
    def numbers(self) -> range: ...
    def read(self, number: int) -> bytes: ...
    def drop_before(self, number: int) -> None: ...


class Bare:
    """One file, ``write`` of bytes that were joined before: the yardstick."""

    def __init__(self, folder: Path, *, sync: bool) -> None:
        self._descriptor = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._sync = sync
        self._joined = b""

    def append(self, head: bytes, body: bytes) -> None:
        self._joined = self._joined or head + body
        os.write(self._descriptor, self._joined)
        if self._sync:
            os.fdatasync(self._descriptor)

    def numbers(self) -> range:
        return range(0)

    def read(self, number: int) -> bytes:
        raise NotImplementedError

    def drop_before(self, number: int) -> None:
        """Nothing: it only grows."""


class Segments:
    """Our segment files."""

    def __init__(self, folder: Path, fsync: str) -> None:
        self._store = SegmentStore(folder, SEGMENT_BYTES, fsync, SystemClock())
        self.read = self._store.read
        self.drop_before = self._store.drop_before

    def append(self, head: bytes, body: bytes) -> None:
        self._store.append([[head, body]])

    def numbers(self) -> range:
        return range(self._store.first, self._store.next)


class Sqlite:
    """A table of blobs, one transaction per record."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        self._base = sqlite3.connect(
            folder / "log.db", isolation_level=None, check_same_thread=False
        )
        self._base.execute("PRAGMA journal_mode = WAL").fetchall()
        self._base.execute(f"PRAGMA synchronous = {synchronous}")
        self._base.execute("CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, body BLOB)")

    def append(self, head: bytes, body: bytes) -> None:
        self._base.execute("INSERT INTO log (body) VALUES (?)", (head + body,))

    def numbers(self) -> range:
        first, last = self._base.execute("SELECT min(number), max(number) FROM log").fetchone()
        return range(first or 0, (last or -1) + 1)

    def read(self, number: int) -> bytes:
        row = self._base.execute("SELECT body FROM log WHERE number = ?", (number,)).fetchone()
        return row[0]

    def drop_before(self, number: int) -> None:
        self._base.execute("DELETE FROM log WHERE number < ?", (number,))


CONTENDERS: dict[str, tuple[Callable[[Path], Log], int]] = {
    "bare write": (lambda folder: Bare(folder, sync=False), 1),
    "segments, none": (lambda folder: Segments(folder, "none"), 1),
    "segments, none, 4 threads": (lambda folder: Segments(folder, "none"), 4),
    "SQLite WAL, OFF": (lambda folder: Sqlite(folder, "OFF"), 1),
    "SQLite WAL, NORMAL": (lambda folder: Sqlite(folder, "NORMAL"), 1),
    "bare write + fdatasync": (lambda folder: Bare(folder, sync=True), 1),
    "segments, group": (lambda folder: Segments(folder, "group"), 1),
    "segments, group, 4 threads": (lambda folder: Segments(folder, "group"), 4),
    "SQLite WAL, FULL": (lambda folder: Sqlite(folder, "FULL"), 1),
}


def disk_bytes(folder: Path) -> int:
    """Return the bytes that the files of ``folder`` occupy."""
    return sum(file.stat().st_blocks * 512 for file in folder.iterdir())


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of wall and of CPU that ``work`` takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def write(name: str, size: int, total: int, folder: Path) -> dict[str, float]:
    """Append ``total`` bytes in records of ``size``; nothing is dropped."""
    build, threads = CONTENDERS[name]
    log = build(folder)
    body = os.urandom(size - len(HEAD))
    each = total // size // threads

    def appends() -> None:
        for _ in range(each):
            log.append(HEAD, body)

    def run() -> None:
        workers = [threading.Thread(target=appends) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    wall, cpu = timed(appends if threads == 1 else run)
    count = each * threads
    return {
        "wall_us": wall / count * 1e6,
        "cpu_us": cpu / count * 1e6,
        "disk_ratio": disk_bytes(folder) / (count * size),
    }


def read_back(name: str, size: int, folder: Path) -> dict[str, float]:
    """Open what a killed process left, read all of it, drop all of it."""
    opened: list[Log] = []
    read: list[int] = []

    def open_it() -> None:
        opened.append(CONTENDERS[name][0](folder))
        opened[0].numbers()

    recover, _ = timed(open_it)
    log = opened[0]
    numbers = log.numbers()
    if not numbers:
        return {}
    wall, _ = timed(lambda: read.extend(len(log.read(number)) for number in numbers))
    if set(read) != {size}:
        raise SystemExit(f"{name} lost something: {set(read)}")
    drop, _ = timed(lambda: log.drop_before(numbers.stop))
    return {
        "recover_ms_per_100mb": recover * 1e3 / (sum(read) / 1e8),
        "read_mb_per_s": sum(read) / wall / 1e6,
        "drop_ms": drop * 1e3,
        "left_ratio": disk_bytes(folder) / sum(read),
    }


def stream(name: str, size: int, total: int, folder: Path) -> dict[str, float]:
    """Append while all but the last ``total / HELD_SHARE`` bytes are dropped, as when all is well."""
    log = CONTENDERS[name][0](folder)
    body = os.urandom(size - len(HEAD))
    held = total // HELD_SHARE // size
    step = max(1, 2**20 // size)
    peak = 0

    def run() -> None:
        nonlocal peak
        for count in range(1, total // size + 1):
            log.append(HEAD, body)
            if count % step == 0:
                log.drop_before(count + 1 - held)
                peak = max(peak, disk_bytes(folder))

    _, cpu = timed(run)
    return {
        "stream_cpu_us": cpu / (total // size) * 1e6,
        "stream_peak_mib": peak / 2**20,
        "stream_held_mib": total / HELD_SHARE / 2**20,
    }


def in_process(phase: str, name: str, size: int, total: int, folder: Path) -> dict[str, float]:
    """Run one phase in a process of its own, which kills itself when it is done."""
    arguments = ["--phase", phase, name, str(size), str(total), str(folder)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=False
    )
    if done.returncode != -signal.SIGKILL:
        raise SystemExit(f"{name}: {phase} failed")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def run_phase(phase: str, name: str, size: int, total: int, folder: Path) -> None:
    """Print the figures of a phase and die as in ``kill -9``."""
    if phase == "write":
        figures = write(name, size, total, folder)
    elif phase == "read":
        figures = read_back(name, size, folder)
    else:
        figures = stream(name, size, total, folder)
    sys.stdout.write(json.dumps(figures))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def measure(name: str, size: int, total: int, where: Path | None) -> dict[str, float]:
    """Return all figures of one contender for one size of record, once."""
    figures: dict[str, float] = {}
    for phases in (("write", "read"), ("stream",)):
        if name.startswith("bare") and phases == ("stream",):
            continue
        with tempfile.TemporaryDirectory(dir=where) as folder:
            for phase in phases:
                figures |= in_process(phase, name, size, total, Path(folder))
    return figures


def print_table(label: str, results: dict[str, dict[str, float]]) -> None:
    """Print a Markdown table of one size of record."""
    bare = results["bare write"]
    columns = (
        "CPU", "wall", "disk", "stream: CPU", "stream: peak disk / held, MiB",
        "open after kill, ms per 100 MB", "read back, MB/s", "drop all, ms", "disk after drop",
    )  # fmt: skip
    print(f"\n| {label} | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, got in results.items():
        cells = [
            f"{got['cpu_us'] / bare['cpu_us']:.2f} × ({got['cpu_us']:.0f} µs)",
            f"{got['wall_us'] / bare['wall_us']:.2f} × ({got['wall_us']:.0f} µs)",
            f"{got['disk_ratio']:.2f} ×",
        ]
        if "stream_cpu_us" in got:
            cells += [
                f"{got['stream_cpu_us'] / bare['cpu_us']:.2f} ×",
                f"{got['stream_peak_mib']:.0f} / {got['stream_held_mib']:.0f}",
                f"{got['recover_ms_per_100mb']:.1f}",
                f"{got['read_mb_per_s']:.0f}",
                f"{got['drop_ms']:.1f}",
                f"{got['left_ratio']:.2f} ×",
            ]
        else:
            cells += ["–"] * 6
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    """Measure all contenders in turns and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=128, help="written per contender and size")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--phase", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        phase, name, size, total, folder = options.phase
        run_phase(phase, name, int(size), int(total), Path(folder))
    report: dict[str, dict[str, dict[str, float]]] = {}
    for label, size in SIZES.items():
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
        order = list(CONTENDERS)
        for _ in range(options.repeats):
            order = order[2:] + order[:2]
            for name in order:
                # Small records cost per record, not per byte: fewer of them say the same sooner.
                fewer = 1 if size > 100_000 else 16 if name in SYNCED else 2
                total = options.mib * 2**20 // fewer
                runs[name].append(measure(name, size, total, options.folder))
        report[label] = {
            name: {key: statistics.median(run[key] for run in got) for key in got[0]}
            for name, got in runs.items()
        }
    if options.json:
        print(json.dumps(report, indent=1))
        return
    for label, results in report.items():
        print_table(f"{label} records", results)


if __name__ == "__main__":
    main()

"""CPU time per run of what a held trace goes through but for the checks, part by part.

Run with ``python tests/bench/mapping.py``. The traces are those of the pipe's benchmark (``rag``: 4
spans of 7.2 kB, 8 chunks) and the bundled ones, whose spans are more and smaller. ``read`` is a part
of ``map``; ``mark`` is the report of a run without verdicts and the bytes appended to its spans. Of
each trace the least of many is taken, since others on the machine only add to it.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pipe_requests import make_moulds

from otel_raglog import samples
from otel_raglog.analysis import Analyser
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import read_files
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import HeldTrace, Run, Trace
from otel_raglog.report.annotations import AnnotationOptions, annotate

T = TypeVar("T")

PARTS = ("decode", "read", "map", "mark")
REPEATS = 40
REQUESTS = 3
SEED = 1


def cpu_ms(work: Callable[[T], object], items: Sequence[T]) -> float:
    """Return the milliseconds of CPU that ``work`` takes for all of ``items``."""
    least = [float("inf")] * len(items)
    for _ in range(REPEATS):
        gc.collect()
        for number, item in enumerate(items):
            started = time.process_time()
            work(item)
            least[number] = min(least[number], time.process_time() - started)
    return sum(least) * 1000


def traces_of_the_pipe() -> list[HeldTrace]:
    """Return the traces of some requests of the pipe's benchmark."""
    source = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, mould in enumerate(make_moulds("rag", SEED, REQUESTS)):
            file = Path(folder, f"{number}.pb")
            file.write_bytes(mould.cast(source))
            files.append(file)
        return read_files(files).traces()


def measure(name: str, held: Sequence[HeldTrace]) -> None:
    """Print one row."""
    analyser = Analyser((), Rules1(), SystemClock())
    traces = [analyser.decode(item) for item in held]
    mapped = [(trace, map_trace(trace)) for trace in traces]
    count = sum(len(runs) for _, runs in mapped)

    def mark(item: tuple[Trace, Sequence[Run]]) -> None:
        trace, runs = item
        reports = [analyser.judge(run) for run in runs]
        annotate(reports, {span.span_id: span for span in trace.spans}, AnnotationOptions())

    figures = (
        cpu_ms(analyser.decode, held),
        cpu_ms(lambda trace: [BUILT_IN.read(span) for span in trace.spans], traces),
        cpu_ms(map_trace, traces),
        cpu_ms(mark, mapped),
    )
    spans = sum(len(trace.spans) for trace in traces) / count
    row = "".join(f" {figure / count:>8.2f}" for figure in figures)
    print(f"{name:10} {count:>5} {spans:>10.1f}{row}")


def main() -> None:
    """Print the table."""
    with samples.open_set() as bundled:
        of_samples = read_files([bundled.traces]).traces()
    print("milliseconds of CPU per run")
    print(f"{'traces':10} {'runs':>5} {'spans/run':>10}" + "".join(f" {part:>8}" for part in PARTS))
    measure("rag", traces_of_the_pipe())
    measure("bundled", of_samples)


if __name__ == "__main__":
    main()

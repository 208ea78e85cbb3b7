"""CPU time per run of each part of the analysis, beside a yardstick measured in the same run.

Run with ``make bench``, or ``python tests/bench/analysis.py [--json] [FILE...]`` for traces or run
records of your own. CPU time is that of the whole process over all threads, so it holds whatever
the number of threads is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from otel_raglog import samples
from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.checks.similarity.encoder import BUNDLED_MODEL, MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import HeldTrace, Report, Run, Trace, present
from otel_raglog.report.annotations import AnnotationOptions, annotate

YARDSTICK = (
    "The yardstick: one sentence of plain English, encoded once, alone, by the bundled model."
)
REPEATS = 5


def cpu_ms(work: Callable[[], object], repeats: int = 1) -> float:
    """Return the milliseconds of CPU that ``work`` takes, the median of ``repeats``."""
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        spent.append((time.process_time() - started) * 1000)
    return statistics.median(spent)


def rows(reading: Reading) -> Iterator[tuple[str, float]]:
    """Yield each part's name and its milliseconds of CPU per run."""
    encoder = MiniLmEncoder(workers=1)
    encoder.encode(["warm up: load the model"])
    checks = build_checks(encoder)
    rules = [check for check in checks if ".rules." in type(check).__module__]
    similarity = [check for check in checks if ".similarity." in type(check).__module__]
    analyser = Analyser(checks, Rules1(), SystemClock())
    held = reading.traces()
    traces = [analyser.decode(item) for item in held]
    runs = [run for trace in traces for run in map_trace(trace)] + list(reading.runs)
    count = len(runs)

    numbers = iter(range(10**9))
    yield (
        "yardstick: one 20-token text encoded",
        cpu_ms(lambda: encoder.encode([f"{YARDSTICK} {next(numbers)}"]), 50),
    )
    if held:
        yield "decode", cpu_ms(lambda: [analyser.decode(item) for item in held], REPEATS) / count
        yield "map", cpu_ms(lambda: [map_trace(trace) for trace in traces], REPEATS) / count
        unjudged = Analyser((), Rules1(), SystemClock())
        passed = [
            (item, trace, unjudged.reports(trace)) for item, trace in zip(held, traces, strict=True)
        ]
        yield "annotate", cpu_ms(lambda: [annotated(*each) for each in passed], REPEATS) / count
    yield "rules", cpu_ms(lambda: [measure(run, rules) for run in runs], REPEATS) / count
    cold = MiniLmEncoder(workers=1)
    cold.encode(["warm up: load the model"])
    cold_checks = [
        check for check in build_checks(cold) if ".similarity." in type(check).__module__
    ]
    yield "similarity, cache cold", cpu_ms(lambda: [measure(r, cold_checks) for r in runs]) / count
    # Chunks recur between questions, questions and answers do not: only chunk vectors are warm.
    warm = MiniLmEncoder(workers=1)
    warm_checks = [
        check for check in build_checks(warm) if ".similarity." in type(check).__module__
    ]
    for run in runs:
        measure(chunks_only(run), warm_checks)
    yield (
        "similarity, chunk cache warm",
        cpu_ms(lambda: [measure(run, warm_checks) for run in runs]) / count,
    )
    for run in runs:
        measure(run, similarity)
    yield (
        "similarity, all cached",
        cpu_ms(lambda: [measure(run, similarity) for run in runs], REPEATS) / count,
    )


def annotated(held: HeldTrace, trace: Trace, reports: Sequence[Report]) -> list[bytes]:
    """Return the held spans' bytes as they go out, with the verdicts behind their own."""
    decoded = {span.span_id: span for span in trace.spans}
    additions = annotate(reports, decoded, AnnotationOptions())
    return [wire.raw + additions.get(wire.span_id, b"") for wire in held.spans]


def chunks_only(run: Run) -> Run:
    """Return ``run`` with another question and answer: what a later run shares is its chunks."""
    generators = tuple(replace(step, answer=present("Another answer.")) for step in run.generators)
    return replace(
        run,
        question=present("Another question?"),
        answer=present("Another answer."),
        rewriters=(),
        embedders=(),
        generators=generators,
    )


def shape(reading: Reading) -> dict[str, float]:
    """Return what the figures hold for: means per run."""
    runs = [
        run
        for item in reading.traces()
        for run in map_trace(Analyser((), Rules1(), SystemClock()).decode(item))
    ] + list(reading.runs)
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    chunks = [chunk for run in runs for step in run.retrievers for chunk in step.chunks.value or ()]
    prompts = [step.prompt.value or "" for run in runs for step in run.assemblies]
    return {
        "runs": len(runs),
        "spans per run": round(sum(len(t.spans) for t in reading.traces()) / len(runs), 1),
        "chunks per run": round(len(chunks) / len(runs), 1),
        "tokens per chunk": round(mean_tokens(tokenizer, [chunk.text for chunk in chunks]), 1),
        "tokens per prompt": round(mean_tokens(tokenizer, prompts), 1),
    }


def mean_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return the mean number of the model's tokens in ``texts``."""
    return statistics.fmean([len(tokenizer.encode(text).ids) for text in texts] or [0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.files:
        reading = read_files(options.files)
    else:
        with samples.open_set() as bundled:
            reading = read_files([bundled.traces])
    described, measured = shape(reading), list(rows(reading))
    unit = measured[0][1]
    if options.json:
        json.dump({"shape": described, "cpu_ms": dict(measured)}, sys.stdout, indent=2)
        return
    print("holds for: " + ", ".join(f"{value} {name}" for name, value in described.items()))
    print(f"{'part':40} {'ms CPU per run':>15} {'yardsticks':>11}")
    for name, milliseconds in measured:
        print(f"{name:40} {milliseconds:15.3f} {milliseconds / unit:11.2f}")


if __name__ == "__main__":
    main()

"""CPU time per run of each part of the analysis, beside a yardstick measured in the same run.

Run with ``make bench``, or ``python tests/bench/analysis.py [--json] [FILE...]`` for traces or run
records of your own. CPU time is that of the whole process over all threads, so it holds whatever
the number of threads is.

The second table is for runs of one shape: 6 chunks of 200 tokens, an answer of three sentences, a
rewrite and an embedding; median and 95th percentile over ``--shaped-runs`` runs, each of other
texts. Cold: no text was seen before. Warm: the vectors of the chunks are cached, question and
answer are new. ``--model DIR`` also measures a trained detector.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from otel_raglog import samples
from otel_raglog.analysis import Analyser
from otel_raglog.checks.check import Check
from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.checks.similarity.encoder import BUNDLED_MODEL, MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import HeldTrace, Report, Run, Trace, present
from otel_raglog.report.annotations import AnnotationOptions, annotate

YARDSTICK = (
    "The yardstick: one sentence of plain English, encoded once, alone, by the bundled model."
)
REPEATS = 5
CHUNKS, CHUNK_TOKENS, ANSWER_SENTENCES = 6, 200, 3
TOKEN_CACHE_BYTES = 64 << 20
SEED = 20261130


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


def shaped_rows(count: int, model: Path | None) -> Iterator[tuple[str, list[float]]]:
    """Yield each part's name and its milliseconds of CPU for each of ``count`` runs."""
    runs = [run_from_record(record) for record in shaped_records(count)]
    groups = list(
        dict.fromkeys(
            kind_of(check) for check in build_checks(new_encoder(tokens=True), new_reader())
        )
    )
    sets = {group: (group,) for group in groups}
    sets |= {
        "light (rules + similarity)": ("rules", "similarity"),
        "full (what local reads)": ("rules", "similarity", "alignment", "crossencoder"),
        "all groups": (*groups,),
    }
    for name, wanted in sets.items():
        yield f"{name}, cold", each_ms(runs, checks_of(wanted))
        if name == "rules":
            continue
        warm = checks_of(wanted)
        for run in runs:
            measure(chunks_only(run), warm)
        yield f"{name}, chunk cache warm", each_ms(runs, warm)
    everything = checks_of((*groups,))
    measured = [measure(run, everything) for run in runs]
    detectors: list[Detector] = [Rules1()]
    if model is not None:
        detectors.append(Ensemble(load_artifact(model)))
    for detector in detectors:
        detector.judge(runs[0], measured[0])
        yield (
            f"detector {detector.version}",
            [
                cpu_ms(partial(detector.judge, run, found), REPEATS)
                for run, found in zip(runs, measured, strict=True)
            ],
        )


def kind_of(check: Check) -> str:
    """Return the group of a check."""
    return check.name.partition(".")[0]


def new_encoder(*, tokens: bool) -> MiniLmEncoder:
    """Return an encoder that has seen nothing but a warm-up; ``tokens`` as alignment needs it."""
    encoder = MiniLmEncoder(workers=1, max_cached_token_bytes=TOKEN_CACHE_BYTES if tokens else 0)
    encoder.encode(["warm up: load the model"])
    return encoder


def new_reader() -> BundledReader:
    """Return a cross-encoder that has read nothing but a warm-up."""
    reader = BundledReader(workers=1)
    reader.read([("warm up", "load the model")])
    return reader


def checks_of(groups: Sequence[str]) -> list[Check]:
    """Return new checks of ``groups`` whose caches are empty, warmed up on another run."""
    checks = [
        check
        for check in build_checks(new_encoder(tokens="alignment" in groups), new_reader())
        if kind_of(check) in groups
    ]
    measure(run_from_record(next(shaped_records(1, seed=SEED + 1))), checks)
    return checks


def each_ms(runs: Sequence[Run], checks: Sequence[Check]) -> list[float]:
    """Return the milliseconds of CPU for each run, measured once: a second time all is cached."""
    return [cpu_ms(partial(measure, run, checks)) for run in runs]


def shaped_records(count: int, seed: int = SEED) -> Iterator[dict[str, object]]:
    """Yield run records of the one shape, from sentences of the bundled handbook.

    Every chunk, question and answer is another text: sentences in another order, with a number of
    their own.
    """
    tokenizer = Tokenizer.from_file(str(BUNDLED_MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    pages = "\n".join(samples.read_handbook().values())
    sentences = sorted(
        {line.strip() for line in re.split(r"(?<=[.])\s+|\n+", pages) if line.strip().endswith(".")}
    )
    chance = random.Random(seed)
    for number in range(count):
        chunks = [
            shaped_chunk(tokenizer, sentences, chance, n + 100 * number) for n in range(CHUNKS)
        ]
        said = [chance.choice(re.split(r"(?<=[.]) ", chunk)) for chunk in chunks[:ANSWER_SENTENCES]]
        topic = " ".join(chance.choice(sentences).rstrip(".").split()[:10])
        question = f"What does part {number} of the handbook say about this: {topic}?"
        rewrite = f"handbook part {number}: {topic}"
        context = "\n\n".join(chunks)
        yield {
            "id": f"shaped-{number}",
            "question": question,
            "rewrites": [rewrite],
            "embedder_input": rewrite,
            "retrieved": [{"id": f"c{n}", "text": text} for n, text in enumerate(chunks)],
            "passed": [f"c{n}" for n in range(CHUNKS)],
            "prompt": f"Answer from the context.\n\n{context}\n\nQuestion: {question}",
            "answer": " ".join(said),
            "finish_reason": "stop",
        }


def shaped_chunk(
    tokenizer: Tokenizer, sentences: Sequence[str], chance: random.Random, number: int
) -> str:
    """Return sentences of the handbook, cut to ``CHUNK_TOKENS`` of the model's tokens."""
    text = f"Part {number}."
    while len(tokenizer.encode(text).ids) < CHUNK_TOKENS:
        text += f" {chance.choice(sentences)}"
    end = tokenizer.encode(text).offsets[CHUNK_TOKENS - 2][1]
    return text[:end]


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return float(np.percentile(values, 95))


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
    parser.add_argument("--shaped-runs", type=int, default=30)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if options.files:
        reading = read_files(options.files)
    else:
        with samples.open_set() as bundled:
            reading = read_files([bundled.traces])
    described, measured = shape(reading), list(rows(reading))
    unit = measured[0][1]
    shaped = {
        name: (statistics.median(values), p95(values))
        for name, values in shaped_rows(options.shaped_runs, options.model)
    }
    if options.json:
        of_one_shape = {name: {"median": m, "p95": p} for name, (m, p) in shaped.items()}
        found = {"shape": described, "cpu_ms": dict(measured), "shaped_cpu_ms": of_one_shape}
        json.dump(found, sys.stdout, indent=2)
        return
    print("holds for: " + ", ".join(f"{value} {name}" for name, value in described.items()))
    print(f"{'part':40} {'ms CPU per run':>15} {'yardsticks':>11}")
    for name, milliseconds in measured:
        print(f"{name:40} {milliseconds:15.3f} {milliseconds / unit:11.2f}")
    print(
        f"\nholds for: {options.shaped_runs} runs of {CHUNKS} chunks of {CHUNK_TOKENS} tokens, "
        f"answers of {ANSWER_SENTENCES} sentences"
    )
    print(f"{'ms CPU per run':40} {'median':>11} {'p95':>11} {'yardsticks':>11}")
    for name, (median, high) in shaped.items():
        print(f"{name:40} {median:11.3f} {high:11.3f} {median / unit:11.2f}")


if __name__ == "__main__":
    main()

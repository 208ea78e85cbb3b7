"""``otel-raglog judge correctness``: run records with references to whether their answers are right."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event
from typing import Annotated

import typer

from otel_raglog.building import build_budget
from otel_raglog.clock import SystemClock
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.costs import Cost, tokens_in_words
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.config import load_config, read_judge_key
from otel_raglog.errors import BadInput
from otel_raglog.judge.clients import build_client
from otel_raglog.judge.redacting import Redactor
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.lab.references.asking import PatientClient
from otel_raglog.lab.references.budgeted import BudgetedClient
from otel_raglog.lab.references.correctness import Judged, correctness_of, with_correctness
from otel_raglog.options import Judge
from otel_raglog.redaction.building import build_redaction


def correctness(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run records with references (JSON lines, CSV, parquet); .gz too.",
            metavar="RUNS...",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The records with what was found, JSON lines.")
    ],
    words: Annotated[
        bool,
        typer.Option("--words", help="Ask no LLM: only answers that state a reference are right."),
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Say of RUNS whether their answers agree with the reference answers.

    What reference.correct says already is kept. The LLM of the configuration (judge.…) is asked in one
    small call about each other run: question, reference answers and answer, nothing else, without
    what judge.redact matches. Whatever judge.when says, it is asked, within judge.budget. Neither
    detector nor checks read what comes of it; evaluate does. Exit code 0: done; 2: bad usage or input,
    or the LLM failed or the budget ended for some runs: they are written as they were, and asked about
    when --out is given as RUNS.
    """
    if out.exists():
        raise BadInput(f"--out {out} is there already")
    reading = read_files(runs, keep_records=True)
    if not reading.records:
        raise BadInput("; ".join([*reading.problems, "no run record was read"]))
    loaded = load_config(config)
    options = loaded.judge
    redaction = build_redaction(loaded.redaction)
    counts: Counter[str] = Counter()
    problems = list(reading.problems)
    beyond: list[Judged] = []
    with _client(options, wanted=not words) as client, showing_progress() as tell:
        lines = []
        found = correctness_of(
            reading.records,
            client,
            timeout_seconds=options.timeout_seconds,
            parallel=options.concurrency,
            redact=Redactor(options.redact, redaction).text,
        )
        for record, judged in zip(reading.records, found, strict=True):
            lines.append(json.dumps(with_correctness(record, judged, options.model)) + "\n")
            counts[judged.correctness.value] += 1
            if judged.over_budget:
                beyond.append(judged)
            elif judged.failed:
                problems.append(f"run {judged.run_id}: {judged.why_not}")
            tell("Asking", len(lines), len(reading.records))
    try:
        out.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}") from None
    said = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    sys.stdout.write(f"{out}: {said}\n")
    if client is not None:
        sys.stdout.write(
            f"{options.model}: {client.calls:,} calls, {tokens_in_words(client.usage)}, "
            f"{Cost(client.cost_usd).words()}\n"
        )
    if beyond:
        problems.append(f"{len(beyond)} runs were not asked about: {beyond[0].why_not}")
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


@contextmanager
def _client(options: Judge, *, wanted: bool) -> Iterator[BudgetedClient | None]:
    if not wanted:
        yield None
        return
    clock = SystemClock()
    wait = Event().wait
    patient = PatientClient(
        build_client(
            options.provider,
            options.model,
            endpoint=options.endpoint,
            key=read_judge_key(options),
            max_reply_bytes=options.max_reply_kib * 1024,
            connections=options.concurrency,
            clock=clock,
        ),
        Retrier(
            RetryConfig(options.tries, options.timeout_seconds),
            clock,
            Random(),  # noqa: S311  jitter
            wait,
        ),
    )
    client = BudgetedClient(patient, *build_budget(options), clock, wait)
    try:
        yield client
    finally:
        client.close()

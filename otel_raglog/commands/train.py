"""``otel-raglog train``: labelled run records to a trained detector in a folder."""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from otel_raglog.building import build_analyser, reader_of, with_training_checks
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.config import load_config
from otel_raglog.detect.artifact import NAME_PATTERN
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.examples import examples_of
from otel_raglog.detect.training.labels import read_all_labels
from otel_raglog.errors import BadInput, ConfigError

if TYPE_CHECKING:
    from otel_raglog.detect.artifact import Manifest, TrainedOn

LabelledFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Run records with labels (JSON lines, CSV, parquet); .gz too.", metavar="RUNS..."
    ),
]


def train(
    runs: LabelledFiles,
    out: Annotated[Path, typer.Option(help="Folder of the trained detector; made if need be.")],
    name: Annotated[str, typer.Option(help="Its name, with which its version begins.")] = "local",
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 1,
    config: ConfigFile = None,
) -> None:
    """Train a detector on RUNS, and say what to expect of it.

    The checks are those of analysis.checks (default: rules, similarity, alignment, crossencoder). The same runs, checks and seed give the same detector.
    Use it with analysis.detector. Exit code 0: done; 2: bad usage or input: nothing is written,
    unless the labels of some records alone are malformed, which are named and left out.
    """
    if not re.fullmatch(NAME_PATTERN, name):
        raise typer.BadParameter(
            f"{name!r} is no name of a detector: small letters, digits and . _ -, at most 41, the "
            "first a letter or a digit",
            param_hint="--name",
        )
    _check_writable(out)
    training = _training()
    options = with_training_checks(load_config(config).analysis)
    reading = read_files(runs, keep_records=True)
    if reading.problems:
        report_problems(reading.problems)
        raise typer.Exit(BAD_INPUT)
    analyser = build_analyser(
        options, quote_text=False, failures=LoggingFailures(), detector=Rules1()
    )
    settings = training.Settings(seed=seed)
    with showing_progress() as tell:
        labels, problems = read_all_labels(reading.records)
        labelled = list(zip(reading.runs, labels, strict=True))
        examples = examples_of(labelled, analyser.measure, progress=tell)
        if not examples:
            none = (
                'nothing to train on: no run has labels ("labels": {"retriever": {"faulty": '
                "true}}) of a stage that can be judged"
            )
            raise BadInput("; ".join([*problems, none]))
        trained = training.train(examples, settings, tell)
    try:
        artifact = training.write_trained(
            out,
            trained,
            examples,
            settings,
            name=name,
            files=_files(runs),
            cross_encoder=reader_of(options),
        )
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}") from None
    _print(artifact.manifest, out)
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


def warn_of_training_runs(paths: Sequence[Path], trained_on: TrainedOn) -> None:
    """Say which of the files a detector was trained on: it looks better on them than it is."""
    known = {digest for _, digest, _ in trained_on.files}
    for path in paths:
        if _digest(path) in known:
            sys.stderr.write(f"otel-raglog: {path} trained this detector: expect less\n")


def _check_writable(out: Path) -> None:
    """Raise when ``out`` cannot be made or written; nothing is left behind."""
    try:
        there = next(each for each in (out, *out.absolute().parents) if each.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}") from None


def _training() -> ModuleType:
    try:
        from otel_raglog.detect.training import training  # noqa: PLC0415  an optional extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"training needs {error.name}: pip install 'otel-raglog[service,train]'"
        ) from None
    return training


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(paths: Sequence[Path]) -> list[tuple[str, str, int]]:
    found = []
    for path in paths:
        count = len(read_files([path]).runs)
        found.append((path.name, _digest(path), count))
    return found


def _print(manifest: Manifest, out: Path) -> None:
    table = Table(title=f"{manifest.version}: out of fold, by question", title_justify="left")
    for column in ("stage", "runs", "faulty", "policy", "threshold", "precision", "recall", "F1"):
        table.add_column(column, justify="left" if column in {"stage", "policy"} else "right")
    table.add_column("false-positive rate", justify="right")
    for stage, entry in manifest.stages.items():
        for policy, expected in entry.expected.items():
            table.add_row(
                stage.value,
                str(entry.runs),
                str(entry.faulty),
                policy.value,
                f"{entry.thresholds[policy]:.3f}",
                f"{expected.precision:.2f}",
                f"{expected.recall:.2f}",
                f"{expected.f1:.2f}",
                f"{expected.false_positive_rate:.3f}",
            )
    Console(width=None if sys.stdout.isatty() else 110).print(table)
    sys.stdout.write(
        "The thresholds were chosen on the same predictions: expect somewhat less "
        f"(otel-raglog evaluate).\nWritten to {out}; use it with analysis.detector: {out}\n"
    )

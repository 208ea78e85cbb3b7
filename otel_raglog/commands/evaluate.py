"""``otel-raglog evaluate``: labelled run records to figures of how good a detector is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser, with_training_checks
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.train import warn_of_training_runs
from otel_raglog.config import load_config
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.labels import read_all_labels
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation import detectors
from otel_raglog.lab.evaluation.ablation import ablate, ablate_retrained, groups_of
from otel_raglog.lab.evaluation.confusion import DRAWS
from otel_raglog.lab.evaluation.evaluation import Evaluation, figures_of
from otel_raglog.lab.evaluation.json_figures import Setting, to_json
from otel_raglog.lab.evaluation.mistakes import mistakes_in
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun, judge_all
from otel_raglog.lab.evaluation.plots import check_plots, write_plots
from otel_raglog.lab.evaluation.retraining import (
    LeaveOut,
    Split,
    Trainer,
    judge_splits,
    leave_out,
    parts_of,
    split_apart,
    splits_of,
)
from otel_raglog.lab.evaluation.tables import print_evaluation

_NO_LABELS = (
    "no run has labels: figures need run records that say per stage whether it is faulty, such as "
    '"labels": {"retriever": {"faulty": true}}'
)
_WIDTH = 150
"""Columns of tables that are not printed on a terminal."""


class FigureFormat(StrEnum):
    """How figures are printed."""

    TABLE = "table"
    JSON = "json"


@dataclass(slots=True)
class LabelledRuns:
    """What files held: labelled runs, measured; runs without labels; what could not be read."""

    runs: list[MeasuredRun] = field(default_factory=list)
    unlabelled: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which figures are made."""

    ablation: bool
    leaving_out: Sequence[LeaveOut]
    draws: int
    seed: int


def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run records with labels (JSON lines, CSV, parquet); .gz too.", metavar="RUNS..."
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="Folder of a trained detector; default: analysis.detector.")
    ] = None,
    policy: Annotated[Policy, typer.Option(help="Whose thresholds are taken.")] = Policy.PAPER,
    output_format: Annotated[
        FigureFormat, typer.Option("--format", help="How to print the figures.")
    ] = FigureFormat.TABLE,
    plots: Annotated[
        Path | None, typer.Option(help="Write precision_recall.png and reliability.png here.")
    ] = None,
    errors: Annotated[
        Path | None, typer.Option(help="Write each miss and false alarm here, as JSON lines.")
    ] = None,
    out_of_fold: Annotated[
        bool,
        typer.Option("--out-of-fold", help="Train on RUNS themselves, questions apart."),
    ] = False,
    train: Annotated[
        list[Path] | None,
        typer.Option(help="Train on these records; with --out-of-fold, on these too."),
    ] = None,
    leaving_out: Annotated[
        list[LeaveOut] | None,
        typer.Option("--leave-out", help="Also train without each one of these, and judge it."),
    ] = None,
    ablation: Annotated[bool, typer.Option(help="Also judge without each group of checks.")] = True,
    draws: Annotated[int, typer.Option(min=0, help="Bootstrap draws; 0: no intervals.")] = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, training and bootstrap.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Say how good a detector is on RUNS, whose labels are known.

    With --out-of-fold or --train, detectors are trained here, each without the questions that it
    is tested on; otherwise one that is trained already is evaluated. Exit code 0: done; 2: bad
    usage or input (what could be read is still evaluated).
    """
    retrains = out_of_fold or bool(train)
    if retrains and model is not None:
        raise typer.BadParameter(
            "--model is trained already: it goes without --out-of-fold, --train"
        )
    if leaving_out and not retrains:
        raise typer.BadParameter("--leave-out trains detectors: add --out-of-fold or --train")
    if plots is not None:
        check_plots()
    wanted = Wanted(ablation, leaving_out or (), draws, seed)
    chosen = {"policy": policy.value} | ({} if model is None else {"detector": str(model)})
    options = load_config(config).analysis.model_copy(update=chosen)
    trainer = detectors.trainer(policy, seed) if retrains else None
    if trainer is not None:
        options = with_training_checks(options)
    analyser = build_analyser(
        options,
        quote_text=False,
        failures=LoggingFailures(),
        detector=None if trainer is None else Rules1(),
    )
    with showing_progress() as tell:
        tested = read_labelled(runs, analyser, tell)
        others = read_labelled(train, analyser, tell) if train else LabelledRuns()
        if trainer is not None:
            splits = (
                splits_of(tested.runs, others.runs, seed=seed)
                if out_of_fold
                else split_apart(tested.runs, others.runs)
            )
            how = "out of fold by question" if out_of_fold else "trained on other runs"
            name = trainer.name
            judged, evaluation = _trained_here(splits, trainer, analyser, wanted, tell)
        else:
            how, name = "as it is", analyser.detector_version
            judged, evaluation = _as_it_is(tested.runs, analyser, wanted)
    problems = [*tested.problems, *others.problems]
    setting = Setting(name, policy.value, how, tested.unlabelled, len(tested.problems))
    if errors is not None:
        _write_errors(judged, errors)
    if plots is not None:
        write_plots(evaluation, plots)
    _print(evaluation, setting, output_format)
    if trainer is None and isinstance(analyser.detector, Ensemble):
        warn_of_training_runs(runs, analyser.detector.trained_on)
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


def read_labelled(paths: Sequence[Path], analyser: Analyser, tell: Told) -> LabelledRuns:
    """Return the labelled runs in ``paths``, measured as the service measures them.

    Traces have no labels. A record whose labels are malformed is a problem.

    Raises:
        BadInput: nothing could be read, or no run has labels.
    """
    reading = read_files(paths, keep_records=True)
    every, problems = read_all_labels(reading.records)
    found = LabelledRuns(
        unlabelled=len(reading.traces()) + every.count(None) - len(problems),
        problems=[*reading.problems, *problems],
    )
    for number, (run, labels) in enumerate(zip(reading.runs, every, strict=True), 1):
        if labels is not None:
            found.runs.append(MeasuredRun(*analyser.measure(run), labels))
        tell("Measuring", number, len(reading.runs))
    if not found.runs:
        raise BadInput("; ".join([*found.problems, _NO_LABELS]))
    return found


def _as_it_is(
    runs: Sequence[MeasuredRun], analyser: Analyser, wanted: Wanted
) -> tuple[Sequence[JudgedRun], Evaluation]:
    detector = analyser.detector
    judged = judge_all(runs, detector)
    variants = ablate(runs, groups_of(analyser.checks), detector) if wanted.ablation else ()
    return judged, figures_of(judged, variants=variants, draws=wanted.draws, seed=wanted.seed)


def _trained_here(
    splits: Sequence[Split], trainer: Trainer, analyser: Analyser, wanted: Wanted, tell: Told
) -> tuple[Sequence[JudgedRun], Evaluation]:
    judged = judge_splits(splits, trainer, tell)
    group_of = groups_of(analyser.checks)
    # One round is enough for these: each costs a training per split and part.
    once = [split for split in splits if split.repeat == 0]
    variants = ablate_retrained(once, group_of, trainer, tell) if wanted.ablation else ()
    tested = [run for split in once for run in split.test]
    left_out = [
        each
        for kind in wanted.leaving_out
        for each in leave_out(once, parts_of(tested, kind), trainer, tell)
    ]
    return judged, figures_of(
        judged, variants=variants, left_out=left_out, draws=wanted.draws, seed=wanted.seed
    )


def _write_errors(judged: Sequence[JudgedRun], path: Path) -> None:
    lines = [json.dumps(each, allow_nan=False) + "\n" for each in mistakes_in(judged)]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from None


def _print(evaluation: Evaluation, setting: Setting, output_format: FigureFormat) -> None:
    if output_format is FigureFormat.JSON:
        text = json.dumps(to_json(evaluation, setting), indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(_WIDTH, console.width))
    print_evaluation(evaluation, setting, console)

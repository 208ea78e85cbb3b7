"""``otel-raglog thresholds``: labelled runs to thresholds for a trained detector."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.train import LabelledFiles, warn_of_training_runs
from otel_raglog.config import load_config
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import (
    Expected,
    Policy,
    Scored,
    best_f1,
    expect,
    most_recall,
    run_level,
)
from otel_raglog.detect.training.examples import labels_of
from otel_raglog.errors import BadInput
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage


class Goal(StrEnum):
    """What thresholds are suggested for."""

    BEST_F1 = "best-f1"
    RECALL = "recall"
    RUN_RATE = "run-rate"


class ThresholdFormat(StrEnum):
    """How suggestions are printed."""

    TABLE = "table"
    JSON = "json"


def thresholds(
    runs: LabelledFiles,
    model: Annotated[Path, typer.Option(help="Folder of the trained detector.")],
    goal: Annotated[
        Goal,
        typer.Option(
            help="best-f1: per stage the best F1 within the rate; recall: per stage the most "
            "recall within it; run-rate: the best F1 of all stages, with at most that share of "
            "the sound runs flagged in any stage."
        ),
    ] = Goal.BEST_F1,
    max_false_positive_rate: Annotated[
        float, typer.Option(min=0, max=1, help="The highest false-positive rate allowed.")
    ] = 0.10,
    policy: Annotated[
        Policy, typer.Option(help="Whose thresholds are shown beside the suggested ones.")
    ] = Policy.MONITORING,
    output_format: Annotated[
        ThresholdFormat, typer.Option("--format", help="How to print the suggestions.")
    ] = ThresholdFormat.TABLE,
    config: ConfigFile = None,
) -> None:
    """Suggest thresholds per stage from RUNS, and say what to expect of them.

    Nothing is changed: put what is printed into the configuration (analysis.thresholds). Runs that
    the detector was trained on make it look better than it is. Exit code 0: done; 2: bad usage or
    input (what could be read still counts).
    """
    artifact = load_artifact(model)
    reading = read_files(runs, keep_records=True)
    analyser = build_analyser(
        load_config(config).analysis,
        quote_text=False,
        failures=LoggingFailures(),
        detector=Ensemble(artifact, policy),
    )
    with showing_progress() as tell:
        scored = _score(reading.records, analyser, tuple(artifact.manifest.stages), tell)
    if not scored:
        raise BadInput("no labelled run has a stage that this detector was trained for")
    suggested = _suggest(goal, scored, max_false_positive_rate)
    current = {stage: artifact.manifest.stages[stage].thresholds[policy] for stage in scored}
    rows = {
        stage: (
            (current[stage], expect(each, current[stage])),
            (suggested[stage], expect(each, suggested[stage])),
        )
        for stage, each in scored.items()
    }
    if output_format is ThresholdFormat.JSON:
        sys.stdout.write(json.dumps(_to_json(rows), indent=2, allow_nan=False) + "\n")
    else:
        _print(rows)
    warn_of_training_runs(runs, artifact.manifest.trained_on)
    report_problems(reading.problems)
    if reading.problems:
        raise typer.Exit(BAD_INPUT)


Row = tuple[tuple[float, Expected], tuple[float, Expected]]
"""Threshold and what to expect of it: now, and as suggested."""


def _score(
    records: Sequence[Mapping[str, object]],
    analyser: Analyser,
    stages: Sequence[Stage],
    tell: Told,
) -> dict[Stage, Scored]:
    """Return probabilities and labels of the runs of each stage that could be judged."""
    found: dict[Stage, list[tuple[int, float, bool]]] = {}
    for row, record in enumerate(records):
        faulty, _ = labels_of(record)
        if faulty:
            verdicts = analyser.judge(run_from_record(record)).verdicts
            for stage in faulty.keys() & set(stages):
                probability = verdicts[stage].probability
                if probability is not None:
                    found.setdefault(stage, []).append((row, probability, faulty[stage]))
        tell("Judging", row + 1, len(records))
    return {
        stage: Scored(
            np.array([row for row, _, _ in found[stage]], dtype=np.intp),
            np.array([probability for _, probability, _ in found[stage]]),
            np.array([bad for _, _, bad in found[stage]], dtype=np.bool_),
        )
        for stage in stages
        if stage in found
    }


def _suggest(goal: Goal, scored: Mapping[Stage, Scored], most_false: float) -> dict[Stage, float]:
    if goal is Goal.RUN_RATE:
        return run_level(scored, most_false)
    choose = best_f1 if goal is Goal.BEST_F1 else most_recall
    return {stage: choose(each, most_false) for stage, each in scored.items()}


def _to_json(rows: Mapping[Stage, Row]) -> dict[str, object]:
    return {
        stage.value: {
            name: {"threshold": threshold, **asdict(expected)}
            for name, (threshold, expected) in zip(("current", "suggested"), row, strict=True)
        }
        for stage, row in rows.items()
    }


def _print(rows: Mapping[Stage, Row]) -> None:
    table = Table()
    for column in ("stage", "runs", "faulty", "", "threshold", "precision", "recall", "F1"):
        table.add_column(column, justify="left" if column in {"stage", ""} else "right")
    table.add_column("false-positive rate", justify="right")
    for stage, row in rows.items():
        for name, (threshold, expected) in zip(("current", "suggested"), row, strict=True):
            table.add_row(
                stage.value,
                str(expected.runs),
                str(expected.faulty),
                name,
                f"{threshold:.3f}",
                f"{expected.precision:.2f}",
                f"{expected.recall:.2f}",
                f"{expected.f1:.2f}",
                f"{expected.false_positive_rate:.3f}",
            )
    Console(width=None if sys.stdout.isatty() else 110).print(table)
    sys.stdout.write("To apply the suggested thresholds:\n\nanalysis:\n  thresholds:\n")
    for stage, (_, (threshold, _)) in rows.items():
        sys.stdout.write(f"    {stage.value}: {threshold:.4f}\n")

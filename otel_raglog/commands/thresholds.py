"""``otel-raglog thresholds``: labelled runs to thresholds for a trained detector."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.tables import plain_console
from otel_raglog.commands.train import LabelledFiles, warn_of_training_runs
from otel_raglog.config import load_config
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.detect.choosing import folder_of
from otel_raglog.detect.clearing import is_cleared
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.features import features_of
from otel_raglog.detect.policies import (
    Expected,
    Policy,
    Scored,
    best_f1,
    expect,
    most_recall,
    run_level,
)
from otel_raglog.detect.training.labels import Labels, read_all_labels
from otel_raglog.errors import BadInput
from otel_raglog.model import Run, Stage

_DIGITS = 6
_KINDS = 2
"""Faulty and sound: a threshold separates them."""


class LeftOut(StrEnum):
    """Why a labelled stage of a run says nothing of a threshold."""

    NOT_JUDGED = "not judged"
    OTHERWISE = "judged by rules-1 or by definition"
    CLEARED = "cleared: what the question asks was excluded by the reranker"


@dataclass(slots=True)
class Labelled:
    """What a detector said of labelled runs.

    ``sound`` are the places of runs that are faulty in no labelled stage. ``left_out`` counts what
    no threshold decides.
    """

    scored: dict[Stage, Scored] = field(default_factory=dict)
    sound: list[int] = field(default_factory=list)
    left_out: dict[Stage, Counter[LeftOut]] = field(default_factory=dict)

    def reasons(self, stage: Stage) -> str:
        """Return in words what of a stage was left out, empty when nothing was."""
        counts = self.left_out.get(stage, Counter())
        return ", ".join(f"{counts[why]} {why.value}" for why in LeftOut if counts[why])


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
    model: Annotated[
        str, typer.Option(help="Folder of the trained detector, or local or light.", metavar="PATH")
    ],
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
    artifact = load_artifact(folder_of(model))
    reading = read_files(runs, keep_records=True)
    detector = Ensemble(artifact, policy)
    analyser = build_analyser(
        load_config(config).analysis,
        quote_text=False,
        failures=LoggingFailures(),
        detector=detector,
    )
    labels, malformed = read_all_labels(reading.records)
    problems = [*reading.problems, *malformed]
    with showing_progress() as tell:
        labelled = list(zip(reading.runs, labels, strict=True))
        found = _score(labelled, analyser, detector, tuple(artifact.manifest.stages), tell)
    scored = found.scored
    for stage in [stage for stage, each in scored.items() if len(set(each.faulty)) < _KINDS]:
        problems.append(
            f"{stage.value}: no threshold is suggested without both faulty and sound runs"
        )
        del scored[stage]
    if not scored:
        none = "no labelled run has a stage that this detector was trained for and judges by it"
        raise BadInput("; ".join([*problems, none, *_lines_left_out(found)]))
    suggested = {
        stage: _rounded(threshold)
        for stage, threshold in _suggest(goal, found, max_false_positive_rate).items()
    }
    current = {stage: detector.threshold(stage) for stage in scored}
    rows = {
        stage: (
            (current[stage], expect(each, current[stage])),
            (suggested[stage], expect(each, suggested[stage])),
        )
        for stage, each in scored.items()
    }
    if output_format is ThresholdFormat.JSON:
        text = json.dumps(_to_json(rows, found), indent=2, allow_nan=False)
        sys.stdout.write(f"{text}\n")
    else:
        _print(rows)
    for line in _lines_left_out(found):
        sys.stderr.write(f"otel-raglog: {line}\n")
    warn_of_training_runs(runs, artifact.manifest.trained_on)
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


Row = tuple[tuple[float, Expected], tuple[float, Expected]]
"""Threshold and what to expect of it: now, and as suggested."""


def _score(
    runs: Sequence[tuple[Run, Labels | None]],
    analyser: Analyser,
    detector: Ensemble,
    stages: Sequence[Stage],
    tell: Told,
) -> Labelled:
    """Return probabilities and labels of the runs of each stage that its threshold decides."""
    found = Labelled()
    scored: dict[Stage, list[tuple[int, float, bool]]] = {}
    for row, (run, labels) in enumerate(runs):
        if labels is not None:
            if not labels.run_faulty:
                found.sound.append(row)
            said = _decided(run, analyser, detector)
            for stage in labels.faulty.keys() & set(stages):
                probability = said(stage)
                if isinstance(probability, LeftOut):
                    found.left_out.setdefault(stage, Counter())[probability] += 1
                else:
                    scored.setdefault(stage, []).append((row, probability, labels.faulty[stage]))
        tell("Judging", row + 1, len(runs))
    found.scored = {
        stage: Scored(
            np.array([row for row, _, _ in scored[stage]], dtype=np.intp),
            np.array([probability for _, probability, _ in scored[stage]]),
            np.array([bad for _, _, bad in scored[stage]], dtype=np.bool_),
        )
        for stage in stages
        if stage in scored
    }
    return found


def _decided(
    run: Run, analyser: Analyser, detector: Ensemble
) -> Callable[[Stage], float | LeftOut]:
    """Return what tells a stage's probability, or why its threshold does not decide."""
    run, measurements = analyser.measure(run)
    verdicts = detector.judge(run, measurements)
    cleared = is_cleared(features_of(measurements).shared)

    def of(stage: Stage) -> float | LeftOut:
        verdict = verdicts[stage]
        if verdict.probability is None:
            return LeftOut.NOT_JUDGED
        if verdict.threshold != detector.threshold(stage):
            return LeftOut.OTHERWISE
        # At no threshold is such a retriever flagged, nor is its probability always the model's.
        if cleared and stage is Stage.RETRIEVER:
            return LeftOut.CLEARED
        return verdict.probability

    return of


def _suggest(goal: Goal, found: Labelled, most_false: float) -> dict[Stage, float]:
    if goal is Goal.RUN_RATE:
        return run_level(found.scored, most_false, found.sound)
    choose = best_f1 if goal is Goal.BEST_F1 else most_recall
    return {stage: choose(each, most_false) for stage, each in found.scored.items()}


def _rounded(threshold: float) -> float:
    """Return the threshold as it is printed: rounded down, so that it still flags the same."""
    return float(Context(prec=_DIGITS, rounding=ROUND_FLOOR).create_decimal(Decimal(threshold)))


def _in_full(threshold: float) -> str:
    """Return the number without an exponent, which YAML would read as a text."""
    return f"{Decimal(repr(threshold)):f}"


def _lines_left_out(found: Labelled) -> list[str]:
    return [
        f"{stage.value}: left out, as no threshold decides them: {found.reasons(stage)}"
        for stage in Stage
        if stage in found.left_out
    ]


def _to_json(rows: Mapping[Stage, Row], found: Labelled) -> dict[str, object]:
    made: dict[str, object] = {}
    for stage, row in rows.items():
        left_out = found.left_out.get(stage, Counter())
        made[stage.value] = {
            name: {"threshold": threshold, **asdict(expected)}
            for name, (threshold, expected) in zip(("current", "suggested"), row, strict=True)
        } | {"left_out": {why.name.lower(): left_out[why] for why in LeftOut}}
    return made


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
                _in_full(_rounded(threshold)),
                f"{expected.precision:.2f}",
                f"{expected.recall:.2f}",
                f"{expected.f1:.2f}",
                f"{expected.false_positive_rate:.3f}",
            )
    plain_console(width=None if sys.stdout.isatty() else 110).print(table)
    sys.stdout.write("To apply the suggested thresholds:\n\nanalysis:\n  thresholds:\n")
    for stage, (_, (threshold, _)) in rows.items():
        sys.stdout.write(f"    {stage.value}: {_in_full(threshold)}\n")

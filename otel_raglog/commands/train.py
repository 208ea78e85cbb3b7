"""``otel-raglog train``: labelled run records to a trained detector in a folder."""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser, reader_of, with_training_checks
from otel_raglog.checks.judge.answers_file import RecordedAnswers, read_answers
from otel_raglog.checks.judge.registry import measurements_from
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.tables import plain_console
from otel_raglog.config import load_config
from otel_raglog.detect.artifact import NAME_PATTERN, Escalation, JudgedBy
from otel_raglog.detect.escalation import DEFAULT_ERROR
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.labels import Labels, read_all_labels
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.judge.model_names import is_version_of
from otel_raglog.lab.evaluation.detectors import example_of, tier_trainer
from otel_raglog.lab.evaluation.escalation import curve_of, judge_tiers, learned_from
from otel_raglog.lab.evaluation.outcomes import MeasuredRun
from otel_raglog.lab.evaluation.retraining import splits_of
from otel_raglog.model import Run

if TYPE_CHECKING:
    from otel_raglog.detect.artifact import Manifest, TrainedOn

LabelledFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Run records with labels (JSON lines, CSV, parquet); .gz too.", metavar="RUNS..."
    ),
]

JudgeAnswersFile = Annotated[
    Path | None,
    typer.Option(
        help="An LLM's answers by run id (JSON lines, as judge export and import write them); .gz too."
    ),
]


def train(
    runs: LabelledFiles,
    out: Annotated[Path, typer.Option(help="Folder of the trained detector; made if need be.")],
    name: Annotated[str, typer.Option(help="Its name, with which its version begins.")] = "local",
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 1,
    judge_answers: JudgeAnswersFile = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            help="The LLM that gave the answers, as providers name it. Default: the one that they name."
        ),
    ] = None,
    judge_for: Annotated[
        list[str] | None,
        typer.Option(
            help="LLMs that the detector is for, with * for anything. Default: that of --judge-model."
        ),
    ] = None,
    judge_provenance: Annotated[
        str, typer.Option(help="Where the answers come from, in words, for the manifest.")
    ] = "",
    config: ConfigFile = None,
) -> None:
    """Train a detector on RUNS, and say what to expect of it.

    The checks are those of analysis.checks (default: rules, similarity, alignment, crossencoder). The same runs, checks and seed give the same detector.
    Use it with analysis.detector. With --judge-answers it reads an LLM's answers too, is for judge.detector, and learns
    when the LLM is worth asking; runs without answers are trained on as well. Where the answers do not name their LLM, --judge-model must. Exit code 0: done; 2: bad usage or input: nothing is written,
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
    answers, problems = ({}, []) if judge_answers is None else read_answers(judge_answers)
    if judge_answers is not None and not answers:
        raise BadInput("; ".join([*problems, f"{judge_answers}: no answers"]))
    by = None if judge_answers is None else judge_model_of(judge_answers, answers, judge_model)
    if judge_answers is not None and by is None:
        raise BadInput(
            f"{judge_answers}: not all answers name the LLM that gave them: say it by --judge-model"
        )
    options = with_training_checks(load_config(config).analysis)
    reading = read_files(runs, keep_records=True)
    if reading.problems:
        report_problems(reading.problems)
        raise typer.Exit(BAD_INPUT)
    analyser = build_analyser(
        options, quote_text=False, failures=LoggingFailures(), detector=Rules1()
    )
    settings = replace(training.WITH_ANSWERS if answers else training.DEFAULT, seed=seed)
    with showing_progress() as tell:
        labels, malformed = read_all_labels(reading.records)
        problems += malformed
        runs_here = measured_runs(reading.runs, labels, analyser, answers, tell)
        examples = [each for run in runs_here if (each := example_of(run)) is not None]
        if not examples:
            none = (
                'nothing to train on: no run has labels ("labels": {"retriever": {"faulty": '
                "true}}) of a stage that can be judged"
            )
            raise BadInput("; ".join([*problems, none]))
        trained = training.train(examples, settings, tell)
        escalation = _learn_escalation(runs_here, answers, seed, tell) if answers else None
    judge = None
    if judge_answers is not None and by is not None:
        judge = JudgedBy(
            model=by,
            models=tuple(judge_for or (by,)),
            provenance=judge_provenance,
            answers=((judge_answers.name, _digest(judge_answers), _answered(runs_here, answers)),),
        )
    try:
        artifact = training.write_trained(
            out,
            trained,
            examples,
            settings,
            name=name,
            files=_files(runs),
            cross_encoder=reader_of(options),
            judge=judge,
            escalation=escalation,
        )
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}") from None
    _print(artifact.manifest, out)
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


def measured_runs(
    runs: Sequence[Run],
    labels: Sequence[Labels | None],
    analyser: Analyser,
    answers: Mapping[str, RecordedAnswers],
    tell: Told,
) -> list[MeasuredRun]:
    """Return the labelled runs, measured as the service measures them, an LLM's answers included."""
    found = []
    for number, (run, known) in enumerate(zip(runs, labels, strict=True), 1):
        if known is not None:
            noted, measurements = analyser.measure(run)
            if (given := answers.get(run.run_id)) is not None:
                measurements = (*measurements, *measurements_from(given, noted))
            found.append(MeasuredRun(noted, measurements, known))
        tell("Measuring", number, len(runs))
    return found


def _answered(runs: Sequence[MeasuredRun], answers: Mapping[str, RecordedAnswers]) -> int:
    return sum(run.run.run_id in answers for run in runs)


def _learn_escalation(
    runs: Sequence[MeasuredRun], answers: Mapping[str, RecordedAnswers], seed: int, tell: Told
) -> Escalation | None:
    """Return when the LLM is worth asking: learned out of fold, on the runs that it answered.

    ``None`` where these are too few.
    """
    asked = [run for run in runs if run.run.run_id in answers]
    others = [run for run in runs if run.run.run_id not in answers]
    trainer = tier_trainer(Policy.PAPER, seed)
    splits = splits_of(asked, others, seed=seed)
    try:
        tiers = judge_tiers(splits, trainer, tell, "Learning when to ask")
    except BadInput:
        sys.stderr.write(
            "otel-raglog: too few runs with answers to learn when an LLM is worth asking: that is "
            f"where the local verdict is wrong with a probability of {DEFAULT_ERROR} or more\n"
        )
        return None
    return learned_from(curve_of(tiers), len(asked), "trained on the same runs")


def judge_model_of(
    path: Path, answers: Mapping[str, RecordedAnswers], told: str | None
) -> str | None:
    """Return the LLM that gave ``answers``: ``told``, else the one that all of them name, if they do.

    Raises:
        BadInput: they name several, or another one than ``told``; a date at the end is no difference.
    """
    every = {each.model for each in answers.values()}
    named = sorted(each for each in every if each is not None)
    if len(named) > 1:
        raise BadInput(
            f"{path}: answers of several models ({', '.join(named)}): a detector is for one of them"
        )
    if told is None:
        return named[0] if every == set(named) else None
    if named and not (is_version_of(named[0], told) or is_version_of(told, named[0])):
        raise BadInput(f"--judge-model {told}: {path} has answers of {named[0]}")
    return told


def warn_of_training_runs(paths: Sequence[Path], *trained_on: TrainedOn) -> None:
    """Say which of the files, of runs or of answers, a detector was trained on.

    It looks better on them than it is.
    """
    answers = [each.judge.answers for each in trained_on if each.judge is not None]
    files = [file for each in (*(each.files for each in trained_on), *answers) for file in each]
    known = {digest for _, digest, _ in files}
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
    plain_console(width=None if sys.stdout.isatty() else 110).print(table)
    option = "analysis.detector" if manifest.trained_on.judge is None else "judge.detector"
    if (learned := manifest.escalation) is not None:
        sys.stdout.write(
            f"An LLM is worth asking where the local verdict is wrong with a probability of "
            f"{learned.error:.2f} or more: about {learned.asked:.0%} of the {learned.runs} runs with "
            f"answers. Pooled F1 out of fold {learned.f1:.3f}; always asked {learned.f1_always:.3f}, "
            f"never {learned.f1_never:.3f}.\n"
        )
    sys.stdout.write(
        "The thresholds were chosen on the same predictions: expect somewhat less "
        f"(otel-raglog evaluate).\nWritten to {out}; use it with {option}: {out}\n"
    )

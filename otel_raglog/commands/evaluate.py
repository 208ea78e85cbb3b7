"""``otel-raglog evaluate``: labelled run records to figures of how good a detector is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser, with_training_checks
from otel_raglog.checks.judge.answers_file import RecordedAnswers, read_answers
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.commands.reading import read_files
from otel_raglog.commands.tables import plain_console
from otel_raglog.commands.train import (
    JudgeAnswersFile,
    judge_model_of,
    measured_runs,
    warn_of_training_runs,
)
from otel_raglog.config import load_config
from otel_raglog.detect.artifact import TrainedOn
from otel_raglog.detect.choosing import build_llm_detector
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.detect.training.labels import read_all_labels
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation import detectors
from otel_raglog.lab.evaluation.ablation import (
    JUDGE_CHECK_NAMES,
    LOCAL,
    Variant,
    ablate,
    ablate_judge,
    ablate_retrained,
    groups_of,
    judge_variants,
    without_checks,
)
from otel_raglog.lab.evaluation.confusion import DRAWS
from otel_raglog.lab.evaluation.detectors import TierTrainer
from otel_raglog.lab.evaluation.escalation import (
    BothTiers,
    Point,
    curve_of,
    escalation_json,
    escalation_table,
    judge_tiers,
    tiers_of,
)
from otel_raglog.lab.evaluation.evaluation import Evaluation, figures_of
from otel_raglog.lab.evaluation.json_figures import Setting, to_json
from otel_raglog.lab.evaluation.mistakes import mistakes_in
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun, judge_all
from otel_raglog.lab.evaluation.plots import check_plots, write_plots
from otel_raglog.lab.evaluation.retraining import (
    LeaveOut,
    LeftOut,
    Split,
    Trainer,
    judge_splits,
    leave_out,
    parts_of,
    split_apart,
    splits_of,
)
from otel_raglog.lab.evaluation.tables import print_evaluation
from otel_raglog.lab.references.correctness import Judged, known_correctness

_NO_LABELS = (
    "no run has labels: figures need run records that say per stage whether it is faulty, such as "
    '"labels": {"retriever": {"faulty": true}}'
)
_NO_ANSWERS: Mapping[str, RecordedAnswers] = MappingProxyType({})
_UNKNOWN = "unknown"
"""The LLM whose answers do not name it: no trained detector is for it."""

_CHOSEN_HERE = "The bold line was chosen on these same runs: on others expect somewhat less of it."
_WIDTH = 150
"""Columns of tables that are not printed on a terminal."""


class FigureFormat(StrEnum):
    """How figures are printed."""

    TABLE = "table"
    JSON = "json"


@dataclass(slots=True)
class LabelledRuns:
    """What files held: labelled runs, measured; runs without labels; what could not be read.

    ``answers`` says by run id whether an answer is right, where that is known.
    """

    runs: list[MeasuredRun] = field(default_factory=list)
    unlabelled: int = 0
    problems: list[str] = field(default_factory=list)
    answers: Mapping[str, Judged] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which figures are made."""

    ablation: bool
    leaving_out: Sequence[LeaveOut]
    draws: int
    seed: int
    answers: Mapping[str, Judged] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answers of an LLM, by run id, and which detector is to read them."""

    answers: Mapping[str, RecordedAnswers]
    problems: list[str]
    model: str
    detector: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """With what, and how, runs are evaluated. Without a trainer the detectors are as they are."""

    analyser: Analyser
    trainer: Trainer | None
    out_of_fold: bool
    wanted: Wanted
    policy: Policy
    tell: Told

    @property
    def how(self) -> str:
        """The protocol, for the head of the figures."""
        if self.trainer is None:
            return "as it is"
        return "out of fold by question" if self.out_of_fold else "trained on other runs"

    def splits(
        self, tested: Sequence[MeasuredRun], others: Sequence[MeasuredRun]
    ) -> tuple[Split, ...]:
        """Return what is trained on, and what is judged then."""
        if self.out_of_fold:
            return splits_of(tested, others, seed=self.wanted.seed)
        return split_apart(tested, others)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came out; ``curve`` is that of escalation, empty without an LLM's answers.

    ``trained_on`` says of the detectors that were trained before on what they were.
    """

    detector: str
    how: str
    judged: Sequence[JudgedRun]
    evaluation: Evaluation
    curve: Sequence[Point] = ()
    trained_on: Sequence[TrainedOn] = ()


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
    judge_answers: JudgeAnswersFile = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            help="The LLM that gave the answers: chooses the detector that reads them. Default: the one that they name."
        ),
    ] = None,
    judge_detector: Annotated[
        str | None,
        typer.Option(help="The detector that reads the answers; default: the LLM's own."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Say how good a detector is on RUNS, whose labels are known.

    With --out-of-fold or --train, detectors are trained here, each without the questions that it
    is tested on; otherwise one that is trained already is evaluated. With --judge-answers only the
    runs that an LLM answered are evaluated, by local checks and answers together, beside each of the
    two alone, and with escalation. Exit code 0: done; 2: bad
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
    recorded = _read_recorded(judge_answers, judge_model, judge_detector)
    with showing_progress() as tell:
        tested = read_labelled(runs, analyser, tell, recorded.answers)
        others = read_labelled(train, analyser, tell, recorded.answers) if train else LabelledRuns()
        wanted = replace(wanted, answers=tested.answers)
        task = Task(analyser, trainer, out_of_fold, wanted, policy, tell)
        if judge_answers is None:
            found = _evaluate_local(tested.runs, others.runs, task)
        else:
            found = _evaluate_tiers(tested.runs, others.runs, recorded, task)
    problems = [*tested.problems, *others.problems, *recorded.problems]
    setting = Setting(
        found.detector, policy.value, found.how, tested.unlabelled, len(tested.problems)
    )
    if errors is not None:
        _write_errors(found.judged, errors)
    if plots is not None:
        write_plots(found.evaluation, plots)
    _print(found.evaluation, setting, output_format, found.curve)
    known = runs if judge_answers is None else [*runs, judge_answers]
    warn_of_training_runs(known, *found.trained_on)
    report_problems(problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


def _read_recorded(path: Path | None, model: str | None, detector: str | None) -> Recorded:
    if path is None:
        return Recorded({}, [], _UNKNOWN, detector)
    answers, problems = read_answers(path)
    if not answers:
        raise BadInput("; ".join([*problems, f"{path}: no answers"]))
    by = judge_model_of(path, answers, model) or _UNKNOWN
    return Recorded(answers, problems, by, detector)


def read_labelled(
    paths: Sequence[Path],
    analyser: Analyser,
    tell: Told,
    answers: Mapping[str, RecordedAnswers] = _NO_ANSWERS,
) -> LabelledRuns:
    """Return the labelled runs in ``paths``, measured as the service measures them.

    ``answers`` are an LLM's, by run id: they are measurements too. Traces have no labels. A record whose labels are malformed is a problem.

    Raises:
        BadInput: nothing could be read, or no run has labels.
    """
    reading = read_files(paths, keep_records=True)
    every, problems = read_all_labels(reading.records)
    right, malformed = known_correctness(reading.records)
    found = LabelledRuns(
        unlabelled=len(reading.traces()) + every.count(None) - len(problems),
        problems=[*reading.problems, *problems, *malformed],
        answers=right,
    )
    found.runs = measured_runs(reading.runs, every, analyser, answers, tell)
    if not found.runs:
        raise BadInput("; ".join([*found.problems, _NO_LABELS]))
    return found


def _evaluate_local(
    tested: Sequence[MeasuredRun], others: Sequence[MeasuredRun], task: Task
) -> Evaluated:
    analyser, wanted, trainer = task.analyser, task.wanted, task.trainer
    if trainer is not None:
        judged, evaluation = _trained_here(
            task.splits(tested, others), trainer, analyser, wanted, task.tell
        )
        return Evaluated(trainer.name, task.how, judged, evaluation)
    detector = analyser.detector
    judged = judge_all(tested, detector)
    variants = ablate(tested, groups_of(analyser.checks), detector) if wanted.ablation else ()
    evaluation = _figures(judged, variants, wanted)
    known = _trained_on(detector)
    return Evaluated(analyser.detector_version, task.how, judged, evaluation, trained_on=known)


def _evaluate_tiers(
    tested: Sequence[MeasuredRun],
    others: Sequence[MeasuredRun],
    recorded: Recorded,
    task: Task,
) -> Evaluated:
    """Evaluate the runs with answers; out of fold those without are trained on."""
    asked = [run for run in tested if run.run.run_id in recorded.answers]
    rest = [run for run in tested if run.run.run_id not in recorded.answers]
    if not asked:
        raise BadInput("--judge-answers: the file has answers to none of these runs")
    wanted = task.wanted
    known: tuple[TrainedOn, ...] = ()
    if task.trainer is None:
        detector = build_llm_detector(
            task.analyser.detector,
            model=recorded.model,
            name=recorded.detector,
            policy=task.policy,
        )
        known = _trained_on(detector.local, detector.trained)
        name, tiers = detector.version, tiers_of(asked, detector)
        variants = _tiers_as_they_are(asked, detector, tiers, wanted)
    else:
        trainer = detectors.tier_trainer(task.policy, wanted.seed)
        more = [*others, *rest] if task.out_of_fold else others
        splits = task.splits(asked, more)
        name, tiers = trainer.name, judge_tiers(splits, trainer, task.tell)
        variants = _tiers_trained_here(splits, trainer, tiers, wanted, task.tell)
    what = "trained on too" if task.out_of_fold else "left out"
    how = f"{task.how}, runs with answers alone ({len(rest)} without are {what})"
    evaluation = _figures(tiers.llm, variants, wanted)
    return Evaluated(name, how, tiers.llm, evaluation, curve_of(tiers), known)


def _trained_on(*detectors: Detector | None) -> tuple[TrainedOn, ...]:
    return tuple(each.trained_on for each in detectors if isinstance(each, Ensemble))


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
    return judged, _figures(judged, variants, wanted, left_out)


def _figures(
    judged: Sequence[JudgedRun],
    variants: Iterable[Variant],
    wanted: Wanted,
    left_out: Iterable[LeftOut] = (),
) -> Evaluation:
    return figures_of(
        judged,
        variants=variants,
        left_out=left_out,
        answers=wanted.answers,
        draws=wanted.draws,
        seed=wanted.seed,
    )


def _tiers_trained_here(
    splits: Sequence[Split],
    trainer: TierTrainer,
    tiers: BothTiers,
    wanted: Wanted,
    tell: Told,
) -> Iterator[Variant]:
    yield Variant("local", (LOCAL,), tiers.local, retrained=True)
    alone = judge_tiers(splits, trainer.alone(), tell, "Training on answers alone")
    yield Variant("LLM alone", JUDGE_CHECK_NAMES, alone.llm, retrained=True)
    yield Variant("both", (LOCAL, *JUDGE_CHECK_NAMES), tiers.llm, retrained=True)
    fixed = judge_tiers(splits, trainer.untrained(), tell, "Training local detectors")
    yield Variant("both, untrained", (LOCAL, *JUDGE_CHECK_NAMES), fixed.llm, retrained=True)
    if wanted.ablation:
        once = [split for split in splits if split.repeat == 0]
        yield from ablate_judge(once, trainer, tell)


def _tiers_as_they_are(
    runs: Sequence[MeasuredRun], detector: LlmDetector, tiers: BothTiers, wanted: Wanted
) -> Iterator[Variant]:
    yield Variant("local", (LOCAL,), tiers.local, retrained=False)
    yield Variant("both", (LOCAL, *JUDGE_CHECK_NAMES), tiers.llm, retrained=False)
    for name, groups in judge_variants() if wanted.ablation else ():
        kept = [without_checks(run, groups) for run in runs]
        yield Variant(name, (LOCAL, *groups), judge_all(kept, detector), retrained=False)


def _write_errors(judged: Sequence[JudgedRun], path: Path) -> None:
    lines = [json.dumps(each, allow_nan=False) + "\n" for each in mistakes_in(judged)]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from None


def _print(
    evaluation: Evaluation,
    setting: Setting,
    output_format: FigureFormat,
    curve: Sequence[Point] = (),
) -> None:
    if output_format is FigureFormat.JSON:
        figures = to_json(evaluation, setting)
        if curve:
            figures["escalation"] = escalation_json(curve)
        text = json.dumps(figures, indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")
        return
    console = plain_console()
    if not console.is_terminal:
        console = plain_console(width=max(_WIDTH, console.width))
    print_evaluation(evaluation, setting, console)
    if curve:
        console.print(escalation_table(curve))
        console.print(_CHOSEN_HERE)

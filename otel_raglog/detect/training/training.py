"""Examples to a trained detector: out-of-fold predictions, calibration, thresholds, artifact."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from otel_raglog.detect.artifact import (
    TRAINING,
    Artifact,
    Escalation,
    ExpectedFigures,
    JudgedBy,
    StageEntry,
    TrainedOn,
    load_artifact,
    make_artifact,
    write_files,
)
from otel_raglog.detect.compiled import CompiledStage, Floats
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy, Scored, expect, thresholds
from otel_raglog.detect.training.calibrating import Calibration, choose_calibration
from otel_raglog.detect.training.dropping import with_dropped
from otel_raglog.detect.training.examples import (
    Example,
    Progress,
    StageTable,
    names_in,
    quiet,
    tables_of,
)
from otel_raglog.detect.training.files import catboost_bytes, skops_bytes
from otel_raglog.detect.training.folds import FOLDS, partitions_of
from otel_raglog.detect.training.models import FittedStage, compile_stage, fit, usable
from otel_raglog.detect.training.settings import DEFAULT, WITH_ANSWERS, Settings
from otel_raglog.errors import BadInput
from otel_raglog.model import FAULT_TYPES, FaultType, Stage

__all__ = ["DEFAULT", "WITH_ANSWERS", "Settings", "train", "train_detector", "write_trained"]

_LIBRARIES = ("scikit-learn", "catboost", "numpy")


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """Predictions on runs that the models did not see.

    ``raw`` and ``folds`` are (partitions, rows of ``table``); ``raw`` is NaN where the training
    part lacked faulty or sound runs. Where some runs have an LLM's answers, those alone are known:
    of the others the local detector's verdict will stand.
    """

    table: StageTable
    folds: npt.NDArray[np.intp]
    raw: Floats

    @property
    def places(self) -> npt.NDArray[np.bool_]:
        """Mark the rows of ``table`` that were predicted in every partition, and count."""
        answered = self.table.answered
        predicted: npt.NDArray[np.bool_] = ~np.isnan(self.raw).any(axis=0)
        return predicted & answered if answered.any() else predicted

    @property
    def known(self) -> StageTable:
        """The part of ``table`` that these are."""
        return self.table.only(self.places)


@dataclass(frozen=True, slots=True)
class TrainedStage:
    """The models of one stage with all that belongs to them."""

    fitted: FittedStage
    compiled: CompiledStage
    calibration: Calibration
    scored: Scored
    """Calibrated out-of-fold probabilities, the mean over partitions."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained detector, not written yet."""

    names: tuple[str, ...]
    stages: Mapping[Stage, TrainedStage]
    thresholds: Mapping[Policy, Mapping[Stage, float]]


def folds_of(
    examples: Sequence[Example], seed: int, *, partitions: int = 3
) -> npt.NDArray[np.intp]:
    """Return the fold of each example in each partition, all of a group in one fold."""
    return partitions_of(
        [example.group for example in examples],
        [[stage.value for stage, bad in example.faulty.items() if bad] for example in examples],
        seed=seed,
        partitions=partitions,
    )


def out_of_fold(
    table: StageTable, folds: npt.NDArray[np.intp], settings: Settings, progress: Progress = quiet
) -> OutOfFold:
    """Return predictions on each fold by models fitted to the others; ``folds`` of all examples."""
    own = folds[:, table.rows]
    raw = np.full(own.shape, np.nan)
    parts = [(partition, fold) for partition in range(len(own)) for fold in np.unique(own)]
    for number, (partition, fold) in enumerate(parts, 1):
        tested = own[partition] == fold
        inside = table.only(~tested)
        both = 0 < inside.faulty.sum() < len(inside.faulty)
        if tested.any() and both and len(usable(inside, settings)):
            raw[partition, tested] = _fit(inside, settings).raw(table.values[tested])
        progress(f"Predicting {table.stage.value} out of fold", number, len(parts))
    return OutOfFold(table, own, raw)


def _fit(table: StageTable, settings: Settings) -> FittedStage:
    return fit(with_dropped(table, settings.dropped_copies, settings.seed), settings)


def train(
    examples: Sequence[Example],
    settings: Settings = DEFAULT,
    progress: Progress = quiet,
) -> Trained:
    """Return a detector trained on ``examples``; the same ones and settings give the same.

    Stages with fewer faulty or sound runs than ``settings.fewest``, with such runs of fewer groups
    than there are folds, and those of which nothing was measured, are left out: rules-1 judges
    them.

    Raises:
        BadInput: no stage has enough of both.
    """
    groups = [example.group for example in examples]
    names = names_in(examples)
    folds = folds_of(examples, settings.seed, partitions=settings.partitions)
    stages: dict[Stage, TrainedStage] = {}
    held: list[str] = []
    for table in tables_of(examples, names):
        held.append(f"{table.stage.value}: {_held(table, groups)}")
        if not _enough(table, groups, settings) or not len(usable(table, settings)):
            continue
        predicted = out_of_fold(table, folds, settings, progress)
        # Where one fold has all runs of a kind, the models of the others cannot be fitted.
        if _enough(predicted.known, groups, settings):
            stages[table.stage] = _train_stage(predicted, settings)
    if not stages:
        raise BadInput(
            f"nothing to train on: no stage has {settings.fewest} labelled runs of both kinds, "
            f"faulty and sound, each of {FOLDS} groups that can be kept apart (group: the same for "
            "all runs of one question), and measurements of it; there are "
            f"{'; '.join(held) or 'none left (runs of tested questions are not trained on)'}"
        )
    used = tuple(sorted({names[place] for each in stages.values() for place in each.fitted.kept}))
    columns = {name: place for place, name in enumerate(used)}
    compiled = {
        stage: TrainedStage(
            each.fitted,
            each.calibration.put_into(compile_stage(each.fitted, names, columns)),
            each.calibration,
            each.scored,
        )
        for stage, each in stages.items()
    }
    scored = {stage: each.scored for stage, each in stages.items()}
    sound = [row for row, example in enumerate(examples) if example.sound]
    return Trained(used, compiled, {policy: thresholds(policy, scored, sound) for policy in Policy})


def _enough(table: StageTable, groups: Sequence[str], settings: Settings) -> bool:
    """Tell whether there are enough faulty and enough sound runs, each of enough groups."""
    return all(
        len(rows) >= settings.fewest and len({groups[row] for row in rows}) >= FOLDS
        for rows in (table.rows[table.faulty], table.rows[~table.faulty])
    )


def _held(table: StageTable, groups: Sequence[str]) -> str:
    return " and ".join(
        f"{len(rows)} {name} of {len({groups[row] for row in rows})} groups"
        for name, rows in (
            ("faulty", table.rows[table.faulty]),
            ("sound", table.rows[~table.faulty]),
        )
    )


def _train_stage(predicted: OutOfFold, settings: Settings) -> TrainedStage:
    table = predicted.table
    calibration, scored = calibrate(predicted)
    fitted = _fit(table, settings)
    names = {name: place for place, name in enumerate(table.names)}
    return TrainedStage(fitted, compile_stage(fitted, table.names, names), calibration, scored)


def calibrate(predicted: OutOfFold) -> tuple[Calibration, Scored]:
    """Return the calibration of out-of-fold predictions, and these calibrated."""
    places, known = predicted.places, predicted.known
    raw = predicted.raw[:, places]
    calibration = choose_calibration(raw, known.faulty, predicted.folds[:, places])
    mean = np.mean([calibration.apply(each) for each in raw], axis=0)
    return calibration, Scored(known.rows, mean, known.faulty)


def to_artifact(
    trained: Trained,
    examples: Sequence[Example],
    settings: Settings,
    *,
    name: str = "local",
    files: Sequence[tuple[str, str, int]] = (),
    cross_encoder: str = "",
    judge: JudgedBy | None = None,
    escalation: Escalation | None = None,
    with_training_files: bool = False,
) -> tuple[Artifact, dict[str, bytes]]:
    """Return a trained detector as an artifact, and the artifact's files by path.

    ``files`` are name, SHA-256 and number of runs of those that the examples came from. ``judge`` is
    whose answers are among the measurements, ``escalation`` when it is worth asking.
    """
    stages = {}
    training_files: dict[str, bytes] = {}
    for stage, each in trained.stages.items():
        stages[stage] = (_entry(stage, each, trained, examples), each.compiled)
        if with_training_files:
            training_files |= _training_files(stage, each.fitted)
    return make_artifact(
        name=name,
        features=trained.names,
        stages=stages,
        settings=_without_defaults(settings),
        trained_on=TrainedOn(
            files=tuple(files),
            runs=len(examples),
            groups=len({example.group for example in examples}),
            pipelines=tuple(sorted({example.pipeline for example in examples})),
            cross_encoder=cross_encoder,
            judge=judge,
        ),
        escalation=escalation,
        libraries={library: importlib.metadata.version(library) for library in _LIBRARIES},
        training_files=training_files,
    )


def _without_defaults(settings: Settings) -> dict[str, object]:
    """Return the settings, without what concerns an LLM's answers where there are none."""
    found = asdict(settings)
    if not settings.dropped_copies:
        del found["dropped_copies"]
    return found


def train_detector(
    examples: Sequence[Example],
    settings: Settings = DEFAULT,
    policy: Policy = Policy.PAPER,
    progress: Progress = quiet,
) -> Ensemble:
    """Return the detector trained on ``examples``, with the thresholds of ``policy``."""
    artifact, _ = to_artifact(train(examples, settings, progress), examples, settings)
    return Ensemble(artifact, policy)


def write_trained(
    folder: Path,
    trained: Trained,
    examples: Sequence[Example],
    settings: Settings,
    *,
    name: str,
    files: Sequence[tuple[str, str, int]] = (),
    cross_encoder: str = "",
    judge: JudgedBy | None = None,
    escalation: Escalation | None = None,
) -> Artifact:
    """Write a trained detector with its training files to ``folder``, and return it as read back."""
    _, content = to_artifact(
        trained,
        examples,
        settings,
        name=name,
        files=files,
        cross_encoder=cross_encoder,
        judge=judge,
        escalation=escalation,
        with_training_files=True,
    )
    write_files(folder, content)
    return load_artifact(folder)


def _entry(
    stage: Stage, each: TrainedStage, trained: Trained, examples: Sequence[Example]
) -> StageEntry:
    chosen = {policy: trained.thresholds[policy][stage] for policy in Policy}
    expected = {}
    for policy, threshold in chosen.items():
        found = expect(each.scored, threshold)
        expected[policy] = ExpectedFigures(
            precision=found.precision,
            recall=found.recall,
            f1=found.f1,
            false_positive_rate=found.false_positive_rate,
        )
    return StageEntry(
        runs=len(each.scored.faulty),
        faulty=int(each.scored.faulty.sum()),
        calibration=each.calibration.kind.value,
        default_type=_most_frequent(stage, examples),
        thresholds=chosen,
        expected=expected,
    )


def _most_frequent(stage: Stage, examples: Sequence[Example]) -> FaultType:
    known = [fault.value for fault in FAULT_TYPES[stage]]
    counts = Counter(
        fault
        for example in examples
        if example.faulty.get(stage)
        for fault in example.types.get(stage, ())
        if fault in known
    )
    return FaultType(max(known, key=lambda fault: counts[fault]))


def _training_files(stage: Stage, fitted: FittedStage) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if fitted.logistic is not None:
        found[f"{TRAINING}/{stage.value}.logistic.skops"] = skops_bytes(fitted.logistic)
    if fitted.forest is not None:
        found[f"{TRAINING}/{stage.value}.forest.skops"] = skops_bytes(fitted.forest)
    if fitted.boosted is not None:
        found[f"{TRAINING}/{stage.value}.boosted.cbm"] = catboost_bytes(fitted.boosted)
    return found

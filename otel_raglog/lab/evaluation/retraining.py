"""Figures for which detectors are trained anew: out of fold, and with something left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from otel_raglog.detect.detector import Detector
from otel_raglog.detect.training.folds import FOLDS, PARTITIONS, partitions_of
from otel_raglog.detect.training.labels import Labels
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun, judge_all
from otel_raglog.model import Stage


class Trainer(Protocol):
    """Trains detectors. Deterministic: the same runs give the same detector.

    ``name`` says what is trained, for the head of the figures.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def fit(self, runs: Sequence[MeasuredRun]) -> Detector:
        """Return a detector trained on ``runs`` alone; it may choose thresholds on them too.

        Raises:
            BadInput: the runs do not suffice to train on.
        """
        ...


class LeaveOut(StrEnum):
    """What can be kept out of training, to see how well it is judged all the same."""

    PIPELINE = "pipeline"
    FAULT_TYPE = "fault_type"
    INJECTION = "injection"


@dataclass(frozen=True, slots=True)
class Split:
    """Runs to train on, and runs of other questions to be judged."""

    train: tuple[MeasuredRun, ...]
    test: tuple[MeasuredRun, ...]
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What is left out: a pipeline, a fault type of a stage, or a kind of injection into one."""

    kind: LeaveOut
    name: str
    stage: Stage | None = None

    def holds(self, labels: Labels) -> bool:
        """Tell whether a run is of this part."""
        if self.kind is LeaveOut.PIPELINE:
            return labels.pipeline == self.name
        if self.stage is None:
            return False
        if self.kind is LeaveOut.FAULT_TYPE:
            return self.name in labels.types.get(self.stage, ())
        return labels.injected == (self.stage, self.name)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The runs of a part, judged by detectors that were trained without any run of it.

    For a fault type or an injection ``faultless`` are the other runs, judged by the same
    detectors, whose label says that the stage has no fault: for its false-positive rate.
    """

    part: Part
    judged: tuple[JudgedRun, ...]
    faultless: tuple[JudgedRun, ...] = ()


Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def splits_of(
    runs: Sequence[MeasuredRun],
    others: Sequence[MeasuredRun] = (),
    *,
    seed: int = 0,
    folds: int = FOLDS,
    partitions: int = PARTITIONS,
) -> tuple[Split, ...]:
    """Return the splits of ``runs`` in which each run is judged ``partitions`` times.

    All runs of a question are in one fold. ``others`` are trained on in every split, but for runs
    of a question that is judged there.
    """
    faulty = [[stage for stage, bad in run.labels.faulty.items() if bad] for run in runs]
    places = partitions_of(
        [run.labels.group for run in runs], faulty, seed=seed, folds=folds, partitions=partitions
    )
    return tuple(
        _split(runs, np.flatnonzero(places[repeat] == fold).tolist(), others, repeat)
        for repeat in range(partitions)
        for fold in range(folds)
        if (places[repeat] == fold).any()
    )


def split_apart(runs: Sequence[MeasuredRun], others: Sequence[MeasuredRun]) -> tuple[Split, ...]:
    """Return the one split that judges ``runs`` and trains on ``others``, questions apart."""
    return (_split(runs, range(len(runs)), others, 0),)


def _split(
    runs: Sequence[MeasuredRun], test: Sequence[int], others: Sequence[MeasuredRun], repeat: int
) -> Split:
    tested = frozenset(test)
    questions = {runs[row].labels.group for row in test}
    return Split(
        train=(
            *(run for row, run in enumerate(runs) if row not in tested),
            *(run for run in others if run.labels.group not in questions),
        ),
        test=tuple(runs[row] for row in test),
        repeat=repeat,
    )


def judge_splits(
    splits: Sequence[Split], trainer: Trainer, progress: Progress, what: str = "Training"
) -> tuple[JudgedRun, ...]:
    """Return every split's test runs as a detector judges them that was trained on the others."""
    judged: list[JudgedRun] = []
    for number, split in enumerate(splits, 1):
        judged.extend(judge_all(split.test, trainer.fit(split.train), split.repeat))
        progress(what, number, len(splits))
    return tuple(judged)


def parts_of(runs: Sequence[MeasuredRun], kind: LeaveOut) -> tuple[Part, ...]:
    """Return what of ``kind`` occurs in ``runs``, in order of stage and name."""
    found: set[Part] = set()
    for run in runs:
        labels = run.labels
        if kind is LeaveOut.PIPELINE:
            found.add(Part(kind, labels.pipeline))
        elif kind is LeaveOut.FAULT_TYPE:
            found |= {
                Part(kind, name, stage) for stage, names in labels.types.items() for name in names
            }
        elif labels.injected is not None:
            found.add(Part(kind, labels.injected[1], labels.injected[0]))
    order = list(Stage)
    return tuple(
        sorted(found, key=lambda part: (order.index(part.stage) if part.stage else 0, part.name))
    )


def leave_out(
    splits: Sequence[Split], parts: Sequence[Part], trainer: Trainer, progress: Progress
) -> Iterator[LeftOut]:
    """Yield each part's runs as judged by detectors that saw no run of it, nor of its questions.

    A split without a run of the part to judge, or with none left to train on, trains nothing.
    """
    total = len(parts) * len(splits)
    done = 0
    for part in parts:
        judged: list[JudgedRun] = []
        faultless: list[JudgedRun] = []
        for split in splits:
            test = [run for run in split.test if part.holds(run.labels)]
            train = [run for run in split.train if not part.holds(run.labels)]
            if test and train:
                detector = trainer.fit(train)
                judged.extend(judge_all(test, detector, split.repeat))
                faultless.extend(judge_all(_without_fault(split, part), detector, split.repeat))
            done += 1
            progress(f"Leaving out each {part.kind.value.replace('_', ' ')}", done, total)
        yield LeftOut(part, tuple(judged), tuple(faultless))


def _without_fault(split: Split, part: Part) -> Iterator[MeasuredRun]:
    for run in split.test:
        labels = run.labels
        faultless = part.stage is not None and labels.faulty.get(part.stage) is False
        if faultless and not part.holds(labels):
            yield run

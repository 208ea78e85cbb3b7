"""Labelled run records to examples: what was measured, and which stages are faulty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.check import Check
from otel_raglog.checks.runner import FailureObserver, measure
from otel_raglog.detect.features import RunFeatures, features_of
from otel_raglog.detect.judgeable import verdict_without_judging
from otel_raglog.detect.judging import declines, unread_stages
from otel_raglog.errors import BadInput
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Measurement, Run, Stage

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled run. ``faulty`` has the stages that have a label and can be judged.

    ``group`` keeps all runs of one question together; ``types`` are the fault types of the labels.
    """

    run_id: str
    group: str
    pipeline: str
    features: RunFeatures
    faulty: Mapping[Stage, bool]
    types: Mapping[Stage, tuple[str, ...]]


def quiet(_what: str, _done: int, _all: int) -> None:
    """Tell nobody."""


def examples_of(
    records: Sequence[Mapping[str, object]],
    checks: Sequence[Check],
    *,
    failures: FailureObserver | None = None,
    progress: Progress = quiet,
) -> tuple[Example, ...]:
    """Return an example for each record with labels whose texts can be read and judged.

    The checks see runs, which hold no labels. Raises :class:`BadInput` when a label is malformed.
    """
    found: list[Example] = []
    for number, record in enumerate(records, 1):
        faulty, types = labels_of(record)
        run = run_from_record(record)
        measurements = measure(run, checks, failures) if faulty else ()
        example = example_of(run, measurements, faulty, types, group=str(record.get("group") or ""))
        if example is not None:
            found.append(example)
        progress("Measuring", number, len(records))
    return tuple(found)


def example_of(
    run: Run,
    measurements: Sequence[Measurement],
    faulty: Mapping[Stage, bool],
    types: Mapping[Stage, tuple[str, ...]],
    *,
    group: str = "",
) -> Example | None:
    """Return the example of a measured run, ``None`` when no labelled stage of it can be judged.

    A run without a group is a group of its own.
    """
    features = features_of(measurements)
    unread = unread_stages(run)
    judged = {
        stage: label
        for stage, label in faulty.items()
        if verdict_without_judging(run, stage) is None
        and not declines(stage, features.shared)
        and stage not in unread
    }
    if not judged:
        return None
    return Example(run.run_id, group or run.run_id, run.service, features, judged, types)


def labels_of(
    record: Mapping[str, object],
) -> tuple[dict[Stage, bool], dict[Stage, tuple[str, ...]]]:
    """Return which labelled stages of a record are faulty, and their fault types.

    Raises:
        BadInput: the labels are not of the form that the run record has.
    """
    labels = record.get("labels") or {}
    where = f"run record {record.get('id')!r}"
    if not isinstance(labels, Mapping):
        raise BadInput(f"{where}: labels must be an object of stages")
    faulty: dict[Stage, bool] = {}
    types: dict[Stage, tuple[str, ...]] = {}
    for name, label in labels.items():
        if name not in set(Stage):
            raise BadInput(f"{where}: labels name no stage {name!r}; known: {', '.join(Stage)}")
        if not isinstance(label, Mapping) or not isinstance(label.get("faulty"), bool):
            raise BadInput(f"{where}: the label of {name} needs faulty: true or false")
        faulty[Stage(name)] = label["faulty"]
        types[Stage(name)] = tuple(map(str, label.get("types") or ()))
    return faulty, types


def names_in(examples: Iterable[Example]) -> tuple[str, ...]:
    """Return the names of all features that any example has, in order of the alphabet."""
    return tuple(sorted({name for example in examples for name in example.features.shared}))


@dataclass(frozen=True, slots=True)
class StageTable:
    """The examples that have one stage, as arrays of equal length.

    ``rows`` are their places among all examples; ``values`` is (rows, features), NaN where
    missing.
    """

    stage: Stage
    names: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    values: npt.NDArray[np.float64]
    faulty: npt.NDArray[np.bool_]

    def among(self, places: npt.NDArray[np.bool_]) -> StageTable:
        """Return the part whose examples are marked in ``places`` (one mark per example)."""
        kept = places[self.rows]
        return StageTable(
            self.stage, self.names, self.rows[kept], self.values[kept], self.faulty[kept]
        )


def tables_of(examples: Sequence[Example], names: Sequence[str]) -> Iterator[StageTable]:
    """Yield the table of each stage that any example has a label of."""
    for stage in Stage:
        rows = [row for row, example in enumerate(examples) if stage in example.faulty]
        if rows:
            yield StageTable(
                stage,
                tuple(names),
                np.array(rows, dtype=np.intp),
                np.stack([examples[row].features.vector(names, stage) for row in rows]),
                np.array([examples[row].faulty[stage] for row in rows], dtype=np.bool_),
            )

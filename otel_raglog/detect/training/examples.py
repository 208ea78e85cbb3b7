"""Labelled runs to examples: what was measured, and which stages are faulty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from otel_raglog.detect.confidences import JUDGED
from otel_raglog.detect.features import RunFeatures, features_of, stage_of
from otel_raglog.detect.judgeable import verdict_without_judging
from otel_raglog.detect.judging import declines, unread_stages
from otel_raglog.detect.training.labels import Labels
from otel_raglog.model import Measurement, Run, Stage

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""

Measure = Callable[[Run], tuple[Run, Sequence[Measurement]]]
"""Measures a run as it is measured when it is judged (``Analyser.measure``)."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled run. ``faulty`` has the stages that have a label and can be judged.

    ``group`` keeps all runs of one question together; ``types`` are the fault types of the labels.
    ``faulty_elsewhere``: a labelled stage that cannot be judged is faulty.
    """

    run_id: str
    group: str
    pipeline: str
    features: RunFeatures
    faulty: Mapping[Stage, bool]
    types: Mapping[Stage, tuple[str, ...]]
    faulty_elsewhere: bool = False

    @property
    def sound(self) -> bool:
        """Whether no labelled stage is faulty, whether it can be judged or not."""
        return not self.faulty_elsewhere and not any(self.faulty.values())


def quiet(_what: str, _done: int, _all: int) -> None:
    """Tell nobody."""


def examples_of(
    runs: Sequence[tuple[Run, Labels | None]],
    measure: Measure,
    *,
    progress: Progress = quiet,
) -> tuple[Example, ...]:
    """Return an example for each labelled run whose texts can be read and judged.

    ``measure`` sees runs, which hold no labels.
    """
    found: list[Example] = []
    for number, (run, labels) in enumerate(runs, 1):
        if labels is not None:
            example = example_of(*measure(run), labels.faulty, labels.types, group=labels.group)
            if example is not None:
                found.append(example)
        progress("Measuring", number, len(runs))
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
    elsewhere = any(bad for stage, bad in faulty.items() if stage not in judged)
    return Example(run.run_id, group or run.run_id, run.service, features, judged, types, elsewhere)


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

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Mark the rows of which an LLM's answers say something about the stage."""
        own = [
            place
            for place, name in enumerate(self.names)
            if name in JUDGED and stage_of(name) is self.stage
        ]
        marks: npt.NDArray[np.bool_] = ~np.isnan(self.values[:, own]).all(axis=1)
        return marks if own else np.zeros(len(self.rows), dtype=np.bool_)

    def among(self, places: npt.NDArray[np.bool_]) -> StageTable:
        """Return the part whose examples are marked in ``places`` (one mark per example)."""
        return self.only(places[self.rows])

    def only(self, kept: npt.NDArray[np.bool_]) -> StageTable:
        """Return the rows that are marked in ``kept`` (one mark per row)."""
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

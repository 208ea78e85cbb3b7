"""The measurements of a run to the numbers that a trained detector reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from otel_raglog.detect.confidences import CONFIDENCES, JUDGED, confidences_of
from otel_raglog.detect.judging import BY_STEP, of_step, values_of
from otel_raglog.detect.rules1 import has_clues, noisy_or, type_probabilities
from otel_raglog.detect.rules1_weights import CLUES
from otel_raglog.model import Measurement, Stage

Vector = npt.NDArray[np.float64]

CLUE_PREFIX = "clues."
"""``clues.<stage>`` and ``clues.<stage>.<fault type>`` are the probabilities of rules-1.

``clues.<stage>.judged`` and ``clues.<stage>.judged.<fault type>`` are an LLM's confidences, of all its
checks that answered: the greatest, and each.
"""
_JUDGED = ".judged"


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """The features of a run by name; what was not measured is not in it.

    ``shared`` is what the classifier of any stage sees: a feature is a measurement of the same
    name, or a probability of rules-1. Of stages that are judged by step it holds the worst step:
    the one that rules-1 finds most probably faulty, the first of equal ones. ``steps`` has the
    features of each step of these stages that was measured.
    """

    shared: Mapping[str, float]
    steps: Mapping[Stage, Mapping[int, Mapping[str, float]]]

    def vector(self, names: Sequence[str], stage: Stage, step: int | None = None) -> Vector:
        """Return the values of ``names``, NaN where missing, with ``stage`` at that ``step``."""
        own = self.steps.get(stage, {}).get(step) if step is not None else None
        if own is None:
            return np.array([self.shared.get(name, np.nan) for name in names], dtype=np.float64)
        prefixes = (f"{stage.value}.", f"{CLUE_PREFIX}{stage.value}")
        return np.array(
            [
                (own if name.startswith(prefixes) else self.shared).get(name, np.nan)
                for name in names
            ],
            dtype=np.float64,
        )


def features_of(measurements: Sequence[Measurement]) -> RunFeatures:
    """Return the features of the run that was measured."""
    shared: dict[str, float] = {}
    steps: dict[Stage, Mapping[int, Mapping[str, float]]] = {}
    for stage in Stage:
        own = [measurement for measurement in measurements if measurement.stage is stage]
        if stage not in BY_STEP:
            shared.update(_with_clues(stage, values_of(own)))
            continue
        indices = sorted({m.step for m in own if m.step is not None})
        each = {index: _with_clues(stage, values_of(of_step(own, index))) for index in indices}
        steps[stage] = each
        if each:
            worst = max(each, key=lambda index: each[index].get(f"{CLUE_PREFIX}{stage.value}", 0.0))
            shared.update(each[worst])
    return RunFeatures(shared, steps)


def judged_clues(stage: Stage, values: Mapping[str, float]) -> dict[str, float]:
    """Return the features that sum up what an LLM judged of ``stage``."""
    confidences = confidences_of(stage, values)
    if not confidences:
        return {}
    prefix = f"{CLUE_PREFIX}{stage.value}{_JUDGED}"
    return {
        prefix: max(confidences.values()),
        **{f"{prefix}.{fault.value}": confidence for fault, confidence in confidences.items()},
    }


def is_judged(name: str) -> bool:
    """Tell whether a feature comes from an LLM's answers."""
    return name in JUDGED or (name.startswith(CLUE_PREFIX) and _JUDGED in name)


def _with_clues(stage: Stage, values: dict[str, float]) -> dict[str, float]:
    values |= judged_clues(stage, values)
    if not has_clues(stage, values):
        return values
    types = type_probabilities(stage, values)
    values[f"{CLUE_PREFIX}{stage.value}"] = noisy_or(tuple(types.values()))
    for fault in {clue.fault for clue in CLUES[stage]}:
        values[f"{CLUE_PREFIX}{stage.value}.{fault.value}"] = types.get(fault, 0.0)
    return values


def stage_of(name: str) -> Stage:
    """Return the stage that a feature is about."""
    return Stage(name.removeprefix(CLUE_PREFIX).partition(".")[0])


def clues_hash(*, judged: bool = False) -> str:
    """Return the SHA-256 of the table of clues, on which the probabilities of rules-1 depend.

    With ``judged``, also of the table of an LLM's confidences.
    """
    tables = repr(sorted(CLUES.items()))
    if judged:
        tables += repr(sorted((stage, sorted(each.items())) for stage, each in CONFIDENCES.items()))
    return hashlib.sha256(tables.encode()).hexdigest()

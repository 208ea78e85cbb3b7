"""Probabilities and labels of runs to thresholds, and to what to expect of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from otel_raglog.model import Stage

NEVER = 1.0
_MOST_CANDIDATES = 200
_MOST_SWEEPS = 10
_STAGE_RATE = 0.10
_RUN_RATE = 0.05


class Policy(StrEnum):
    """What thresholds are chosen for."""

    PAPER = "paper"
    """Per stage the best F1 with a false-positive rate of at most 10 %; for evaluation."""
    MONITORING = "monitoring"
    """The best pooled F1 with at most 5 % of the sound runs, and of each stage's, flagged."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What a detector said of one stage of labelled runs; the arrays have equal length.

    ``rows`` are the runs' places among all runs.
    """

    rows: npt.NDArray[np.intp]
    probability: npt.NDArray[np.float64]
    faulty: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a threshold does on labelled runs. Precision is 1 when nothing is flagged."""

    runs: int
    faulty: int
    precision: float
    recall: float
    f1: float
    false_positive_rate: float


def expect(scored: Scored, threshold: float) -> Expected:
    """Return precision, recall, F1 and false-positive rate of flagging from ``threshold`` on."""
    flagged = scored.probability >= threshold
    hits = int((flagged & scored.faulty).sum())
    faults, sound = int(scored.faulty.sum()), int((~scored.faulty).sum())
    alarms = int(flagged.sum()) - hits
    return Expected(
        len(scored.faulty),
        faults,
        hits / (hits + alarms) if hits + alarms else 1.0,
        hits / faults if faults else 0.0,
        2 * hits / (hits + alarms + faults) if faults else 0.0,
        alarms / sound if sound else 0.0,
    )


def best_f1(scored: Scored, most_false: float = _STAGE_RATE) -> float:
    """Return the threshold with the best F1 among those with a rate of at most ``most_false``."""
    return _best(scored, most_false, lambda found: found.f1)


def most_recall(scored: Scored, most_false: float) -> float:
    """Return the threshold with the most recall at a false-positive rate of ``most_false``."""
    return _best(scored, most_false, lambda found: found.recall)


def _best(scored: Scored, most_false: float, merit: Callable[[Expected], float]) -> float:
    best, threshold = 0.0, NEVER
    for candidate in reversed(candidates(scored.probability)):
        found = expect(scored, candidate)
        if found.false_positive_rate <= most_false and merit(found) > best:
            best, threshold = merit(found), candidate
    return threshold


def thresholds(
    policy: Policy, scored: Mapping[Stage, Scored], sound: Collection[int]
) -> dict[Stage, float]:
    """Return the threshold of each stage by ``policy``; ``sound`` is that of :func:`run_level`."""
    if policy is Policy.PAPER:
        return {stage: best_f1(each) for stage, each in scored.items()}
    return run_level(scored, _RUN_RATE, sound)


def run_level(
    scored: Mapping[Stage, Scored], most_false: float, sound: Collection[int]
) -> dict[Stage, float]:
    """Return thresholds of the best pooled F1 that flag at most that share of the sound runs.

    ``sound`` are the rows of runs that are labelled and faulty in no labelled stage, be it one
    that is not scored. Those of which nothing is scored do not count: no threshold flags them. Of each stage's sound runs no larger share may be
    flagged either: where one stage's faults come with another's, a lax threshold would cost no
    sound run, and yet raise the fault rate that an alert watches. One stage's threshold after the other is moved
    to the best place until none moves, from two starts; the better end is taken.
    """
    count = 1 + max((int(np.max(each.rows)) for each in scored.values()), default=0)
    marks = np.zeros(count, dtype=np.bool_)
    for each in scored.values():
        marks[each.rows[np.isin(each.rows, list(sound))]] = True
    share = most_false / max(1, len(scored))
    starts: Sequence[dict[Stage, float]] = (
        dict.fromkeys(scored, NEVER),
        {stage: most_recall(each, share) for stage, each in scored.items()},
    )
    ends = [_climb(scored, start, marks, most_false) for start in starts]
    return max(ends, key=lambda end: _pooled(scored, end, marks, most_false))


def _climb(
    scored: Mapping[Stage, Scored],
    start: dict[Stage, float],
    sound: npt.NDArray[np.bool_],
    most_false: float,
) -> dict[Stage, float]:
    current = dict(start)
    merit = _pooled(scored, current, sound, most_false)
    for _ in range(_MOST_SWEEPS):
        moved = False
        for stage, each in scored.items():
            for candidate in reversed(candidates(each.probability)):
                trial = current | {stage: candidate}
                reached = _pooled(scored, trial, sound, most_false)
                if reached > merit:
                    current, merit, moved = trial, reached, True
        if not moved:
            break
    return current


def _pooled(
    scored: Mapping[Stage, Scored],
    chosen: Mapping[Stage, float],
    sound: npt.NDArray[np.bool_],
    most_false: float,
) -> float:
    """Return the pooled F1, below 0 when too many sound runs are flagged, of all or of a stage."""
    flagged_runs = np.zeros(len(sound), dtype=np.bool_)
    hits = alarms = faults = 0
    rate = 0.0
    for stage, each in scored.items():
        flagged = each.probability >= chosen[stage]
        flagged_runs[each.rows[flagged]] = True
        hits += int((flagged & each.faulty).sum())
        false = int((flagged & ~each.faulty).sum())
        alarms += false
        faults += int(each.faulty.sum())
        rate = max(rate, false / max(1, int((~each.faulty).sum())))
    rate = max(rate, int((flagged_runs & sound).sum()) / max(1, int(sound.sum())))
    return 2 * hits / max(1, hits + alarms + faults) if rate <= most_false else -rate


def candidates(probability: npt.NDArray[np.float64]) -> list[float]:
    """Return thresholds between neighbouring probabilities, rising; the last flags nothing."""
    found = np.unique(probability)
    between = (found[1:] + found[:-1]) / 2
    if len(between) > _MOST_CANDIDATES:
        between = np.unique(np.quantile(between, np.linspace(0, 1, _MOST_CANDIDATES)))
    return [*map(float, between), NEVER]

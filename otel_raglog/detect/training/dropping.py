"""Rows with an LLM's answers to more rows: as if some checks had not been answered, others otherwise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.check import Unit
from otel_raglog.checks.judge.evidence_flow import EvidenceFlowCheck
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.detect.confidences import CONFIDENCES
from otel_raglog.detect.features import CLUE_PREFIX, is_judged, judged_clues, stage_of
from otel_raglog.detect.training.examples import StageTable

KEPT = 0.5
"""The probability that the answer to a check is kept in a copy."""

SHIFT = 0.4
"""By how much at most a confidence is shifted in a copy: models use the scale differently."""

_GRADED = frozenset(
    item.name
    for check in JUDGE_CHECKS
    if check.key != EvidenceFlowCheck.key
    for item in check.declarations
    if item.unit is Unit.SHARE
)


def with_dropped(table: StageTable, copies: int, seed: int) -> StageTable:
    """Return ``table`` with so many copies of each row that has answers, each without some of them.

    Which checks are dropped is drawn per row and copy, whole checks at a time, and at least one is
    left: so that models take a missing answer for no sign of anything. The confidences that are left are
    shifted at random, each by itself, so that models do not rest on small differences, which another
    LLM, or the next version of the same one, would not make. What sums up the answers is made anew, for
    the table's own stage.
    """
    columns = [
        np.flatnonzero([name in check.measures for name in table.names]) for check in JUDGE_CHECKS
    ]
    answered = np.stack([~np.isnan(table.values[:, own]).all(axis=1) for own in columns], axis=1)
    rows = np.repeat(np.flatnonzero(answered.any(axis=1)), copies)
    if not len(rows):
        return table
    random = np.random.default_rng(seed)
    drawn = random.random((len(rows), len(columns)))
    # Of the checks that the row has, the one drawn lowest stays in any case.
    drawn[~answered[rows]] = np.inf
    kept = (drawn < KEPT) | (drawn == drawn.min(axis=1, keepdims=True))
    values = table.values[rows]
    for check, own in enumerate(columns):
        values[np.ix_(~kept[:, check], own)] = np.nan
    graded = np.flatnonzero([name in _GRADED for name in table.names])
    shifted = values[:, graded] + random.uniform(-SHIFT, SHIFT, (len(rows), len(graded)))
    values[:, graded] = np.clip(shifted, 0.0, 1.0)
    _sum_up_anew(table, values)
    return StageTable(
        table.stage,
        table.names,
        np.concatenate([table.rows, table.rows[rows]]),
        np.concatenate([table.values, values]),
        np.concatenate([table.faulty, table.faulty[rows]]),
    )


def _sum_up_anew(table: StageTable, values: npt.NDArray[np.float64]) -> None:
    places = {name: place for place, name in enumerate(table.names)}
    sums = [
        place
        for name, place in places.items()
        if name.startswith(CLUE_PREFIX) and is_judged(name) and stage_of(name) is table.stage
    ]
    read = {name for names in CONFIDENCES.get(table.stage, {}).values() for name in names}
    known = [(name, places[name]) for name in read if name in places]
    values[:, sums] = np.nan
    for row in values:
        left = {name: float(row[place]) for name, place in known if not np.isnan(row[place])}
        for name, value in judged_clues(table.stage, left).items():
            if name in places:
                row[places[name]] = value

"""Turns measurements into verdicts by a table of clues and noisy-or: detector rules-1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from otel_raglog.detect.judging import (
    NEED_NO_READING,
    judge_stages,
    not_measured,
    values_of,
    warnings_of,
)
from otel_raglog.detect.rules1_weights import CLUES, LEAK, OPERATING_POINTS, THRESHOLD, WARNINGS
from otel_raglog.model import FaultType, Measurement, Run, Stage, StageVerdict, Verdict

READ_BY_CLUES = frozenset(
    (
        *(clue.measurement for clues in CLUES.values() for clue in clues),
        *(rule.measurement for rules in WARNINGS.values() for rule in rules),
    )
)
"""The measurements that a clue or a warning reads."""


class Rules1:
    """The first, transparent detector; every constant stands in ``rules1_weights``.

    Each clue gives the probability of one fault type; clues join by noisy-or: the probability
    that at least one of them is right, taken as independent. Rewriter, embedder and reranker are
    judged step by step, and the stage takes its worst step.
    """

    version = "rules-1"
    reads = READ_BY_CLUES

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`."""
        return judge_stages(run, measurements, step_verdict, self.version)


def step_verdict(
    stage: Stage,
    step: int | None,
    measurements: Sequence[Measurement],
    ignored: frozenset[FaultType],
) -> Verdict:
    """Return the verdict of rules-1 on one step, or on a stage that has no verdict by step."""
    values = values_of(measurements)
    if not has_clues(stage, values):
        return not_measured(stage, measurements, step)
    types = type_probabilities(stage, values, ignored)
    probability = noisy_or((LEAK, *types.values()))
    faulty = probability >= THRESHOLD
    if not faulty and _is_unread(stage, values):
        return not_measured(stage, measurements, step)
    return Verdict(
        stage,
        StageVerdict.FAULTY if faulty else StageVerdict.OK,
        probability=probability,
        threshold=THRESHOLD,
        fault_types=named_types(types) if faulty else (),
        warnings=warnings_of(stage, values),
        step=step,
    )


def _is_unread(stage: Stage, values: Mapping[str, float]) -> bool:
    """Tell whether all that is known of a search is that it found something: chunks without text."""
    read = (clue for clue in CLUES[stage] if clue.fault not in NEED_NO_READING)
    return stage is Stage.RETRIEVER and not any(clue.measurement in values for clue in read)


def has_clues(stage: Stage, values: Mapping[str, float]) -> bool:
    """Tell whether anything was measured that a clue of ``stage`` reads."""
    return any(clue.measurement in values for clue in CLUES[stage])


def type_probabilities(
    stage: Stage, values: Mapping[str, float], ignored: frozenset[FaultType] = frozenset()
) -> Mapping[FaultType, float]:
    """Return the probability of each fault type of ``stage`` that a clue speaks for."""
    by_type: dict[FaultType, list[float]] = {}
    for clue in CLUES[stage]:
        contribution = clue.contribution(values)
        if contribution > 0 and clue.fault not in ignored:
            by_type.setdefault(clue.fault, []).append(contribution)
    return {fault: noisy_or(contributions) for fault, contributions in by_type.items()}


def noisy_or(probabilities: Sequence[float]) -> float:
    """Return the probability that at least one of independent events happens."""
    return 1.0 - math.prod(1.0 - p for p in probabilities)


def named_types(types: Mapping[FaultType, float]) -> tuple[FaultType, ...]:
    """Return the types above their operating points, strongest first, at least one."""
    ordered = sorted(types, key=lambda fault: (-types[fault], fault))
    return tuple(
        fault
        for rank, fault in enumerate(ordered)
        if rank == 0 or types[fault] >= OPERATING_POINTS[fault]
    )

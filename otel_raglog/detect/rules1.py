"""Turns measurements into verdicts by a table of clues and noisy-or: detector rules-1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.detect.judgeable import (
    asks_nothing,
    finds_rows,
    step_unknown,
    verdict_without_judging,
)
from otel_raglog.detect.language import stages_in_english
from otel_raglog.detect.rules1_weights import (
    CLUES,
    LEAK,
    OPERATING_POINTS,
    THRESHOLD,
    WARNINGS,
)
from otel_raglog.model import (
    FaultType,
    Measurement,
    MeasurementStatus,
    Run,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
    WarningType,
)

_NEED_NO_READING = frozenset(
    {FaultType.EMPTY_RESULT, FaultType.OUTPUT_TRUNCATED, FaultType.BLANK_CONTEXT}
)
_LANGUAGE = "the texts do not read as English, the only language that rules-1 knows"
_COURTESY = "nothing was asked: thanks or a greeting"
_ROWS = "values that a statement of a query language found cannot be compared with words"
_READING = (Stage.RETRIEVER, Stage.RERANKER, Stage.GENERATOR)
"""Stages that are judged by what the words of chunks have in common with others."""

_JUDGED = frozenset({StageVerdict.FAULTY, StageVerdict.OK})
_BY_STEP = frozenset({Stage.REWRITER, Stage.EMBEDDER, Stage.RERANKER})


class Rules1:
    """The first, transparent detector; every constant stands in ``rules1_weights``.

    Each clue gives the probability of one fault type; clues join by noisy-or: the probability
    that at least one of them is right, taken as independent. Rewriter, embedder and reranker are
    judged step by step, and the stage takes its worst step.
    """

    version = "rules-1"

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`."""
        verdicts = {stage: self._judge_stage(run, stage, measurements) for stage in Stage}
        if finds_rows(run):
            read = {stage: _unread(verdicts[stage], _ROWS) for stage in _READING}
            verdicts = {**verdicts, **read}
        judged = any(verdict.verdict in _JUDGED for verdict in verdicts.values())
        if not judged:
            return verdicts
        if asks_nothing(run):
            kept = frozenset({FaultType.OUTPUT_TRUNCATED})
            return {stage: _unread(found, _COURTESY, kept) for stage, found in verdicts.items()}
        english = stages_in_english(run)
        return {
            stage: verdict if stage in english else _unread(verdict, _LANGUAGE)
            for stage, verdict in verdicts.items()
        }

    def _judge_stage(self, run: Run, stage: Stage, measurements: Sequence[Measurement]) -> Verdict:
        unjudged = verdict_without_judging(run, stage)
        if unjudged is not None:
            return unjudged
        own = [m for m in measurements if m.stage is stage]
        ignored = _ignored(run, stage)
        if stage not in _BY_STEP:
            return _verdict(stage, own, None, ignored)
        steps = tuple(
            _step_verdict(run, stage, index, own, ignored) for index in range(len(run.steps(stage)))
        )
        return _worst(stage, steps)


def _unread(verdict: Verdict, why: str, kept: frozenset[FaultType] = _NEED_NO_READING) -> Verdict:
    """Keep what needs no reading; of the rest nothing is known, and ``why``."""
    if verdict.verdict not in _JUDGED:
        return verdict
    plain = tuple(fault for fault in verdict.fault_types if fault in kept)
    if plain:
        return replace(verdict, fault_types=plain, warnings=())
    return Verdict(
        verdict.stage,
        StageVerdict.UNKNOWN,
        reason=UnknownReason.ABSTAINED,
        explanation=why,
    )


def _ignored(run: Run, stage: Stage) -> frozenset[FaultType]:
    """Return the fault types that this run's record cannot tell from something else."""
    if stage is not Stage.EMBEDDER:
        return frozenset()
    rewriter = run.stages.get(Stage.REWRITER)
    unseen = rewriter is not None and not rewriter.absent and not run.rewriters
    # Another wording may be the work of a rewriter that left no span.
    return frozenset({FaultType.ALTERED_INPUT}) if unseen else frozenset()


def _step_verdict(
    run: Run, stage: Stage, index: int, own: Sequence[Measurement], ignored: frozenset[FaultType]
) -> Verdict:
    reason = step_unknown(run.steps(stage)[index])
    if reason is not None:
        return Verdict(stage, StageVerdict.UNKNOWN, reason=reason, step=index)
    return _verdict(stage, [m for m in own if m.step == index], index, ignored)


def _worst(stage: Stage, steps: tuple[Verdict, ...]) -> Verdict:
    judged = [verdict for verdict in steps if verdict.probability is not None]
    if not judged:
        return Verdict(stage, StageVerdict.UNKNOWN, reason=steps[0].reason, steps=steps)
    worst = max(judged, key=lambda verdict: verdict.probability or 0.0)
    warnings = tuple(dict.fromkeys(w for verdict in judged for w in verdict.warnings))
    return Verdict(
        stage,
        worst.verdict,
        probability=worst.probability,
        threshold=worst.threshold,
        fault_types=worst.fault_types,
        warnings=warnings,
        step=worst.step,
        steps=steps,
    )


def _verdict(
    stage: Stage,
    measurements: Sequence[Measurement],
    step: int | None,
    ignored: frozenset[FaultType],
) -> Verdict:
    values = _values(measurements)
    if not values or not any(clue.measurement in values for clue in CLUES[stage]):
        failed = any(m.status is MeasurementStatus.FAILED for m in measurements)
        reason = UnknownReason.ERROR if failed else UnknownReason.ABSTAINED
        return Verdict(stage, StageVerdict.UNKNOWN, reason=reason, step=step)
    types = type_probabilities(stage, values, ignored)
    probability = noisy_or((LEAK, *types.values()))
    faulty = probability >= THRESHOLD
    return Verdict(
        stage,
        StageVerdict.FAULTY if faulty else StageVerdict.OK,
        probability=probability,
        threshold=THRESHOLD,
        fault_types=_named(types) if faulty else (),
        warnings=_warnings(stage, values),
        step=step,
    )


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


def _named(types: Mapping[FaultType, float]) -> tuple[FaultType, ...]:
    """Return the types above their operating points, strongest first, at least one."""
    ordered = sorted(types, key=lambda fault: (-types[fault], fault))
    return tuple(
        fault
        for rank, fault in enumerate(ordered)
        if rank == 0 or types[fault] >= OPERATING_POINTS[fault]
    )


def _values(measurements: Sequence[Measurement]) -> Mapping[str, float]:
    return {m.name: m.value for m in measurements if m.value is not None and math.isfinite(m.value)}


def _warnings(stage: Stage, values: Mapping[str, float]) -> tuple[WarningType, ...]:
    found = (
        rule.warning
        for rule in WARNINGS.get(stage, ())
        if rule.measurement in values and rule.at_least <= values[rule.measurement] <= rule.at_most
    )
    return tuple(dict.fromkeys(found))

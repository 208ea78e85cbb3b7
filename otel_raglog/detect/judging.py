"""What every detector does alike: which stages are judged, step by step, and in which language."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from otel_raglog.checks.reading import answers_in_code
from otel_raglog.detect.confidences import JUDGED_WARNINGS
from otel_raglog.detect.judgeable import (
    asks_nothing,
    finds_rows,
    step_unknown,
    verdict_without_judging,
)
from otel_raglog.detect.language import stages_in_english
from otel_raglog.detect.rules1_weights import WARNINGS
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

BY_STEP = frozenset({Stage.REWRITER, Stage.EMBEDDER, Stage.RERANKER})
"""The stages whose steps are judged one by one; the stage takes its worst step."""

NEED_NO_READING = frozenset(
    {FaultType.EMPTY_RESULT, FaultType.OUTPUT_TRUNCATED, FaultType.BLANK_CONTEXT}
)
"""Fault types that are faults by definition, in any language."""

_COURTESY = "nothing was asked: thanks or a greeting"
_ROWS = "values that a statement of a query language found cannot be compared with words"
_CODE = "the answer is code, which cannot be compared with words"
_READING = (Stage.RETRIEVER, Stage.RERANKER, Stage.GENERATOR)
"""Stages that are judged by what the words of chunks have in common with others."""

_JUDGED = frozenset({StageVerdict.FAULTY, StageVerdict.OK})


StepJudge: TypeAlias = Callable[
    [Stage, int | None, Sequence[Measurement], frozenset[FaultType]], Verdict
]
"""Judges one step of a stage, or (the step is ``None``) a stage that has no verdict by step.

The measurements are those of that step; the fault types are those that this run's record cannot
tell from something else.
"""


def judge_stages(
    run: Run, measurements: Sequence[Measurement], judge: StepJudge, detector: str
) -> Mapping[Stage, Verdict]:
    """Return a verdict for every :class:`Stage`: by ``judge`` for those that can be judged.

    ``detector`` is the name that stands in the explanation of an abstention.
    """
    verdicts = {stage: _judge_stage(run, stage, measurements, judge) for stage in Stage}
    if not any(verdict.verdict in _JUDGED for verdict in verdicts.values()):
        return verdicts
    kept = frozenset({FaultType.OUTPUT_TRUNCATED}) if asks_nothing(run) else NEED_NO_READING
    for stage, why in unread_stages(run, detector).items():
        verdicts[stage] = _unread(verdicts[stage], why, kept)
    return verdicts


def unread_stages(run: Run, detector: str = "the detector") -> Mapping[Stage, str]:
    """Return the stages that no words can be compared of, each with the reason.

    Of them only what needs no reading is a fault. ``detector`` is the name that stands in the
    reasons.
    """
    language = f"the texts do not read as English, the only language that {detector} knows"
    found = dict.fromkeys(set(Stage) - stages_in_english(run), language)
    if asks_nothing(run):
        found = dict.fromkeys(Stage, _COURTESY)
    if answers_in_code(run):
        found[Stage.GENERATOR] = _CODE
    if finds_rows(run):
        found |= dict.fromkeys(_READING, _ROWS)
    return found


def not_measured(stage: Stage, measurements: Sequence[Measurement], step: int | None) -> Verdict:
    """Return ``unknown`` for a stage of which nothing was measured: an error, or an abstention."""
    failed = any(m.status is MeasurementStatus.FAILED for m in measurements)
    reason = UnknownReason.ERROR if failed else UnknownReason.ABSTAINED
    return Verdict(stage, StageVerdict.UNKNOWN, reason=reason, step=step)


def values_of(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return the measured values by name."""
    return {m.name: m.value for m in measurements if m.value is not None and math.isfinite(m.value)}


def declines(stage: Stage, values: Mapping[str, float]) -> bool:
    """Tell whether the generator is to be judged on an answer that claims nothing."""
    return stage is Stage.GENERATOR and values.get("generator.refuses", 0.0) > 0


def warnings_of(stage: Stage, values: Mapping[str, float]) -> tuple[WarningType, ...]:
    """Return the warnings of ``stage``, by plain thresholds."""
    found = (
        rule.warning
        for rule in (*WARNINGS.get(stage, ()), *JUDGED_WARNINGS.get(stage, ()))
        if rule.measurement in values and rule.at_least <= values[rule.measurement] <= rule.at_most
    )
    return tuple(dict.fromkeys(found))


def of_step(measurements: Sequence[Measurement], step: int) -> list[Measurement]:
    """Return the measurements of one step."""
    return [measurement for measurement in measurements if measurement.step == step]


def ignored_types(run: Run, stage: Stage) -> frozenset[FaultType]:
    """Return the fault types that this run's record cannot tell from something else."""
    if stage is not Stage.EMBEDDER:
        return frozenset()
    rewriter = run.stages.get(Stage.REWRITER)
    unseen = rewriter is not None and not rewriter.absent and not run.rewriters
    # Another wording may be the work of a rewriter that left no span.
    return frozenset({FaultType.ALTERED_INPUT}) if unseen else frozenset()


def _judge_stage(
    run: Run, stage: Stage, measurements: Sequence[Measurement], judge: StepJudge
) -> Verdict:
    unjudged = verdict_without_judging(run, stage)
    if unjudged is not None:
        return unjudged
    own = [m for m in measurements if m.stage is stage]
    ignored = ignored_types(run, stage)
    if stage not in BY_STEP:
        return judge(stage, None, own, ignored)
    steps = []
    for index, step in enumerate(run.steps(stage)):
        reason = step_unknown(step)
        if reason is not None:
            steps.append(Verdict(stage, StageVerdict.UNKNOWN, reason=reason, step=index))
        else:
            steps.append(judge(stage, index, of_step(own, index), ignored))
    return worst_of(stage, tuple(steps))


def worst_of(stage: Stage, steps: tuple[Verdict, ...]) -> Verdict:
    """Return the verdict of a stage that is judged by step: its worst one, with all of them."""
    judged = [verdict for verdict in steps if verdict.probability is not None]
    if not judged:
        return Verdict(stage, StageVerdict.UNKNOWN, reason=steps[0].reason, steps=steps)
    # Steps may have different thresholds: one of rules-1, one of a model.
    worst = max(judged, key=lambda v: (v.verdict is StageVerdict.FAULTY, v.probability or 0.0))
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


def _unread(verdict: Verdict, why: str, kept: frozenset[FaultType]) -> Verdict:
    """Keep what needs no reading; of the rest nothing is known, and ``why``."""
    if verdict.verdict not in _JUDGED:
        return verdict
    plain = tuple(fault for fault in verdict.fault_types if fault in kept)
    if plain:
        return replace(verdict, fault_types=plain, warnings=())
    return Verdict(
        verdict.stage, StageVerdict.UNKNOWN, reason=UnknownReason.ABSTAINED, explanation=why
    )

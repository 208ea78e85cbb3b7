"""Turns a run, its measurements and its verdicts into a report with explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from otel_raglog.model import (
    JudgeUse,
    Measurement,
    Report,
    Run,
    RunVerdict,
    Stage,
    StageVerdict,
    Tier,
    UnknownReason,
    Verdict,
)
from otel_raglog.report.explanations import MAX_CHARACTERS, explain
from otel_raglog.report.wording import Wording, wording_of

_JUDGED = frozenset({StageVerdict.FAULTY, StageVerdict.OK})
_NEEDED = (Stage.RETRIEVER, Stage.GENERATOR)


def run_verdict(verdicts: Mapping[Stage, Verdict]) -> RunVerdict:
    """Return faulty when a stage is; ok when none is and retriever and generator were judged.

    Unknown otherwise. A stage without a verdict counts as not judged.
    """
    if any(verdict.verdict is StageVerdict.FAULTY for verdict in verdicts.values()):
        return RunVerdict.FAULTY
    judged = all(stage in verdicts and verdicts[stage].verdict in _JUDGED for stage in _NEEDED)
    return RunVerdict.OK if judged else RunVerdict.UNKNOWN


def build_report(  # noqa: PLR0917  the interface that all parts agreed on
    run: Run,
    measurements: Sequence[Measurement],
    verdicts: Mapping[Stage, Verdict],
    detector_version: str,
    tier: Tier,
    analysis_seconds: float,
    quote_text: bool,  # noqa: FBT001  the same
    judge: JudgeUse | None = None,
) -> Report:
    """Return the report: every stage's verdict, and each of its steps', with an explanation.

    ``analysis_seconds`` is the time that measuring and judging took, ``judge`` what came of asking
    an LLM. Where something of the run is redacted, no word of that is in an explanation. A stage
    that the detector left out is unknown. The skip reason is the run's own, or ``nothing_judged`` when no
    stage could be judged.
    """
    wording = wording_of(run)
    if wording is not None:
        measurements = tuple(map(wording.measured, measurements))
    explained = {
        stage: _explained(
            verdicts.get(stage)
            or Verdict(stage, StageVerdict.UNKNOWN, reason=UnknownReason.ABSTAINED),
            measurements,
            quote_text=quote_text,
        )
        for stage in Stage
    }
    if wording is not None:
        explained = {stage: _silenced(verdict, wording) for stage, verdict in explained.items()}
    nothing = all(verdict.verdict not in _JUDGED for verdict in explained.values())
    return Report(
        run=run,
        verdict=run_verdict(explained),
        verdicts=explained,
        measurements=tuple(measurements),
        detector_version=detector_version,
        tier=tier,
        analysis_seconds=analysis_seconds,
        skip_reason=run.skip_reason or ("nothing_judged" if nothing else None),
        judge=judge,
    )


def _silenced(verdict: Verdict, wording: Wording) -> Verdict:
    """Return a verdict whose explanation holds nothing of what is redacted."""
    steps = tuple(_silenced(step, wording) for step in verdict.steps)
    if wording.may_show(verdict.explanation):
        return replace(verdict, steps=steps)
    bare = explain(replace(verdict, explanation=""), (), quote_text=False)
    return replace(verdict, explanation=bare, steps=steps)


def _explained(
    verdict: Verdict, measurements: Sequence[Measurement], *, quote_text: bool
) -> Verdict:
    short = len(verdict.explanation) <= MAX_CHARACTERS
    if verdict.verdict not in _JUDGED and not verdict.steps and short:
        return _explained_without_judging(verdict)
    steps = tuple(
        replace(step, explanation=explain(step, measurements, quote_text=quote_text))
        for step in verdict.steps
    )
    text = explain(verdict, measurements, quote_text=quote_text)
    return replace(verdict, explanation=text, steps=steps)


# Of an unjudged stage the verdict itself says why: the same in most runs of an application.
@lru_cache(maxsize=256)
def _explained_without_judging(verdict: Verdict) -> Verdict:
    return replace(verdict, explanation=explain(verdict, (), quote_text=False))

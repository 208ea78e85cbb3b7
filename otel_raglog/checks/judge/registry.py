"""Lists every check by an LLM: the place where a new one is registered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.checks.judge.evidence_flow import EvidenceFlowCheck
from otel_raglog.checks.judge.graded_generator import GradedGeneratorCheck
from otel_raglog.checks.judge.graded_stage import GradedStageCheck
from otel_raglog.checks.judge.judge_check import Claim, JudgeCheck, measurements_of
from otel_raglog.checks.judge.material import Material, ungraded
from otel_raglog.checks.judge.statements import StatementsCheck
from otel_raglog.checks.judge.verification import VerificationCheck
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.model import Measurement, Run, Stage

JUDGE_CHECKS: tuple[JudgeCheck[Any], ...] = (
    GradedStageCheck(),
    GradedGeneratorCheck(),
    VerificationCheck(),
    EvidenceFlowCheck(),
    StatementsCheck(),
)

ECONOMY_LEAVES_OUT = StatementsCheck.key
"""The check that economy mode does without: it reads the answer a third time."""

_CLAIMS: tuple[Claim, ...] = tuple(claim for check in JUDGE_CHECKS for claim in check.claims)


def judge_measurement_names() -> tuple[str, ...]:
    """Return the names of all measurements that an LLM's answers make, in order."""
    return tuple(claim.declaration.name for claim in _CLAIMS)


def checks_for(view: JudgeView) -> tuple[JudgeCheck[Any], ...]:
    """Return the checks that can be asked about a run of which ``view`` is shown, in order."""
    return tuple(
        check
        for check in JUDGE_CHECKS
        if (
            Stage.GENERATOR in view.stages
            if check.needs_answer
            else any(item.stage in view.stages for item in check.declarations)
        )
    )


def measurements_from(
    answers: JudgeAnswers, run: Run, stages: Collection[Stage] | None = None
) -> tuple[Measurement, ...]:
    """Return the measurements of ``run`` by those checks that ``answers`` has an answer to.

    What is said of a stage that cannot be graded is a guess, and measures nothing. ``stages`` are
    those that can, as a view of the run has them; ``None`` finds them out.
    """
    if stages is None:
        stages = frozenset(Stage) - ungraded(run, Material.of(run)).keys()
    return tuple(item for item in _from_each(answers, run) if item.stage in stages)


def measurements_from_shares(shares: Mapping[str, float], run: Run) -> tuple[Measurement, ...]:
    """Return the measurements of ``run`` by the probability of yes to each question asked.

    ``shares`` are in [0, 1], by the questions' measurements.
    """
    return tuple(measurements_of(shares, run, _CLAIMS))


def _from_each(answers: JudgeAnswers, run: Run) -> Iterator[Measurement]:
    for check in JUDGE_CHECKS:
        answer = getattr(answers, check.key)
        if answer is not None:
            values, quotes = check.values(answer), check.quotes(answer)
            yield from measurements_of(values, run, check.claims, quotes)

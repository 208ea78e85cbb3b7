"""What every check by an LLM is, and how its numbers become measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from otel_raglog.checks.check import Declaration, Suspect, Unit, measured
from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.phrases import counted
from otel_raglog.model import Measurement, Run, Stage

A = TypeVar("A", bound=Answer)

PER_STEP = frozenset({Stage.REWRITER, Stage.EMBEDDER, Stage.RERANKER})
"""Stages that are judged step by step: what an LLM says of the stage is said of each step."""

PERCENT = 100.0
"""Confidences are asked for from 0 to 100; measurements are shares."""

_LIKELY = 0.5


@dataclass(frozen=True, slots=True)
class YesNoQuestion:
    """A question to be answered with yes or no, and the measurement that the answer makes.

    ``stage`` is the one that the run must have for the question to be asked.
    """

    measurement: str
    text: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class Claim:
    """One number that an LLM gives: what it is, how a person is told, how to ask it as yes or no.

    ``phrase`` has ``{share}`` or ``{count}`` in the place of the number. It is evidence from
    ``least`` on (above it, where that is 0), if the high end of the measurement is suspect.
    ``question`` is empty where the number cannot be asked for with yes or no.
    """

    declaration: Declaration
    phrase: str = ""
    question: str = ""
    least: float = _LIKELY

    def evidence(self, value: float) -> str:
        """Return the phrase for ``value``; empty when the value is not suspicious."""
        if self.declaration.suspect is not Suspect.HIGH or value < self.least or not value:
            return ""
        return self.phrase.format(share=f"{value:.0%}", count=counted(round(value), "statement"))


def confidence(name: str, clause: str, question: str) -> Claim:
    """Return the claim of a confidence that ``clause`` is so, a fault or a warning."""
    return Claim(
        Declaration(name, Unit.SHARE, Suspect.HIGH, f"how surely a model holds that {clause}"),
        f"a model judged it {{share}} likely that {clause}",
        question,
    )


def declarations_of(claims: Iterable[Claim]) -> tuple[Declaration, ...]:
    """Return what the claims' measurements are, in order."""
    return tuple(claim.declaration for claim in claims)


def questions_of(claims: Iterable[Claim]) -> tuple[YesNoQuestion, ...]:
    """Return the questions of those claims that can be asked with yes or no, in order."""
    return tuple(
        YesNoQuestion(claim.declaration.name, claim.question, claim.declaration.stage)
        for claim in claims
        if claim.question
    )


class JudgeCheck(Protocol, Generic[A]):
    """Asks an LLM one thing about a whole run, and measures by its answer.

    ``name`` is ``judge.<key>``, ``key`` the field of :class:`JudgeAnswers`. ``instructions`` is what
    the LLM is told, the same for every run. ``claims`` say of each measurement what it is; the
    ``declarations``, ``measures`` and ``questions`` are theirs. ``needs_answer`` tells that it is
    about the run's answer, and cannot be asked of a run without one. Stateless.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def key(self) -> str: ...  # noqa: D102

    @property
    def answer(self) -> type[A]: ...  # noqa: D102

    @property
    def instructions(self) -> str: ...  # noqa: D102

    @property
    def needs_answer(self) -> bool: ...  # noqa: D102

    @property
    def claims(self) -> tuple[Claim, ...]: ...  # noqa: D102

    @property
    def questions(self) -> tuple[YesNoQuestion, ...]: ...  # noqa: D102

    @property
    def declarations(self) -> tuple[Declaration, ...]: ...  # noqa: D102

    @property
    def measures(self) -> tuple[str, ...]: ...  # noqa: D102

    def values(self, answer: A) -> Mapping[str, float]:
        """Return the numbers that ``answer`` holds, by measurement; none for absent stages."""
        ...

    def quotes(self, answer: A) -> Mapping[str, tuple[str, ...]]:
        """Return texts of ``answer`` that bear a measurement out, by measurement."""
        ...


_NO_QUOTES: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def measurements_of(
    values: Mapping[str, float],
    run: Run,
    claims: Sequence[Claim] = (),
    quotes: Mapping[str, tuple[str, ...]] = _NO_QUOTES,
) -> Iterator[Measurement]:
    """Yield a measurement for each value whose stage the run has, for each step where judged so.

    Evidence is worded by the measurement's claim; without one there is none. Quotes go with evidence.
    """
    by_name = {claim.declaration.name: claim for claim in claims}
    for name, value in values.items():
        stage = Stage(name.partition(".")[0])
        steps = range(len(run.steps(stage))) if stage in PER_STEP else (None,)
        evidence = by_name[name].evidence(value) if name in by_name else ""
        shown = quotes.get(name, ()) if evidence else ()
        if run.steps(stage):
            for step in steps:
                yield measured(name, value, evidence, step=step, quotes=shown)

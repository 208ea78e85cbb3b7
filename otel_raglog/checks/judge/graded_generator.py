"""Asks an LLM to grade the answer."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.check import names_of
from otel_raglog.checks.judge.answers import GradedGenerator
from otel_raglog.checks.judge.instructions import instructions_of
from otel_raglog.checks.judge.judge_check import (
    PERCENT,
    confidence,
    declarations_of,
    questions_of,
)


class GradedGeneratorCheck:
    """Six confidences: how surely the answer has each kind of fault."""

    name = "judge.graded_generator"
    key = "graded_generator"
    answer = GradedGenerator
    instructions = instructions_of(key)
    needs_answer = True
    claims = (
        confidence(
            "generator.graded_unsupported",
            "the answer states something that the passed chunks do not support",
            "Does the answer state something of importance that the passed chunks contradict or do not say?",
        ),
        confidence(
            "generator.graded_off_question",
            "the answer answers another question",
            "Does the answer answer another question than the one that was asked?",
        ),
        confidence(
            "generator.graded_incomplete",
            "the answer leaves out what was asked",
            "Does the answer leave out something that the question explicitly asks for?",
        ),
        confidence(
            "generator.graded_should_abstain",
            "the answer should have said that it does not know",
            "Does the answer answer although the passed chunks do not hold what the question asks for?",
        ),
        confidence(
            "generator.graded_wrong_refusal",
            "the answer declines although the passed chunks hold what was asked",
            "Does the answer decline to answer, or say that it does not know, although the passed chunks hold what the question asks for?",
        ),
        confidence(
            "generator.graded_misstated_number",
            "the answer gives a number or a date otherwise than the passed chunks do",
            "Does the answer give a number, date, amount or unit otherwise than the passed chunks do?",
        ),
    )
    declarations = declarations_of(claims)
    measures = names_of(declarations)
    questions = questions_of(claims)

    def values(self, answer: GradedGenerator) -> Mapping[str, float]:
        """Return the six confidences."""
        return {
            f"generator.graded_{fault}": value / PERCENT
            for fault, value in answer.model_dump().items()
        }

    def quotes(self, answer: GradedGenerator) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return nothing: the answer is numbers."""
        return {}

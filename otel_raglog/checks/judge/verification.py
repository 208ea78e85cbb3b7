"""Asks an LLM to verify the answer by explicit criteria."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.check import names_of
from otel_raglog.checks.judge.answers import Verification
from otel_raglog.checks.judge.instructions import instructions_of
from otel_raglog.checks.judge.judge_check import (
    PERCENT,
    confidence,
    declarations_of,
    questions_of,
)


class VerificationCheck:
    """Seven confidences: of the six kinds of fault, each by its criteria, and of any fault."""

    name = "judge.verification"
    key = "verification"
    answer = Verification
    instructions = instructions_of(key)
    needs_answer = True
    claims = (
        confidence(
            "generator.verified_unsupported",
            "a claim of the answer is not borne out by any passed chunk about the same thing",
            "Is there a claim in the answer that no passed chunk about the same entity, case and period bears out?",
        ),
        confidence(
            "generator.verified_off_question",
            "the answer is to another question",
            "Is the answer, as it stands, an answer to another question than the one asked?",
        ),
        confidence(
            "generator.verified_incomplete",
            "an item that the question asks for is missing in the answer",
            "Is an item that the question explicitly asks for missing in the answer, optional detail aside?",
        ),
        confidence(
            "generator.verified_should_abstain",
            "the answer answers what the passed chunks do not hold",
            "Does the answer give what was asked for although no passed chunk about the same entity, case and period holds it?",
        ),
        confidence(
            "generator.verified_wrong_refusal",
            "the answer refuses what the passed chunks would answer",
            "Does the answer refuse, wholly or in part, what the passed chunks would have answered?",
        ),
        confidence(
            "generator.verified_misstated_number",
            "a number or date of the answer is not the one in the passed chunks",
            "Is a number, date, amount or unit in the answer not the one that the passed chunks give for it?",
        ),
        confidence(
            "generator.verified_any_fault",
            "the answer has a fault of any kind",
            "Has the answer any fault: an unsupported claim, a missing item, a wrong number, a wrong refusal, an answer without grounds or to another question?",
        ),
    )
    declarations = declarations_of(claims)
    measures = names_of(declarations)
    questions = questions_of(claims)

    def values(self, answer: Verification) -> Mapping[str, float]:
        """Return the seven confidences."""
        return {
            f"generator.verified_{fault}": value / PERCENT
            for fault, value in answer.model_dump().items()
        }

    def quotes(self, answer: Verification) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return nothing: the answer is numbers."""
        return {}

"""Asks an LLM to grade what every stage before the generator did."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.check import names_of
from otel_raglog.checks.judge.answers import GradedStage
from otel_raglog.checks.judge.instructions import instructions_of
from otel_raglog.checks.judge.judge_check import (
    PERCENT,
    confidence,
    declarations_of,
    questions_of,
)


class GradedStageCheck:
    """Nine confidences: of the rewrites, the embedded text, what was retrieved, what was passed on."""

    name = "judge.graded_stage"
    key = "graded_stage"
    answer = GradedStage
    instructions = instructions_of(key)
    needs_answer = False
    claims = (
        confidence(
            "rewriter.graded_drops_constraint",
            "a rewrite drops a condition of the question",
            "Does a rewrite leave out a condition that the question sets (a name, date, place, number "
            "or limit), so that it asks for more than the question does?",
        ),
        confidence(
            "rewriter.graded_adds_constraint",
            "a rewrite adds a condition that the question does not set",
            "Does a rewrite add a condition that the question does not set and does not imply, so that "
            "it asks for less than the question does?",
        ),
        confidence(
            "rewriter.graded_changes_entity",
            "a rewrite asks about something else than the question",
            "Does a rewrite ask about another person, thing, place or time than the question, or want "
            "to know something else about it?",
        ),
        confidence(
            "embedder.graded_unfaithful",
            "the embedded text is not what was to be searched for",
            "Does the embedded text differ in meaning from what was to be searched for: names or "
            "conditions missing, misspelled or cut, or unrelated text added?",
        ),
        confidence(
            "retriever.graded_no_chunk_answers",
            "no retrieved chunk holds information that the question needs",
            "Is there no chunk at all, passed or excluded, that holds information needed to answer the "
            "question?",
        ),
        confidence(
            "retriever.graded_partial_coverage",
            "the retrieved chunks hold only a part of what the question needs",
            "Do all chunks together, passed and excluded, hold only a part of the information that the "
            "question needs?",
        ),
        confidence(
            "retriever.graded_mostly_irrelevant",
            "most of the retrieved chunks have nothing to do with the question",
            "Are more than half of all chunks, passed and excluded, of no use for answering the "
            "question?",
        ),
        confidence(
            "reranker.graded_good_chunk_excluded",
            "an excluded chunk holds needed information that no passed chunk holds",
            "Does an excluded chunk hold information needed to answer the question that no passed "
            "chunk holds?",
        ),
        confidence(
            "reranker.graded_weak_chunks_passed",
            "the reranker passed on chunks that are of no use for the question",
            "Did the reranker pass on chunks that are of no use for answering the question?",
        ),
    )
    declarations = declarations_of(claims)
    measures = names_of(declarations)
    questions = questions_of(claims)

    def values(self, answer: GradedStage) -> Mapping[str, float]:
        """Return the grades of each stage that has some."""
        return {
            f"{stage}.graded_{grade}": value / PERCENT
            for stage, grades in answer.model_dump(exclude_none=True).items()
            for grade, value in grades.items()
        }

    def quotes(self, answer: GradedStage) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return nothing: the answer is numbers."""
        return {}

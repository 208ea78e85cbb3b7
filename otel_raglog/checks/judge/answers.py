"""The answers of the five checks: their fields, and the JSON schema that an LLM must keep to."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Confidence = Annotated[
    float, Field(ge=0, le=100, description="Confidence from 0 (surely not) to 100 (surely).")
]
Count = Annotated[int, Field(ge=0, le=10_000)]


class Answer(BaseModel):
    """What every answer is: exactly the fields that are asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RewriterGrades(Answer):
    """Of the rewrites against the question."""

    drops_constraint: Confidence
    adds_constraint: Confidence
    changes_entity: Confidence


class EmbedderGrades(Answer):
    """Of the embedded text against what was to be searched for."""

    unfaithful: Confidence


class RetrieverGrades(Answer):
    """Of all that was retrieved against the question."""

    no_chunk_answers: Confidence
    partial_coverage: Confidence
    mostly_irrelevant: Confidence


class RerankerGrades(Answer):
    """Of what was passed on against what was not."""

    good_chunk_excluded: Confidence
    weak_chunks_passed: Confidence


class GradedStage(Answer):
    """The graded stage check; ``None`` where the run lacks the stage."""

    rewriter: RewriterGrades | None
    embedder: EmbedderGrades | None
    retriever: RetrieverGrades | None
    reranker: RerankerGrades | None


class GradedGenerator(Answer):
    """The graded generator check."""

    unsupported: Confidence
    off_question: Confidence
    incomplete: Confidence
    should_abstain: Confidence
    wrong_refusal: Confidence
    misstated_number: Confidence


class Verification(GradedGenerator):
    """The generator verification: the same six by explicit criteria, and any fault."""

    any_fault: Confidence


class Held(StrEnum):
    """Whether chunks hold a piece of information."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class Treatment(StrEnum):
    """What the answer does with a piece of information."""

    STATED = "stated"
    OMITTED = "omitted"
    DIFFERENT = "different"
    SAID_UNKNOWN = "said_unknown"


class Piece(Answer):
    """A piece of information that the question needs, and where it is."""

    piece: str
    passed: Held
    excluded: Held
    answer: Treatment


class EvidenceFlow(Answer):
    """The evidence flow check."""

    pieces: tuple[Piece, ...]
    unsupported_statements: Count
    refusal: bool


class Statements(Answer):
    """The statement-level generator check: counts of statements by class, and four confidences."""

    contradiction: Count
    unsupported_answer: Count
    added_detail: Count
    harmless: Count
    hedged: Count
    unsupported_fact: Confidence
    omits_item: Confidence
    wrong_refusal: Confidence
    other_question: Confidence


class JudgeAnswers(BaseModel):
    """The answers to the checks of one run; ``None`` where a check was not asked or failed."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    id: str
    model: str | None = None
    graded_stage: GradedStage | None = None
    graded_generator: GradedGenerator | None = None
    verification: Verification | None = None
    evidence_flow: EvidenceFlow | None = None
    statements: Statements | None = None

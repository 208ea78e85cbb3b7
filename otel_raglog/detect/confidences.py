"""An LLM's confidences to the fault types and warnings that they speak for."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.judge.registry import judge_measurement_names
from otel_raglog.detect.compiled import log_odds, logistic
from otel_raglog.detect.rules1_weights import WarningRule
from otel_raglog.model import FaultType, Stage, WarningType

JUDGED = frozenset(judge_measurement_names())
"""The measurements that an LLM's answers make."""

ASKED_ABOUT = tuple(
    stage for stage in Stage if any(name.startswith(f"{stage.value}.") for name in JUDGED)
)
"""The stages that an LLM is asked about: all but the assembly."""

_MOST = 0.98

_F = FaultType

CONFIDENCES: Mapping[Stage, Mapping[FaultType, tuple[str, ...]]] = {
    Stage.REWRITER: {
        _F.DROPS_CONSTRAINT: ("rewriter.graded_drops_constraint",),
        _F.ADDS_CONSTRAINT: ("rewriter.graded_adds_constraint",),
        _F.CHANGES_ENTITY: ("rewriter.graded_changes_entity",),
    },
    Stage.EMBEDDER: {_F.ALTERED_INPUT: ("embedder.graded_unfaithful",)},
    Stage.RETRIEVER: {
        _F.NO_RELEVANT_CHUNK: ("retriever.graded_no_chunk_answers", "retriever.flow_nowhere"),
    },
    Stage.RERANKER: {
        _F.EVIDENCE_EXCLUDED: ("reranker.graded_good_chunk_excluded", "reranker.flow_lost"),
    },
    Stage.GENERATOR: {
        _F.UNSUPPORTED_CLAIM: (
            "generator.graded_unsupported",
            "generator.verified_unsupported",
            "generator.statements_unsupported_fact",
        ),
        _F.MISSTATED_NUMBER: (
            "generator.graded_misstated_number",
            "generator.verified_misstated_number",
        ),
        _F.INCOMPLETE: (
            "generator.graded_incomplete",
            "generator.verified_incomplete",
            "generator.statements_omits_item",
        ),
        _F.OFF_QUESTION: (
            "generator.graded_off_question",
            "generator.verified_off_question",
            "generator.statements_other_question",
        ),
        _F.SHOULD_ABSTAIN: (
            "generator.graded_should_abstain",
            "generator.verified_should_abstain",
        ),
        _F.WRONG_REFUSAL: (
            "generator.graded_wrong_refusal",
            "generator.verified_wrong_refusal",
            "generator.statements_wrong_refusal",
        ),
    },
}
"""Which of the LLM's numbers match which fault type."""

SPEAKS = 0.5
"""From this confidence on a fault type is named on a faulty stage."""

JUDGED_WARNINGS: Mapping[Stage, tuple[WarningRule, ...]] = {
    Stage.RETRIEVER: (
        WarningRule(
            "retriever.graded_partial_coverage", WarningType.PARTIAL_COVERAGE, at_least=SPEAKS
        ),
        WarningRule(
            "retriever.graded_mostly_irrelevant", WarningType.MOSTLY_IRRELEVANT, at_least=SPEAKS
        ),
    ),
    Stage.RERANKER: (
        WarningRule(
            "reranker.graded_weak_chunks_passed", WarningType.WEAK_CHUNKS_PASSED, at_least=SPEAKS
        ),
    ),
    Stage.GENERATOR: (
        WarningRule(
            "generator.statements_added_detail", WarningType.UNSUPPORTED_DETAIL, at_least=1
        ),
    ),
}
"""Warnings by an LLM's numbers, beside those by the local checks."""


def confidences_of(stage: Stage, values: Mapping[str, float]) -> dict[FaultType, float]:
    """Return the LLM's confidence in each fault type of ``stage`` that it was asked about.

    Where several numbers match a type it is that of their mean log-odds, each clipped.
    """
    found: dict[FaultType, float] = {}
    for fault, names in CONFIDENCES.get(stage, {}).items():
        odds = [clipped_odds(values[name]) for name in names if name in values]
        if odds:
            found[fault] = logistic(sum(odds) / len(odds))
    return found


def clipped_odds(probability: float) -> float:
    """Return log-odds of at most fifty to one, either way: nobody is surer than that."""
    return log_odds(min(_MOST, max(1.0 - _MOST, probability)))

"""The constants of detector rules-1: which measurement speaks for which fault, and how strongly.

The reason for every constant stands in docs/detector.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from otel_raglog.model import FaultType, Stage, WarningType


@dataclass(frozen=True, slots=True)
class Clue:
    """A measurement that speaks for a fault.

    It contributes ``strength`` times a ramp that is 0 at ``low`` and 1 at ``high`` (either may be
    the larger one). ``given`` names measurements that must reach a minimum for the clue to
    count. ``instead_of`` names a better measurement: the clue counts only without it.
    """

    measurement: str
    low: float
    high: float
    strength: float
    fault: FaultType
    given: tuple[tuple[str, float], ...] = ()
    instead_of: str = ""

    def contribution(self, values: Mapping[str, float]) -> float:
        """Return the clue's probability of the fault, 0.0 when it was not measured."""
        value = values.get(self.measurement)
        if value is None or (self.instead_of and self.instead_of in values):
            return 0.0
        if any(values.get(name, float("-inf")) < minimum for name, minimum in self.given):
            return 0.0
        ramp = (value - self.low) / (self.high - self.low)
        return self.strength * min(1.0, max(0.0, ramp))


@dataclass(frozen=True, slots=True)
class WarningRule:
    """A warning is given when a measurement lies in [at_least, at_most]."""

    measurement: str
    warning: WarningType
    at_least: float = float("-inf")
    at_most: float = float("inf")


THRESHOLD = 0.5
"""A stage is faulty from this probability on."""

LEAK = 0.03
"""The probability of a fault that no clue shows."""

OPERATING_POINTS: Mapping[FaultType, float] = dict.fromkeys(FaultType, 0.3) | {
    # Consequences of other faults: named only on evidence of their own.
    FaultType.CHANGES_INTENT: 0.4,
    FaultType.DROPS_CONSTRAINT: 0.4,
    FaultType.ALTERED_INPUT: 0.45,
    FaultType.SHOULD_ABSTAIN: 0.4,
    FaultType.OFF_QUESTION: 0.4,
}
"""From which probability of its own a type is named on a faulty stage (always the strongest)."""

_F = FaultType

CLUES: Mapping[Stage, tuple[Clue, ...]] = {
    Stage.REWRITER: (
        Clue("rewriter.empty", 0, 1, 0.9, _F.DROPS_CONSTRAINT),
        Clue("rewriter.numbers_added", 0, 1, 0.85, _F.ADDS_CONSTRAINT),
        Clue("rewriter.numbers_dropped", 0, 1, 0.7, _F.DROPS_CONSTRAINT),
        Clue("rewriter.numbers_swapped", 0, 1, 0.6, _F.CHANGES_ENTITY),
        Clue("rewriter.names_added", 0, 1, 0.5, _F.ADDS_CONSTRAINT),
        Clue("rewriter.names_dropped", 0, 1, 0.55, _F.DROPS_CONSTRAINT),
        Clue("rewriter.names_swapped", 0, 1, 0.85, _F.CHANGES_ENTITY),
        Clue("rewriter.qualifiers_added", 0, 2, 0.5, _F.ADDS_CONSTRAINT),
        Clue("rewriter.qualifiers_dropped", 0, 2, 0.6, _F.DROPS_CONSTRAINT),
        Clue("rewriter.negation_changed", 0, 1, 0.75, _F.CHANGES_INTENT),
        Clue("rewriter.answer_kind_changed", 0.25, 1, 0.75, _F.CHANGES_INTENT),
        Clue("rewriter.meaning_kept", 0.8, 0.4, 0.85, _F.CHANGES_INTENT),
        Clue("rewriter.words_dropped_share", 0.4, 0.8, 0.45, _F.DROPS_CONSTRAINT),
        Clue("rewriter.words_added_share", 0.5, 1.0, 0.3, _F.ADDS_CONSTRAINT),
    ),
    Stage.EMBEDDER: (
        Clue("embedder.empty", 0, 1, 0.95, _F.CORRUPTED_INPUT),
        Clue("embedder.cut_share", 0, 0.15, 0.9, _F.TRUNCATED_INPUT),
        Clue("embedder.misspelled_words", 0, 1, 0.8, _F.MISSPELLED_INPUT),
        Clue("embedder.corrupted_share", 0, 0.05, 0.9, _F.CORRUPTED_INPUT),
        Clue("embedder.numbers_changed", 0, 1, 0.75, _F.ALTERED_INPUT),
        Clue("embedder.words_dropped_share", 0, 0.4, 0.75, _F.ALTERED_INPUT),
        Clue("embedder.words_added_share", 0, 0.4, 0.75, _F.ALTERED_INPUT),
        Clue("embedder.similarity", 0.85, 0.4, 0.6, _F.ALTERED_INPUT),
    ),
    Stage.RETRIEVER: (
        Clue("retriever.empty", 0, 1, 0.97, _F.EMPTY_RESULT),
        Clue("retriever.best_relevance", 0.62, 0.34, 0.95, _F.NO_RELEVANT_CHUNK),
        Clue("retriever.names_missing_share", 0.4, 1, 0.4, _F.NO_RELEVANT_CHUNK),
        Clue(
            "retriever.best_coverage",
            0.6,
            0.1,
            0.85,
            _F.NO_RELEVANT_CHUNK,
            instead_of="retriever.best_relevance",
        ),
    ),
    Stage.RERANKER: (
        Clue("reranker.empty", 0, 1, 0.9, _F.EVIDENCE_EXCLUDED),
        Clue(
            "reranker.relevance_gap",
            0,
            0.2,
            0.8,
            _F.EVIDENCE_EXCLUDED,
            given=(("reranker.best_excluded", 0.5),),
        ),
        Clue(
            "reranker.words_only_in_excluded",
            0.3,
            0.7,
            0.4,
            _F.EVIDENCE_EXCLUDED,
            given=(("reranker.best_excluded", 0.45),),
        ),
        Clue(
            "reranker.coverage_gap",
            0.1,
            0.6,
            0.7,
            _F.EVIDENCE_EXCLUDED,
            instead_of="reranker.relevance_gap",
        ),
    ),
    Stage.ASSEMBLY: (
        Clue("assembly.blank_slots", 0, 1, 0.9, _F.BLANK_CONTEXT),
        Clue(
            "assembly.dropped_gap",
            -0.1,
            0.1,
            0.85,
            _F.EVIDENCE_DROPPED,
            given=(("assembly.dropped_relevance", 0.45),),
        ),
        Clue(
            "assembly.cut_gap",
            -0.1,
            0.1,
            0.8,
            _F.EVIDENCE_TRUNCATED,
            given=(("assembly.cut_relevance", 0.45),),
        ),
        Clue(
            "assembly.lost_words_share",
            0.1,
            0.5,
            0.6,
            _F.EVIDENCE_DROPPED,
            given=(("assembly.dropped", 1.0),),
        ),
        Clue(
            "assembly.lost_words_share",
            0.1,
            0.5,
            0.6,
            _F.EVIDENCE_TRUNCATED,
            given=(("assembly.truncated", 1.0),),
        ),
        Clue("assembly.kept_share", 0.3, 0.0, 0.7, _F.EVIDENCE_DROPPED),
    ),
    Stage.GENERATOR: (
        Clue("generator.cut_off", 0, 1, 0.9, _F.OUTPUT_TRUNCATED),
        Clue("generator.blocked", 0, 1, 0.7, _F.INCOMPLETE),
        Clue("generator.unfinished", 0, 1, 0.5, _F.OUTPUT_TRUNCATED),
        Clue("generator.answer_empty", 0, 1, 0.9, _F.INCOMPLETE),
        Clue("generator.numbers_unsupported", 0, 1, 0.65, _F.MISSTATED_NUMBER),
        Clue("generator.names_unsupported", 0, 1, 0.55, _F.UNSUPPORTED_CLAIM),
        Clue(
            "generator.words_unsupported_share",
            0.15,
            0.7,
            0.85,
            _F.UNSUPPORTED_CLAIM,
            given=(("generator.novel_words", 2.0),),
        ),
        Clue("generator.joint_support", 0.4, 0.05, 0.6, _F.UNSUPPORTED_CLAIM),
        Clue(
            "generator.answer_context_similarity",
            0.5,
            0.15,
            0.5,
            _F.UNSUPPORTED_CLAIM,
            given=(("generator.novel_words", 4.0),),
        ),
        Clue("generator.answer_without_evidence", 0.4, 0.68, 0.9, _F.SHOULD_ABSTAIN),
        Clue("generator.refusal_despite_evidence", 0.55, 0.75, 0.8, _F.WRONG_REFUSAL),
        Clue("generator.answer_kind_missing", 0, 1, 0.55, _F.OFF_QUESTION),
        Clue("generator.answer_drift", 0.7, 0.9, 0.6, _F.OFF_QUESTION),
    ),
}

WARNINGS: Mapping[Stage, tuple[WarningRule, ...]] = {
    Stage.RETRIEVER: (
        WarningRule("retriever.union_coverage", WarningType.PARTIAL_COVERAGE, at_most=0.6),
        WarningRule("retriever.irrelevant_share", WarningType.MOSTLY_IRRELEVANT, at_least=0.7),
        WarningRule("retriever.duplicate_share", WarningType.DUPLICATE_CHUNKS, at_least=0.01),
        WarningRule("retriever.garbled_share", WarningType.GARBLED_CHUNK, at_least=0.01),
        WarningRule("retriever.table_cut_share", WarningType.TABLE_CUT, at_least=0.01),
        WarningRule("retriever.sentence_cut_share", WarningType.SENTENCE_CUT, at_least=0.5),
    ),
    Stage.RERANKER: (
        WarningRule("reranker.weak_share", WarningType.WEAK_CHUNKS_PASSED, at_least=0.6),
    ),
    Stage.ASSEMBLY: (
        WarningRule("assembly.dropped", WarningType.CHUNK_DROPPED, at_least=1),
        WarningRule("assembly.truncated", WarningType.CHUNK_TRUNCATED, at_least=1),
        WarningRule("assembly.altered", WarningType.CHUNK_TRUNCATED, at_least=1),
        WarningRule("assembly.budget_ratio", WarningType.PROMPT_NEAR_BUDGET, at_least=0.9),
        WarningRule("assembly.evidence_in_middle", WarningType.EVIDENCE_IN_MIDDLE, at_least=1),
    ),
    Stage.GENERATOR: (
        WarningRule("generator.numbers_unsupported", WarningType.UNSUPPORTED_DETAIL, at_least=1),
        WarningRule("generator.names_unsupported", WarningType.UNSUPPORTED_DETAIL, at_least=1),
        WarningRule("generator.citations_unknown", WarningType.UNSUPPORTED_DETAIL, at_least=1),
        WarningRule(
            "generator.words_unsupported_share", WarningType.UNSUPPORTED_DETAIL, at_least=0.3
        ),
    ),
}

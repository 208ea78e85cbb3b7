"""Explanations in plain English."""

from dataclasses import replace

import pytest

from otel_raglog.checks.check import measured
from otel_raglog.model import (
    FAULT_TYPES,
    FaultType,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
    WarningType,
)
from otel_raglog.report.explanations import EVIDENCE, WARNING_EVIDENCE, explain

YEAR = measured(
    "rewriter.numbers_added",
    1,
    "the rewrite adds the year 2011, which the question does not have",
    step=0,
)
RELEVANCE = measured(
    "retriever.best_relevance",
    0.2,
    "the most relevant of 3 chunks, chunk 1 (a), has a relevance of 0.20 to the question",
    quotes=("The secret text of a document.",),
)


def faulty(stage: Stage, *types: FaultType, step: int | None = None) -> Verdict:
    return Verdict(
        stage, StageVerdict.FAULTY, probability=0.9, threshold=0.5, fault_types=types, step=step
    )


def test_a_fault_names_its_evidence() -> None:
    """In one sentence per fault type."""
    verdict = faulty(Stage.REWRITER, FaultType.ADDS_CONSTRAINT, step=0)
    assert explain(verdict, [YEAR], quote_text=False) == (
        "The rewrite adds a constraint: the rewrite adds the year 2011, which the question does "
        "not have."
    )


def test_evidence_of_another_step_is_not_mixed_in() -> None:
    """Each step speaks for itself."""
    verdict = faulty(Stage.REWRITER, FaultType.ADDS_CONSTRAINT, step=1)
    assert "2011" not in explain(verdict, [YEAR], quote_text=False)


def test_text_is_quoted_only_when_asked_for() -> None:
    """Verdicts may go where documents may not."""
    verdict = faulty(Stage.RETRIEVER, FaultType.NO_RELEVANT_CHUNK)
    assert "secret" not in explain(verdict, [RELEVANCE], quote_text=False)
    assert "secret" in explain(verdict, [RELEVANCE], quote_text=True)


def test_an_ok_verdict_says_what_speaks_for_it() -> None:
    """Not only that nothing was found."""
    intact = measured(
        "assembly.intact_share", 1, "all 4 selected chunks are in the prompt unchanged"
    )
    verdict = Verdict(Stage.ASSEMBLY, StageVerdict.OK, probability=0.03, threshold=0.5)
    assert explain(verdict, [intact], quote_text=False) == (
        "All 4 selected chunks are in the prompt unchanged."
    )


def test_an_ok_verdict_near_its_threshold_names_the_doubt() -> None:
    """It does not say that all is well beside a probability that says otherwise."""
    read = measured("retriever.answerable", -2.0, "no retrieved chunk seems to answer the question")

    def said(probability: float) -> str:
        verdict = Verdict(Stage.RETRIEVER, StageVerdict.OK, probability=probability, threshold=0.4)
        relevant = replace(RELEVANCE, value=0.7)
        return explain(verdict, [relevant, read], quote_text=False)

    assert said(0.3) == (
        "Something speaks for a fault, but not enough: no retrieved chunk seems to answer the "
        "question."
    )
    assert said(0.1).startswith("A retrieved chunk seems to hold what the question asks")


ALWAYS_TOLD = [
    measured(
        "generator.answer_without_evidence",
        0.02,
        "the question is answered although nothing in the prompt has a relevance above 0.98 to it",
    ),
    measured("retriever.best_coverage", 1.0, "no chunk has more than 100% of the question's words"),
    measured("retriever.token_fit", 0.9, "the best place fits the question's words by 0.90"),
    measured("assembly.dropped_gap", -0.4, "what is in the prompt is at least as relevant"),
]


@pytest.mark.parametrize("stage", [Stage.RETRIEVER, Stage.ASSEMBLY, Stage.GENERATOR])
def test_what_is_told_of_every_run_argues_for_no_fault(stage: Stage) -> None:
    """Unless rules-1 takes its value for a clue."""
    near = Verdict(stage, StageVerdict.OK, probability=0.3, threshold=0.4)
    assert "speaks for a fault" not in explain(near, ALWAYS_TOLD, quote_text=False)
    flagged = explain(faulty(stage, FAULT_TYPES[stage][0]), ALWAYS_TOLD, quote_text=False)
    assert not any(each.evidence in flagged for each in ALWAYS_TOLD if "fits" not in each.evidence)


def test_a_clue_of_rules_1_makes_the_same_words_evidence() -> None:
    """The relevance is low now."""
    low = measured("generator.answer_without_evidence", 0.6, "nothing in the prompt is relevant")
    said = explain(faulty(Stage.GENERATOR, FaultType.SHOULD_ABSTAIN), [low], quote_text=False)
    assert said.endswith("nothing in the prompt is relevant.")


def test_what_rules_1_would_flag_is_named_whatever_the_models_say() -> None:
    """A model that is sure of the contrary does not make it unsaid."""
    said = measured("rewriter.negation_changed", 1.0, "the rewrite drops the question's negation")
    verdict = Verdict(Stage.REWRITER, StageVerdict.OK, probability=0.1, threshold=0.7)
    assert "drops the question's negation" in explain(verdict, [said], quote_text=False)


def test_a_reason_of_the_detector_is_kept() -> None:
    """Such as why a flag was lifted."""
    verdict = Verdict(
        Stage.RETRIEVER, StageVerdict.OK, probability=0.3, threshold=0.4, explanation="it was found"
    )
    assert explain(verdict, [RELEVANCE], quote_text=False) == "It was found."


def test_a_correct_refusal_is_said_to_be_one() -> None:
    """It is ok, and not grounded."""
    declines = measured("generator.refuses", 1, "the answer says that it cannot be given")
    verdict = Verdict(Stage.GENERATOR, StageVerdict.OK, probability=0.1, threshold=0.5)
    assert "declines" in explain(verdict, [declines], quote_text=False)


def test_an_unknown_verdict_keeps_the_reason_given_or_has_one() -> None:
    """Never an empty explanation."""
    why = "no embedding span was recorded, though the retriever is a vector store"
    verdict = Verdict(
        Stage.EMBEDDER, StageVerdict.UNKNOWN, UnknownReason.NOT_CAPTURED, explanation=why
    )
    assert explain(verdict, [], quote_text=False) == f"{why[0].upper()}{why[1:]}."
    for reason in UnknownReason:
        bare = Verdict(Stage.EMBEDDER, StageVerdict.UNKNOWN, reason)
        assert len(explain(bare, [], quote_text=False)) > 20


def test_warnings_are_said_once() -> None:
    """With their evidence, unless it was said before."""
    missing = measured("retriever.union_coverage", 0.3, 'no chunk mentions "leave"')
    verdict = Verdict(
        Stage.RETRIEVER,
        StageVerdict.OK,
        probability=0.1,
        threshold=0.5,
        warnings=(WarningType.PARTIAL_COVERAGE,),
    )
    assert 'Warning: no chunk mentions "leave".' in explain(verdict, [missing], quote_text=False)


@pytest.mark.parametrize("letter", ["a", "ж", "漢", "🙂"])
def test_an_explanation_is_short_in_characters_and_bytes(letter: str) -> None:
    """Backends cut attribute values at 2 KB."""
    long = measured("rewriter.numbers_added", 1, letter * 5_000, step=0)
    text = explain(faulty(Stage.REWRITER, FaultType.ADDS_CONSTRAINT), [long], quote_text=True)
    assert len(text) < 1_500
    assert len(text.encode()) < 2_000


def test_every_fault_type_and_warning_has_words_and_evidence() -> None:
    """None would be explained by its name alone."""
    assert set(EVIDENCE) == set(FaultType)
    assert set(WARNING_EVIDENCE) == set(WarningType)
    for stage_fault in FaultType:
        text = explain(faulty(Stage.GENERATOR, stage_fault), [], quote_text=False)
        assert " " in text


def test_a_type_without_words_borrows_what_else_was_found_of_its_stage() -> None:
    """A trained detector may name a type that no measurement puts into words."""
    verdict = faulty(Stage.REWRITER, FaultType.CHANGES_INTENT, step=0)
    assert explain(verdict, [YEAR], quote_text=False) == (
        "The rewrite asks for something else: the rewrite adds the year 2011, which the question "
        "does not have."
    )


def test_a_word_that_nothing_comes_near_is_evidence() -> None:
    """Alignment speaks where names and numbers are silent."""
    lost = measured("rewriter.token_kept_least", 0.2, 'nothing comes near "weekly"', step=0)
    verdict = faulty(Stage.REWRITER, FaultType.DROPS_CONSTRAINT, step=0)
    assert 'nothing comes near "weekly"' in explain(verdict, [lost], quote_text=False)


def judged(name: str, value: float, evidence: str, quotes: tuple[str, ...] = ()):
    return measured(name, value, evidence, quotes=quotes)


CLAIMS = judged("generator.statements_faulty", 2, "a model found 2 statements without support")
UNSURE = judged("generator.graded_unsupported", 0.6, "a model judged it 60 % likely")
LOCAL = judged("generator.numbers_unsupported", 1, "the answer states 12, which no chunk has")


def test_what_an_llm_found_comes_first_and_once() -> None:
    """Its strongest word for the fault type, then what the local checks found."""
    verdict = faulty(Stage.GENERATOR, FaultType.UNSUPPORTED_CLAIM)
    text = explain(verdict, [LOCAL, UNSURE, CLAIMS], quote_text=False)
    assert text.endswith(f"support: {CLAIMS.evidence}; {LOCAL.evidence}.")


def test_a_warning_by_an_llm_is_told_in_its_words() -> None:
    """Where no local check saw it."""
    weak = measured("reranker.graded_weak_chunks_passed", 0.8, "a model saw weak chunks", step=0)
    verdict = Verdict(
        Stage.RERANKER,
        StageVerdict.OK,
        probability=0.1,
        threshold=0.5,
        warnings=(WarningType.WEAK_CHUNKS_PASSED,),
        step=0,
    )
    assert "Warning: a model saw weak chunks." in explain(verdict, [weak], quote_text=False)


def test_pieces_that_an_llm_names_are_quotes() -> None:
    """They are made of the run's texts, and so are shown only when asked for."""
    lost = judged(
        "generator.flow_omits_held", 0.5, "a model misses a piece", ("year of the bridge",)
    )
    verdict = faulty(Stage.GENERATOR, FaultType.INCOMPLETE)
    assert "bridge" not in explain(verdict, [lost], quote_text=False)
    assert "“year of the bridge”" in explain(verdict, [lost], quote_text=True)


def test_a_flag_says_by_whose_words_it_was_raised() -> None:
    """What the detector has to say of its verdict follows what speaks for the fault."""
    verdict = replace(
        faulty(Stage.GENERATOR, FaultType.UNSUPPORTED_CLAIM),
        explanation="judged by an LLM's answers alone",
    )
    text = explain(verdict, [CLAIMS], quote_text=False)
    assert text.endswith("Judged by an LLM's answers alone.")

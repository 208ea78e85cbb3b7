"""The graded stage check."""

from otel_raglog.checks.judge.answers import GradedStage
from otel_raglog.checks.judge.graded_stage import GradedStageCheck

CHECK = GradedStageCheck()
GRADES = {
    "rewriter": {"drops_constraint": 10, "adds_constraint": 20, "changes_entity": 30},
    "embedder": {"unfaithful": 40},
    "retriever": {"no_chunk_answers": 50, "partial_coverage": 60, "mostly_irrelevant": 70},
    "reranker": {"good_chunk_excluded": 80, "weak_chunks_passed": 100},
}


def test_each_confidence_is_a_share_of_its_stage() -> None:
    """From 0 to 100 becomes from 0 to 1."""
    values = CHECK.values(GradedStage.model_validate(GRADES))
    assert tuple(values) == CHECK.measures
    assert values["rewriter.graded_drops_constraint"] == 0.1
    assert values["reranker.graded_weak_chunks_passed"] == 1.0


def test_a_stage_without_grades_has_no_values() -> None:
    """Missing is not zero."""
    absent = GRADES | {"rewriter": None, "embedder": None, "reranker": None}
    assert {
        name.partition(".")[0] for name in CHECK.values(GradedStage.model_validate(absent))
    } == {"retriever"}


def test_every_confidence_can_be_asked_with_yes_or_no() -> None:
    """Nine questions, and no text to quote."""
    assert tuple(question.measurement for question in CHECK.questions) == CHECK.measures
    assert CHECK.quotes(GradedStage.model_validate(GRADES)) == {}


def test_it_can_be_asked_without_an_answer() -> None:
    """What comes before the generator is judged without it."""
    assert CHECK.needs_answer is False

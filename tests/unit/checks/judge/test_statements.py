"""The statement-level generator check."""

from otel_raglog.checks.judge.answers import Statements
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.judge.statements import StatementsCheck

CHECK = StatementsCheck()
ANSWER = Statements(
    contradiction=1,
    unsupported_answer=2,
    added_detail=3,
    harmless=4,
    hedged=5,
    unsupported_fact=60,
    omits_item=70,
    wrong_refusal=80,
    other_question=90,
)


def test_the_faulty_classes_are_counted_and_summed() -> None:
    """Harmless and hedged statements are no faults."""
    values = CHECK.values(ANSWER)
    assert values["generator.statements_added_detail"] == 3.0
    assert values["generator.statements_hedged"] == 5.0
    assert values["generator.statements_faulty"] == 6.0


def test_the_confidences_are_shares() -> None:
    """From 0 to 100 becomes from 0 to 1."""
    values = CHECK.values(ANSWER)
    assert values["generator.statements_unsupported_fact"] == 0.6
    assert values["generator.statements_other_question"] == 0.9
    assert set(values) == set(CHECK.measures)


def test_counts_are_told_in_words_of_one_and_of_several() -> None:
    """The phrase fits any number."""
    claims = {claim.declaration.name: claim for claim in CHECK.claims}
    claim = claims["generator.statements_contradiction"]
    assert (
        claim.evidence(1.0) == "a model counted 1 statement in contradiction to the passed chunks"
    )
    assert claim.evidence(2.0).startswith("a model counted 2 statements in")


def test_its_questions_are_not_those_of_the_other_checks() -> None:
    """A question that is asked twice measures once."""
    others = {q.text for check in JUDGE_CHECKS[:-1] for q in check.questions}
    assert len(CHECK.questions) == 4
    assert others.isdisjoint(q.text for q in CHECK.questions)
    assert CHECK.quotes(ANSWER) == {}

"""The five checks together."""

from itertools import chain

import pytest
from handbook_runs import make_run
from judge_views import view_with

from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.checks.judge.registry import (
    ECONOMY_LEAVES_OUT,
    JUDGE_CHECKS,
    checks_for,
    judge_measurement_names,
    measurements_from,
    measurements_from_shares,
)
from otel_raglog.model import Stage

BY_KEY = [pytest.param(check, id=check.key) for check in JUDGE_CHECKS]
VERIFIED = {
    "unsupported": 78,
    "off_question": 0,
    "incomplete": 0,
    "should_abstain": 0,
    "wrong_refusal": 0,
    "misstated_number": 0,
    "any_fault": 81,
}


@pytest.mark.parametrize("check", BY_KEY)
def test_every_check_is_a_field_of_the_answers(check: JudgeCheck) -> None:
    """Its key is where its answer is recorded, its name says the kind."""
    assert check.name == f"judge.{check.key}"
    assert check.key in JudgeAnswers.model_fields


@pytest.mark.parametrize("check", BY_KEY)
def test_every_measurement_and_question_is_declared_with_a_meaning(check: JudgeCheck) -> None:
    """With a stage and a unit that bounds it."""
    assert check.measures == tuple(item.name for item in check.declarations)
    for item in check.declarations:
        assert isinstance(item.stage, Stage)
        assert item.meaning
    for question in check.questions:
        assert question.measurement in check.measures
        assert question.stage.value == question.measurement.partition(".")[0]
        assert question.text.endswith("?")


def test_no_measurement_is_made_twice() -> None:
    """All fifty have one source."""
    names = judge_measurement_names()
    assert len(names) == len(set(names)) == 50


def test_economy_mode_leaves_one_check_out() -> None:
    """It is one of the five."""
    assert ECONOMY_LEAVES_OUT in {check.key for check in JUDGE_CHECKS}


def test_a_check_that_was_not_answered_measures_nothing() -> None:
    """Only what was asked is known."""
    answers = JudgeAnswers.model_validate({"id": "r1", "verification": VERIFIED})
    found = {m.name: m for m in measurements_from(answers, make_run())}
    assert len(found) == 7
    assert found["generator.verified_unsupported"].value == 0.78
    assert "78% likely" in found["generator.verified_unsupported"].evidence
    assert measurements_from(JudgeAnswers(id="r1"), make_run()) == ()


def test_the_probability_of_yes_is_the_measurement() -> None:
    """With the evidence of the claim that was asked about."""
    (found,) = measurements_from_shares({"generator.flow_unfounded": 0.5}, make_run())
    assert found.value == 0.5
    assert "50%" in found.evidence


def test_a_run_with_everything_is_asked_about_in_all_checks() -> None:
    """In the order of the registry."""
    assert checks_for(view_with()) == JUDGE_CHECKS


def test_a_run_without_an_answer_is_asked_about_its_stages_alone() -> None:
    """Nobody can judge an answer that was not recorded."""
    assert [check.key for check in checks_for(view_with(answer=None))] == ["graded_stage"]


def test_a_run_without_a_question_is_not_asked_about() -> None:
    """There is nothing to judge against."""
    assert checks_for(view_with(question=None)) == ()


def test_evidence_is_in_our_own_words() -> None:
    """Whatever an LLM wrote is in quotes only."""
    answers = JudgeAnswers.model_validate(
        {
            "id": "r1",
            "evidence_flow": {
                "pieces": [
                    {"piece": "SECRET", "passed": "no", "excluded": "no", "answer": "stated"}
                ],
                "unsupported_statements": 1,
                "refusal": False,
            },
        }
    )
    found = measurements_from(answers, make_run())
    assert not any("SECRET" in m.evidence for m in found)
    assert "SECRET" in chain.from_iterable(m.quotes for m in found)

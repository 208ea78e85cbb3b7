"""The answers of the five checks."""

import pytest
from pydantic import ValidationError

from otel_raglog.checks.judge.answers import EmbedderGrades, JudgeAnswers, Statements


@pytest.mark.parametrize("value", [-1, 101, "nan", float("inf")])
def test_a_confidence_is_from_0_to_100(value: object) -> None:
    """What is outside is no answer."""
    with pytest.raises(ValidationError):
        EmbedderGrades.model_validate({"unfaithful": value})


def test_a_field_that_was_not_asked_for_is_refused() -> None:
    """An answer has exactly its fields."""
    with pytest.raises(ValidationError):
        EmbedderGrades.model_validate({"unfaithful": 0, "verdict": "ok"})


def test_a_count_is_a_whole_number_from_zero_on() -> None:
    """Statements are counted."""
    counts = dict.fromkeys(Statements.model_fields, 0)
    assert Statements.model_validate(counts).contradiction == 0
    with pytest.raises(ValidationError):
        Statements.model_validate(counts | {"hedged": -1})


def test_a_check_that_was_not_asked_is_none() -> None:
    """Answers of a run may be of some checks only, and a line may say more than is read."""
    answers = JudgeAnswers.model_validate({"id": "r1", "note": "x", "statements": None})
    assert answers.statements is None
    assert answers.verification is None

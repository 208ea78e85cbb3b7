"""What an LLM's numbers speak for."""

import pytest

from otel_raglog.checks.judge.registry import judge_measurement_names
from otel_raglog.detect.confidences import (
    ASKED_ABOUT,
    CONFIDENCES,
    JUDGED_WARNINGS,
    confidences_of,
)
from otel_raglog.model import FAULT_TYPES, FaultType, Stage


def test_the_tables_name_what_is_measured_and_what_a_stage_can_have() -> None:
    """A misspelled name would say nothing, silently."""
    known = judge_measurement_names()
    for stage, types in CONFIDENCES.items():
        assert set(types) <= set(FAULT_TYPES[stage])
        assert {name for names in types.values() for name in names} <= set(known)
    rules = [rule for each in JUDGED_WARNINGS.values() for rule in each]
    assert {rule.measurement for rule in rules} <= set(known)


def test_an_llm_is_asked_nothing_about_the_assembly() -> None:
    """Of all other stages it says something."""
    assert set(Stage) - set(ASKED_ABOUT) == {Stage.ASSEMBLY}


def test_several_confidences_in_a_type_count_by_their_mean_log_odds() -> None:
    """Opposite ones cancel; one that was not asked for does not count; none is surer than 0.98."""
    opposite = {"generator.graded_incomplete": 0.9, "generator.verified_incomplete": 0.1}
    found = confidences_of(Stage.GENERATOR, opposite)
    assert found == {FaultType.INCOMPLETE: pytest.approx(0.5)}
    alone = confidences_of(Stage.GENERATOR, {"generator.graded_incomplete": 1.0})
    assert alone == {FaultType.INCOMPLETE: pytest.approx(0.98)}
    assert confidences_of(Stage.ASSEMBLY, opposite) == {}

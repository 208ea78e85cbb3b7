"""Fault types that the cross-encoder's readings speak for."""

import pytest

from otel_raglog.detect.naming import READING_CLUES, with_readings
from otel_raglog.model import FAULT_TYPES, FaultType, Stage


def test_every_clue_names_a_type_of_its_stage_by_a_measurement_of_it() -> None:
    """The table is sound."""
    for stage in Stage:
        for clue in READING_CLUES[stage]:
            assert clue.fault in FAULT_TYPES[stage]
            assert clue.measurement.startswith(f"{stage.value}.")


def test_an_unanswerable_context_speaks_for_an_abstention() -> None:
    """The surer the reader is, the more; from even odds on."""
    even, sure = (
        with_readings(Stage.GENERATOR, {}, {"generator.answerable": value}) for value in (0.0, -4.0)
    )
    assert even == {}
    assert sure == {FaultType.SHOULD_ABSTAIN: pytest.approx(0.8)}


def test_another_answer_in_the_context_counts_only_where_it_answers() -> None:
    """What a reader thinks likeliest in an unrelated text says nothing."""
    for answerable, expected in ((1.0, {FaultType.UNSUPPORTED_CLAIM}), (-0.5, set())):
        values = {"generator.likeliest_stated": 0.0, "generator.answerable": answerable}
        found = with_readings(Stage.GENERATOR, {}, values)
        assert set(found) - {FaultType.SHOULD_ABSTAIN} == expected


def test_readings_add_to_what_rules_1_found() -> None:
    """Both are clues of one type, joined by noisy-or."""
    before = {FaultType.NO_RELEVANT_CHUNK: 0.5}
    found = with_readings(Stage.RETRIEVER, before, {"retriever.answerable": -5.0})
    assert found[FaultType.NO_RELEVANT_CHUNK] == pytest.approx(0.9)
    assert with_readings(Stage.RETRIEVER, before, {}) == before


def test_an_llm_names_the_types_that_it_speaks_for() -> None:
    """From one half on, beside what rules-1 found."""
    values = {"generator.graded_incomplete": 0.7, "generator.graded_off_question": 0.4}
    found = with_readings(Stage.GENERATOR, {FaultType.UNSUPPORTED_CLAIM: 0.6}, values)
    assert found == {
        FaultType.UNSUPPORTED_CLAIM: 0.6,
        FaultType.INCOMPLETE: pytest.approx(0.7),
    }

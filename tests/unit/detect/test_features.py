"""Measurements to the vector that trained models read."""

import numpy as np
import pytest

from otel_raglog.checks.check import measured, not_applicable
from otel_raglog.detect.features import clues_hash, features_of, is_judged, stage_of
from otel_raglog.model import Stage


def test_a_feature_is_a_measurement_of_the_same_name_and_missing_is_nan() -> None:
    """NaN lives in the vector alone: what was not measured is not in the mapping."""
    features = features_of(
        (measured("retriever.chunks", 3), not_applicable("retriever.best_rank", "no text"))
    )
    assert "retriever.best_rank" not in features.shared
    vector = features.vector(("retriever.chunks", "retriever.best_rank"), Stage.RETRIEVER)
    assert vector[0] == 3
    assert np.isnan(vector[1])


def test_the_probabilities_of_rules_1_are_features() -> None:
    """Of the stage and of each fault type; 0 when no clue speaks, missing when none was measured."""
    shared = features_of((measured("retriever.best_relevance", 0.34),)).shared
    assert shared["clues.retriever"] == pytest.approx(0.95)
    assert shared["clues.retriever.no_relevant_chunk"] == pytest.approx(0.95)
    assert shared["clues.retriever.empty_result"] == 0
    assert "clues.generator" not in shared


def test_other_stages_see_the_worst_step_and_a_step_sees_itself() -> None:
    """A measurement that a step lacks is not lent by another."""
    features = features_of(
        (
            measured("rewriter.numbers_added", 0, step=0),
            measured("rewriter.numbers_added", 1, step=1),
            measured("rewriter.length_ratio", 2, step=1),
            measured("retriever.chunks", 5),
        )
    )
    names = ("rewriter.numbers_added", "rewriter.length_ratio", "retriever.chunks")
    assert features.vector(names, Stage.RETRIEVER).tolist() == [1, 2, 5]
    first = features.vector(names, Stage.REWRITER, 0)
    assert (first[0], first[2]) == (0, 5)
    assert np.isnan(first[1])


def test_a_feature_is_about_the_stage_that_its_name_begins_with() -> None:
    """Probabilities of rules-1 too."""
    assert stage_of("clues.rewriter.adds_constraint") is stage_of("rewriter.x") is Stage.REWRITER


def test_an_llms_confidences_are_summed_up() -> None:
    """Per fault type and for the stage, of whichever checks answered; without any there is nothing."""
    answers = [
        measured("generator.graded_incomplete", 0.8),
        measured("generator.graded_off_question", 0.1),
    ]
    shared = features_of(answers).shared
    assert shared["clues.generator.judged.incomplete"] == pytest.approx(0.8)
    assert shared["clues.generator.judged"] == pytest.approx(0.8)
    assert not [
        name for name in features_of((measured("retriever.chunks", 3),)).shared if is_judged(name)
    ]
    assert is_judged("generator.graded_incomplete")
    assert is_judged("clues.generator.judged.incomplete")
    assert not is_judged("clues.generator.incomplete")


def test_the_hash_of_the_clues_is_stable() -> None:
    """It is the same in every process; the table of an LLM's confidences counts where it is read."""
    assert clues_hash() == clues_hash()
    assert clues_hash(judged=True) != clues_hash()
    assert len(clues_hash()) == 64

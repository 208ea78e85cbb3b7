"""Splits: the one place that says what is trained on and what is kept."""

from otel_raglog.lab.pipelines.registry import PIPELINES
from otel_raglog.lab.splits import (
    HELD_OUT_CORPORA,
    HELD_OUT_PIPELINES,
    TRAINING_CORPORA,
    Part,
    group_of,
    part_of,
    question_held_out,
)

GROUPS = [group_of("nq_oracle", f"q{n}") for n in range(4000)]


def test_one_question_in_five_is_held_out():
    """By hash: the share is about that, and a question's side never changes."""
    held = [group for group in GROUPS if question_held_out(group)]
    assert 0.18 < len(held) / len(GROUPS) < 0.22
    assert held[:3] == ["nq_oracle:q9", "nq_oracle:q12", "nq_oracle:q15"]


def test_two_pipelines_that_exist_are_held_out():
    """Their names are names of the registry."""
    assert len(HELD_OUT_PIPELINES) == 2
    assert set(HELD_OUT_PIPELINES) < {pipeline.name for pipeline in PIPELINES}


def test_held_out_pipelines_have_every_stage_and_prompts_of_their_own():
    """Otherwise no held-out figure could be given of a stage."""
    held = [p for p in PIPELINES if p.name in HELD_OUT_PIPELINES]
    seen = [p for p in PIPELINES if p.name not in HELD_OUT_PIPELINES]
    assert all(p.rewriter and p.reranker and p.retriever.dense for p in held)
    assert not {p.template for p in held} & {p.template for p in seen}
    assert not {p.system for p in held} & {p.system for p in seen}


def test_nothing_of_a_test_run_is_trained_on():
    """A test run shares neither corpus nor question nor pipeline with training."""
    assert not set(TRAINING_CORPORA) & set(HELD_OUT_CORPORA)
    held = HELD_OUT_PIPELINES[0]
    assert part_of("covidqa:7", held) is Part.TEST
    assert part_of("covidqa:7", "dense") is Part.MIXED
    kept = next(group for group in GROUPS if not question_held_out(group))
    away = next(group for group in GROUPS if question_held_out(group))
    assert part_of(kept, "dense") is Part.TRAIN
    assert part_of(kept, held) is Part.MIXED
    assert part_of(away, "dense") is Part.MIXED
    assert part_of("mine:1", "dense") is Part.MIXED

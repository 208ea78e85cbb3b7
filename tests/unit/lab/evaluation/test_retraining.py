"""Who is trained on what, and who is judged by whom."""

import pytest
from evaluation_runs import GENERATOR, RETRIEVER, FakeTrainer, bad, labelled, quiet

from otel_raglog.lab.evaluation.retraining import (
    LeaveOut,
    Part,
    judge_splits,
    leave_out,
    parts_of,
    split_apart,
    splits_of,
)
from otel_raglog.model import StageVerdict


@pytest.fixture
def runs():
    """Twelve runs of six questions, two each, through two pipelines; half of them are faulty."""
    return [
        labelled(
            {RETRIEVER: question % 2 == 0},
            group=f"q{question}",
            pipeline=pipeline,
            types={RETRIEVER: ["empty_result" if question == 0 else "no_relevant_chunk"]}
            if question % 2 == 0
            else None,
            injected=(RETRIEVER, "evidence_removed") if question == 2 else None,
            measurements=bad(0.8 if question % 2 == 0 else 0.1),
            run_id=f"{question}-{pipeline}",
        )
        for question in range(6)
        for pipeline in ("dense", "bm25")
    ]


def questions(some):
    return {run.labels.group for run in some}


def test_each_run_is_judged_once_in_each_partition(runs):
    """By a detector that saw none of its question's runs."""
    splits = splits_of(runs, seed=1, folds=3, partitions=2)
    for repeat in range(2):
        tested = [run for split in splits if split.repeat == repeat for run in split.test]
        assert sorted(map(id, tested)) == sorted(map(id, runs))
    for split in splits:
        assert not questions(split.train) & questions(split.test)
        assert len(split.train) + len(split.test) == len(runs)


def test_other_runs_help_to_train_but_for_the_questions_that_are_tested(runs):
    """A synthetic run of the same question would give the answer away."""
    others = [labelled({RETRIEVER: True}, group=group) for group in ("q0", "elsewhere")]
    for split in splits_of(runs, others, folds=3, partitions=1):
        used = [run for run in split.train if run in others]
        assert questions(used) == {"elsewhere", "q0"} - questions(split.test)
    (apart,) = split_apart(runs, others)
    assert questions(apart.train) == {"elsewhere"}
    assert list(apart.test) == runs


def test_judging_out_of_fold(runs):
    """Every run has a verdict for each time, by the detector of its split."""
    trainer = FakeTrainer()
    told = []
    judged = judge_splits(
        splits_of(runs, folds=3, partitions=2), trainer, lambda *progress: told.append(progress)
    )
    assert len(judged) == 2 * len(runs)
    assert {each.repeat for each in judged} == {0, 1}
    assert len(trainer.given) == 6
    assert told[-1] == ("Training", 6, 6)
    assert all(
        (each.verdicts[RETRIEVER].verdict is StageVerdict.FAULTY) == each.labels.run_faulty
        for each in judged
    )


def test_what_can_be_left_out(runs):
    """Pipelines, fault types of a stage, kinds of injection."""
    assert [part.name for part in parts_of(runs, LeaveOut.PIPELINE)] == ["bm25", "dense"]
    assert parts_of(runs, LeaveOut.FAULT_TYPE) == (
        Part(LeaveOut.FAULT_TYPE, "empty_result", RETRIEVER),
        Part(LeaveOut.FAULT_TYPE, "no_relevant_chunk", RETRIEVER),
    )
    assert parts_of(runs, LeaveOut.INJECTION) == (
        Part(LeaveOut.INJECTION, "evidence_removed", RETRIEVER),
    )


@pytest.mark.parametrize("kind", LeaveOut)
def test_what_is_left_out_is_never_trained_on_and_all_of_it_is_judged(runs, kind):
    """And no run of a question that is judged is trained on either."""
    for part in parts_of(runs, kind):
        trainer = FakeTrainer()
        (found,) = leave_out(splits_of(runs, folds=3, partitions=1), [part], trainer, quiet)
        assert trainer.given
        assert not any(part.holds(run.labels) for given in trainer.given for run in given)
        judged = {each.labels.run_id for each in found.judged}
        assert judged == {run.labels.run_id for run in runs if part.holds(run.labels)}


def test_a_left_out_type_has_a_false_positive_rate_of_its_own(runs):
    """From faultless runs that the same detectors judged: those tested in the same split."""
    part = Part(LeaveOut.FAULT_TYPE, "empty_result", RETRIEVER)
    (found,) = leave_out(split_apart(runs, runs_elsewhere()), [part], FakeTrainer(), quiet)
    assert {each.labels.faulty[RETRIEVER] for each in found.faultless} == {False}
    assert len(found.faultless) == 6


def runs_elsewhere():
    return [labelled({RETRIEVER: True, GENERATOR: False}, group="x", measurements=bad(0.7))]


def test_a_part_with_nothing_left_to_train_on_is_not_judged(runs):
    """Leaving out the only pipeline leaves nothing."""
    only = [run for run in runs if run.labels.pipeline == "dense"]
    trainer = FakeTrainer()
    (found,) = leave_out(
        splits_of(only, folds=3, partitions=1), parts_of(only, LeaveOut.PIPELINE), trainer, quiet
    )
    assert found.judged == ()
    assert trainer.given == []

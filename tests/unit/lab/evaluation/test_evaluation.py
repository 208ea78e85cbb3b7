"""All figures of one evaluation."""

import pytest
from evaluation_runs import (
    GENERATOR,
    RETRIEVER,
    FakeDetector,
    FakeTrainer,
    bad,
    judged,
    labelled,
    quiet,
)

from otel_raglog.lab.evaluation.ablation import ablate
from otel_raglog.lab.evaluation.evaluation import figures_of
from otel_raglog.lab.evaluation.outcomes import judge_all
from otel_raglog.lab.evaluation.retraining import LeaveOut, leave_out, parts_of, splits_of
from otel_raglog.lab.references.correctness import By, Correctness, Judged


def run(number, *, faulty, value, **more):
    return labelled({RETRIEVER: faulty}, group=f"q{number}", measurements=bad(value), **more)


RUNS = [
    run(0, faulty=True, value=0.9, types={RETRIEVER: ["empty_result"]}),
    run(1, faulty=True, value=0.2, types={RETRIEVER: ["no_relevant_chunk"]}, pipeline="bm25"),
    run(2, faulty=False, value=0.1),
    run(3, faulty=True, value=0.8, types={RETRIEVER: ["no_relevant_chunk"]}, injected=(RETRIEVER, "evidence_removed")),
    run(4, faulty=False, value=0.7, injected=(RETRIEVER, "evidence_removed")),
]  # fmt: skip


@pytest.fixture(scope="module")
def found():
    detector = FakeDetector()
    group_of = {"retriever.bad": "rules", "retriever.best": "similarity"}
    parts = [part for kind in LeaveOut for part in parts_of(RUNS, kind)]
    return figures_of(
        judge_all(RUNS, detector),
        variants=ablate(RUNS, group_of, detector),
        left_out=leave_out(splits_of(RUNS, partitions=1), parts, FakeTrainer(), quiet),
        draws=200,
    )


def test_natural_and_injected_runs_stand_apart(found):
    """An injection that was absorbed is a negative of the injected ones."""
    assert found.overall.runs == 5
    assert (found.natural.runs, found.natural.pooled.f1) == (3, pytest.approx(2 / 3))
    assert (found.injected.runs, found.injected.pooled.faulty) == (2, 1)
    assert (found.injected.pooled.recall, found.injected.pooled.fpr) == (1.0, 1.0)


def test_right_answers_are_part_of_it_where_they_are_known(found):
    """By run id; without them there is nothing."""
    assert found.correctness is None
    answers = {"r1": Judged("r1", Correctness.CORRECT, By.LLM)}
    some = figures_of(judge_all(RUNS, FakeDetector()), answers=answers, draws=0)
    assert some.correctness.right == 5


def test_without_injections_there_are_no_figures_of_them():
    """Rather than zeros."""
    alone = figures_of(judge_all(RUNS[:3], FakeDetector()), draws=0)
    assert alone.injected is None
    assert alone.natural == alone.overall


def test_by_pipeline(found):
    """Each with all its figures."""
    assert {name: each.runs for name, each in found.pipelines.items()} == {"bm25": 1, "dense": 4}
    assert found.pipelines["bm25"].pooled.recall == 0.0


def test_by_fault_type_and_by_injection(found):
    """How many are caught, and whether their type is named: the fake names the first of all."""
    by_type = {each.part.name: each for each in found.fault_types}
    assert (by_type["empty_result"].faulty, by_type["empty_result"].named) == (1, 1.0)
    assert by_type["no_relevant_chunk"].recall == 0.5
    assert by_type["no_relevant_chunk"].named == 0.0
    (removed,) = found.injections
    assert (removed.n, removed.faulty, removed.recall, removed.false_alarms) == (2, 1, 1.0, 1)


def test_ablation_has_figures_of_the_same_runs(found):
    """Without the measurement that decides, nothing is flagged."""
    pooled = {each.name: each.figures.pooled for each in found.ablation}
    assert pooled["all"] == found.overall.pooled
    assert (pooled["without rules"].f1, pooled["without rules"].n) == (0.0, 5)
    assert pooled["without rules"].unjudged == {"abstained": 5}


def test_what_was_left_out_of_training(found):
    """Pipelines with all figures, fault types and injections with their recall."""
    assert set(found.left_out_pipelines) == {"dense", "bm25"}
    assert found.left_out_pipelines["dense"].runs == 4
    kinds = {(each.part.kind.value, each.part.name): each for each in found.left_out_parts}
    assert kinds["fault_type", "empty_result"].recall == 1.0
    assert kinds["injection", "evidence_removed"].n == 2


def test_ranking_and_calibration_are_there(found):
    """Beside the best single measurement: here the only one, so that they are equal."""
    ranking = found.rankings[RETRIEVER]
    assert ranking.auc == ranking.best_auc == pytest.approx(5 / 6)
    assert found.calibrations[RETRIEVER].n == found.calibrations[None].n == 5
    assert GENERATOR not in found.calibrations


def test_nothing_to_evaluate_is_an_error():
    """Of the caller."""
    with pytest.raises(ValueError, match="no judged runs"):
        figures_of([])


def test_the_named_types_are_those_of_the_hits():
    """A miss names nothing."""
    miss = judged(
        labelled({RETRIEVER: True}, types={RETRIEVER: ["empty_result"]}), {RETRIEVER: 0.1}
    )
    (part,) = figures_of([miss], draws=0).fault_types
    assert (part.recall, part.named) == (0.0, None)


def test_a_third_of_a_hit_makes_no_false_alarm():
    """Caught once of three times: none, not minus none."""
    run = labelled({RETRIEVER: True}, types={RETRIEVER: ["empty_result"]})
    rows = [judged(run, {RETRIEVER: p}, repeat) for repeat, p in enumerate((0.9, 0.1, 0.1))]
    (part,) = figures_of(rows, draws=0).fault_types
    assert str(part.false_alarms) == "0.0"

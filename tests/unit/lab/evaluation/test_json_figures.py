"""The JSON that scripts rely on."""

import json

import pytest
from evaluation_runs import RETRIEVER, FakeDetector, FakeTrainer, bad, labelled, quiet

from otel_raglog.lab.evaluation.ablation import ablate
from otel_raglog.lab.evaluation.evaluation import figures_of
from otel_raglog.lab.evaluation.json_figures import Setting, to_json
from otel_raglog.lab.evaluation.outcomes import judge_all
from otel_raglog.lab.evaluation.retraining import LeaveOut, leave_out, parts_of, splits_of
from otel_raglog.lab.references.correctness import By, Correctness, Judged
from otel_raglog.model import Stage

ANSWERS = {"r1": Judged("r1", Correctness.WRONG, By.RECORD)}
SETTING = Setting("rules-1", "paper", "as it is", unlabelled_runs=2, skipped_runs=1)
RUNS = [
    labelled(
        {RETRIEVER: number % 2 == 0},
        group=f"q{number}",
        types={RETRIEVER: ["no_relevant_chunk"]} if number % 2 == 0 else None,
        injected=(RETRIEVER, "evidence_removed") if number == 0 else None,
        measurements=bad(0.9 if number % 2 == 0 else 0.1),
    )
    for number in range(6)
]


@pytest.fixture(scope="module")
def figures():
    group_of = {"retriever.bad": "rules", "retriever.best": "similarity"}
    parts = [part for kind in LeaveOut for part in parts_of(RUNS, kind)]
    found = figures_of(
        judge_all(RUNS, FakeDetector()),
        variants=ablate(RUNS, group_of, FakeDetector()),
        left_out=leave_out(splits_of(RUNS, partitions=1), parts, FakeTrainer(), quiet),
        draws=50,
        seed=3,
    )
    return json.loads(json.dumps(to_json(found, SETTING), allow_nan=False))


def test_the_keys_of_the_design(figures):
    """runs, pooled with an interval, macro_f1, run_level, and every stage."""
    assert figures["runs"] == 6
    assert {"precision", "recall", "f1", "fpr", "f1_ci95"} <= figures["pooled"].keys()
    assert figures["pooled"]["f1"] == 1.0
    assert figures["pooled"]["f1_ci95"] == [1.0, 1.0]
    assert figures["macro_f1"] == 1.0
    assert {"precision", "recall", "f1", "fpr"} <= figures["run_level"].keys()
    assert list(figures["stages"]) == [stage.value for stage in Stage]
    for stage in figures["stages"].values():
        assert {"n", "faulty", "precision", "recall", "f1", "fpr"} <= stage.keys()
    assert figures["stages"]["retriever"]["faulty"] == 3
    assert figures["stages"]["generator"]["f1"] is None


def test_what_else_is_said(figures):
    """Which detector, how, what was left out, and every further figure under a stable name."""
    assert figures["detector_version"] == "rules-1"
    assert (figures["policy"], figures["protocol"]) == ("paper", "as it is")
    assert (figures["unlabelled_runs"], figures["skipped_runs"]) == (2, 1)
    assert figures["bootstrap"] == {"draws": 50, "seed": 3, "by": "group"}
    assert (figures["natural"]["runs"], figures["injected"]["runs"]) == (5, 1)
    retriever = figures["stages"]["retriever"]
    assert (retriever["auc"], retriever["best_measurement"]) == (1.0, "retriever.bad")
    assert retriever["floor_f1"] == 0.6667
    assert retriever["calibration"]["brier"] == 0.01
    assert figures["pipelines"]["dense"]["pooled"]["n"] == 6
    assert figures["fault_types"][0]["type"] == "no_relevant_chunk"
    assert figures["injections"][0]["recall"] == 1.0
    assert figures["ablation"][0]["name"] == "all"
    assert {each["kind"] for each in figures["left_out"]["parts"]} == {"fault_type", "injection"}


def test_correctness_has_a_key_of_its_own(figures):
    """Null where nothing is known of any answer; verdicts, hidden faults and wrong answers else."""
    assert figures["correctness"] is None
    judged = judge_all(RUNS, FakeDetector())
    found = to_json(figures_of(judged, answers=ANSWERS, draws=0), SETTING)["correctness"]
    assert found["answers"] == {"correct": 0, "partly": 0, "wrong": 6, "unknown": 0}
    assert found["by"]["record"] == 6
    assert found["verdicts"]["faulty"]["wrong"] == 3
    assert found["labels"]["ok"]["wrong"] == 3
    hidden, wrong = found["hidden_faults"], found["wrong_answers"]
    assert (hidden["right_answers"], hidden["by_labels"], hidden["by_both"]) == (0, 0, 0)
    assert list(hidden["stages"]) == [stage.value for stage in Stage]
    assert (wrong["n"], wrong["same"], wrong["agreement"]) == (6, 3, 0.5)
    assert wrong["first_faulty_stage"]["by_labels"]["retriever"] == 3
    assert wrong["first_faulty_stage"]["by_verdicts"]["none"] == 0
    assert (wrong["both_name_one"], wrong["same_named"]) == (3, 3)

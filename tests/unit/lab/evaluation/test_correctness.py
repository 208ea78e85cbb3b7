"""Right and wrong answers against labels and verdicts."""

import pytest
from evaluation_runs import GENERATOR, RETRIEVER, judged, labelled

from otel_raglog.lab.evaluation.correctness import correctness_figures
from otel_raglog.lab.references.correctness import By, Correctness, Judged

RIGHT, WRONG, PARTLY = Correctness.CORRECT, Correctness.WRONG, Correctness.PARTLY


def run(run_id, faulty, probabilities, repeat=0):
    labels = {RETRIEVER: RETRIEVER in faulty, GENERATOR: GENERATOR in faulty}
    said = {RETRIEVER: 0.1, GENERATOR: 0.1} | probabilities
    return judged(labelled(labels, run_id=run_id), said, repeat)


def known(**found):
    return {run_id: Judged(run_id, each, By.RECORD) for run_id, each in found.items()}


def test_verdicts_and_labels_by_correctness():
    """Runs by what is said of them, then by whether the answer is right."""
    rows = [
        run("a", [RETRIEVER], {RETRIEVER: 0.9}),
        run("b", [], {}),
        run("c", [GENERATOR], {GENERATOR: None}),
        run("d", [], {}),
    ]
    found = correctness_figures(rows, known(a=WRONG, b=RIGHT, c=PARTLY))
    assert found.answers == {"correct": 1, "partly": 1, "wrong": 1, "unknown": 1}
    assert found.by == {"record": 3, "words": 0, "llm": 0, "nobody": 1}
    assert found.verdicts["faulty"] == {"correct": 0, "partly": 0, "wrong": 1, "unknown": 0}
    assert found.verdicts["ok"]["correct"] == 1
    assert found.verdicts["unknown"]["partly"] == 1
    assert found.labels["faulty"] == {"correct": 0, "partly": 1, "wrong": 1, "unknown": 0}
    assert found.labels["ok"] == {"correct": 1, "partly": 0, "wrong": 0, "unknown": 1}


def test_hidden_faults_are_faulty_stages_behind_right_answers():
    """By the labels, by the verdicts, and by both; per stage and per run."""
    rows = [
        run("a", [RETRIEVER], {RETRIEVER: 0.9}),
        run("b", [RETRIEVER, GENERATOR], {}),
        run("c", [], {GENERATOR: 0.9}),
        run("d", [RETRIEVER], {RETRIEVER: 0.9}),
    ]
    found = correctness_figures(rows, known(a=RIGHT, b=RIGHT, c=RIGHT, d=WRONG))
    hidden = found.hidden
    assert (hidden.by_labels, hidden.by_verdicts, hidden.by_both) == (2, 2, 1)
    retriever, generator = (found.hidden_stages[stage] for stage in (RETRIEVER, GENERATOR))
    assert (retriever.by_labels, retriever.by_verdicts, retriever.by_both) == (2, 1, 1)
    assert (generator.by_labels, generator.by_verdicts, generator.by_both) == (1, 1, 0)
    assert found.right == 3


def test_wrong_answers_by_their_first_faulty_stage():
    """In pipeline order; none and not judged are said too, and how often both say the same."""
    rows = [
        run("a", [RETRIEVER, GENERATOR], {RETRIEVER: 0.9}),
        run("b", [GENERATOR], {RETRIEVER: 0.9, GENERATOR: 0.9}),
        run("c", [], {}),
        run("d", [GENERATOR], {GENERATOR: None}),
        run("e", [RETRIEVER], {RETRIEVER: 0.9}),
    ]
    found = correctness_figures(rows, known(a=WRONG, b=WRONG, c=WRONG, d=WRONG, e=RIGHT))
    assert {name: n for name, n in found.first_by_labels.items() if n} == {
        "retriever": 1, "generator": 2, "none": 1,
    }  # fmt: skip
    assert {name: n for name, n in found.first_by_verdicts.items() if n} == {
        "retriever": 2, "none": 1, "unknown": 1,
    }  # fmt: skip
    assert (found.wrong, found.same_first, found.agreement) == (4, 2, 0.5)
    assert (found.both_name, found.same_named) == (2, 1)


def test_runs_judged_several_times_count_once():
    """Each time a part of a run."""
    measured = labelled({RETRIEVER: True, GENERATOR: False}, run_id="a")
    said = [{RETRIEVER: p, GENERATOR: 0.1} for p in (0.9, 0.9, 0.1)]
    rows = [judged(measured, each, repeat) for repeat, each in enumerate(said)]
    found = correctness_figures(rows, known(a=RIGHT))
    assert found.right == pytest.approx(1)
    assert found.hidden.by_labels == pytest.approx(1)
    assert found.hidden.by_verdicts == pytest.approx(2 / 3, abs=1e-5)


def test_nothing_known_gives_no_figures():
    """Rather than zeros."""
    assert correctness_figures([run("a", [], {})], known(b=RIGHT)) is None
    assert correctness_figures([run("a", [], {})], known(a=Correctness.UNKNOWN)) is None


def test_without_wrong_answers_there_is_no_agreement():
    """Of none there is no share."""
    assert correctness_figures([run("a", [], {})], known(a=RIGHT)).agreement is None

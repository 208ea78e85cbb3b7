"""The tables that people read."""

import io

from evaluation_runs import GENERATOR, RETRIEVER, FakeDetector, bad, judged, labelled, retrievals
from rich.console import Console

from otel_raglog.lab.evaluation.ablation import ablate
from otel_raglog.lab.evaluation.evaluation import figures_of
from otel_raglog.lab.evaluation.json_figures import Setting
from otel_raglog.lab.evaluation.tables import print_evaluation
from otel_raglog.lab.references.correctness import By, Correctness, Judged


def printed(evaluation, **setting):
    console = Console(file=io.StringIO(), width=150)
    print_evaluation(evaluation, Setting("rules-1", "paper", "as it is", **setting), console)
    return console.file.getvalue()


def line(text, start):
    return next(each for each in text.splitlines() if each.startswith(start)).split()


def test_stages_pooled_macro_and_run_stand_in_one_table():
    """Counts first; stages without labels are left out, figures that nothing defines are dashes."""
    rows = [*retrievals([(True, 0.9), (False, 0.8), (False, 0.1)])]
    text = printed(figures_of(rows, draws=0))
    assert line(text, "retriever") == [
        "retriever",
        "1",
        "3",
        "2",
        "0.50",
        "1.00",
        "0.67",
        "-",
        "0.500",
        "0.50",
    ]
    assert line(text, "pooled")[1:4] == ["1", "3", "2"]
    assert line(text, "macro") == ["macro", "-", "-", "-", "-", "-", "0.67", "-", "-", "-"]
    assert "reranker" not in text
    assert text.startswith("rules-1, policy paper, as it is: 3 labelled runs of 3 questions\n")


def test_what_was_left_out_or_not_judged_is_said():
    """In words."""
    rows = [judged(labelled({RETRIEVER: True}), {RETRIEVER: None, GENERATOR: 0.1})]
    text = printed(figures_of(rows, draws=0), unlabelled_runs=4, skipped_runs=1)
    assert "4 without labels left out" in text
    assert "1 unreadable left out" in text
    assert "retriever: not judged, hence not flagged: 1 abstained" in text
    assert "generator: 1 judged without a label, counted nowhere" in text


def test_every_other_figure_has_a_table():
    """Natural and injected, ranking, pipelines, fault types, injections, ablation."""
    runs = [
        labelled(
            {RETRIEVER: number % 2 == 0},
            group=f"q{number}",
            types={RETRIEVER: ["no_relevant_chunk"]} if number % 2 == 0 else None,
            injected=(RETRIEVER, "evidence_removed") if number == 0 else None,
            measurements=bad(0.9 - 0.8 * (number % 2)),
        )
        for number in range(4)
    ]
    detector = FakeDetector()
    group_of = {"retriever.bad": "rules", "retriever.best": "similarity"}
    text = printed(
        figures_of(
            [judged(run, detector_says(detector, run)) for run in runs],
            variants=ablate(runs, group_of, detector),
            draws=50,
        )
    )
    for title in (
        "Natural runs", "Injected runs", "Ranking and calibration", "By pipeline", "By fault type",
        "By injection", "Ablation per group of checks",
    ):  # fmt: skip
        assert title in text
    assert "retriever.bad" in text
    assert line(text, "without rules")[2] == "0.00"


def test_right_and_wrong_answers_have_tables_where_they_are_known():
    """Who said so, hidden faults, and the first faulty stage of wrong answers."""
    rows = [
        judged(
            labelled({RETRIEVER: True}, run_id=each, group=each), {RETRIEVER: 0.9, GENERATOR: 0.1}
        )
        for each in ("a", "b")
    ]
    assert "answer is right" not in printed(figures_of(rows, draws=0))
    answers = {
        "a": Judged("a", Correctness.CORRECT, By.RECORD),
        "b": Judged("b", Correctness.WRONG, By.WORDS),
    }
    text = printed(figures_of(rows, answers=answers, draws=0))
    assert "Runs by whether the answer is right (1 by the record, 1 by their words)" in text
    assert line(text, "faulty") == ["faulty", "1", "0", "1", "0", "1", "0", "1", "0"]
    assert "Hidden faults" in text
    assert "First faulty stage of wrong answers" in text
    lines = [each.split() for each in text.splitlines()]
    assert ["retriever", "1", "1", "1", "1"] in lines
    assert ["retriever", "1", "1", "1"] in lines
    assert ["the", "same", "1", "1", "1"] in lines


def detector_says(detector, run):
    return {RETRIEVER: detector.judge(run.run, run.measurements)[RETRIEVER].probability}

"""Counts, rates and intervals, held against figures worked out by hand."""

import numpy as np
import pytest
from evaluation_runs import GENERATOR, RETRIEVER, REWRITER, judged, labelled, retrievals

from otel_raglog.lab.evaluation.confusion import rates_of, resampled, slice_of
from otel_raglog.lab.evaluation.outcomes import outcomes_of

HITS = [(True, 0.9)] * 3 + [(False, 0.8)] + [(True, 0.2)] * 2 + [(False, 0.1)] * 4
"""3 hits, 1 false alarm, 2 misses, 4 rightly passed."""


def of(judged_runs, **options):
    return slice_of(outcomes_of(judged_runs), draws=0, **options)


def test_rates_of_a_small_confusion_matrix():
    """3 / 4, 3 / 5, 6 / 9, 1 / 5; always faulty: 10 / 15."""
    figures = of(retrievals(HITS)).stages[RETRIEVER]
    assert (figures.n, figures.faulty, figures.flagged) == (10, 5, 4)
    assert figures.precision == pytest.approx(3 / 4)
    assert figures.recall == pytest.approx(3 / 5)
    assert figures.f1 == pytest.approx(6 / 9)
    assert figures.fpr == pytest.approx(1 / 5)
    assert figures.floor_f1 == pytest.approx(10 / 15)


def test_pooled_adds_counts_and_macro_averages_f1():
    """Retriever F1 1 (of two), generator 0 (one miss), rewriter has no fault and is left out."""
    runs = [
        judged(
            labelled({RETRIEVER: True, GENERATOR: True, REWRITER: False}),
            {RETRIEVER: 0.9, GENERATOR: 0.1, REWRITER: 0.1},
        ),
        judged(
            labelled({RETRIEVER: True, GENERATOR: False}, group="q2"),
            {RETRIEVER: 0.9, GENERATOR: 0.1},
        ),
    ]
    found = of(runs)
    assert (found.pooled.n, found.pooled.faulty) == (5, 3)
    assert found.pooled.f1 == pytest.approx(4 / 5)
    assert found.pooled.fpr == 0
    assert found.macro_f1 == pytest.approx(0.5)
    assert found.stages[REWRITER].f1 is None


def test_an_abstention_is_a_miss_and_is_counted():
    """Never dropped in silence."""
    figures = of(retrievals([(True, 0.9), (True, None), (False, None)])).stages[RETRIEVER]
    assert (figures.n, figures.faulty, figures.recall) == (3, 2, 0.5)
    assert figures.unjudged == {"abstained": 2}


def test_a_verdict_without_a_label_counts_nowhere_but_is_told():
    """The generator was judged; nobody knows whether rightly."""
    found = of([judged(labelled({RETRIEVER: False}), {RETRIEVER: 0.1, GENERATOR: 0.9})])
    assert found.stages[GENERATOR].n == 0
    assert found.stages[GENERATOR].unlabelled == 1
    assert found.pooled.n == 1


def test_the_run_is_faulty_when_a_stage_is():
    """One faulty run flagged through another stage; one faultless run unjudged."""
    runs = [
        judged(labelled({RETRIEVER: False, GENERATOR: True}), {RETRIEVER: 0.9, GENERATOR: 0.1}),
        judged(labelled({RETRIEVER: False}, group="q2"), {RETRIEVER: None}),
    ]
    figures = of(runs).run_level
    assert (figures.n, figures.faulty, figures.flagged) == (2, 1, 1)
    assert (figures.recall, figures.fpr) == (1.0, 0.0)
    assert figures.unjudged == {"abstained": 1}


def test_what_nothing_defines_is_none():
    """No precision without a flag, no recall without a fault, no FPR without a faultless one."""
    none_flagged = of(retrievals([(True, 0.1)])).stages[RETRIEVER]
    assert (none_flagged.precision, none_flagged.recall, none_flagged.f1) == (None, 0.0, 0.0)
    assert none_flagged.fpr is None
    no_fault = of(retrievals([(False, 0.1)])).stages[RETRIEVER]
    assert (no_fault.recall, no_fault.f1, no_fault.fpr) == (None, None, 0.0)
    assert of(retrievals([(False, 0.1)])).macro_f1 is None


def test_runs_judged_several_times_count_by_the_mean():
    """Caught once of two times: half a hit."""
    run = labelled({RETRIEVER: True})
    figures = of([judged(run, {RETRIEVER: p}, n) for n, p in enumerate((0.9, 0.1))])
    assert figures.runs == 1
    assert figures.stages[RETRIEVER].n == 1
    assert figures.stages[RETRIEVER].recall == 0.5


def test_the_bootstrap_draws_questions_and_keeps_their_runs_together():
    """Two questions of two runs each: a sample holds each run of a question equally often."""
    cells = np.zeros((4, 1, 4))
    cells[range(4), 0, range(4)] = 1  # each run is in a cell of its own
    samples = resampled(cells, np.array([0, 0, 1, 1]), 300, seed=1)[:, 0]
    assert samples.shape == (300, 4)
    assert (samples[:, 0] == samples[:, 1]).all()
    assert (samples[:, 2] == samples[:, 3]).all()
    assert (samples.sum(axis=1) == 4).all()
    assert {tuple(row) for row in samples.tolist()} == {(2, 2, 0, 0), (1, 1, 1, 1), (0, 0, 2, 2)}


def test_questions_that_hold_more_runs_widen_the_interval():
    """Forty runs of four questions say less than forty runs of forty."""

    def width(questions):
        runs = [
            judged(
                labelled({RETRIEVER: True}, group=f"q{number % questions}"),
                {RETRIEVER: 0.9 if number % questions < questions / 2 else 0.1},
            )
            for number in range(40)
        ]
        low, high = slice_of(outcomes_of(runs), draws=500, seed=2).stages[RETRIEVER].recall_ci95
        return high - low

    assert width(4) > 1.5 * width(40)


def test_the_interval_is_the_same_for_the_same_seed_and_holds_the_figure():
    """Another seed moves it a little."""
    outcomes = outcomes_of(retrievals(HITS * 5))
    one, again, other = (slice_of(outcomes, draws=400, seed=seed).pooled for seed in (1, 1, 2))
    assert one.f1_ci95 == again.f1_ci95 != other.f1_ci95
    assert one.f1_ci95[0] < one.f1 < one.f1_ci95[1]
    assert one.fpr_ci95[0] < one.fpr < one.fpr_ci95[1]


def test_one_question_has_no_interval():
    """There is nothing to draw from."""
    assert slice_of(outcomes_of(retrievals([(True, 0.9)]))).pooled.f1_ci95 is None


def test_rates_of_many_matrices_at_once():
    """Shape (…, 4) in, shape (…) out; 0 / 0 is NaN."""
    rates = rates_of(np.array([[[1, 1, 0, 2], [0, 0, 0, 0]]], dtype=float))
    assert rates.precision[0, 0] == 0.5
    assert np.isnan(rates.f1[0, 1])

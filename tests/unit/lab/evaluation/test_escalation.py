"""The curve of runs asked about against how good the verdicts are."""

from io import StringIO

import pytest
from evaluation_runs import RETRIEVER, judged, labelled, quiet
from judged_runs import GENERATOR, make_judged_runs
from rich.console import Console

from otel_raglog.detect.policies import Policy
from otel_raglog.lab.evaluation.detectors import TierTrainer
from otel_raglog.lab.evaluation.escalation import (
    BothTiers,
    Point,
    curve_of,
    escalated,
    escalation_json,
    escalation_table,
    judge_tiers,
    learned_from,
    narrowest,
)
from otel_raglog.lab.evaluation.retraining import splits_of


def tiers() -> BothTiers:
    """Ten faulty runs: the local tier misses five, of which it is unsure; the LLM misses none."""
    runs = [labelled({RETRIEVER: True}, group=f"q{number}") for number in range(10)]
    local = tuple(
        judged(run, {RETRIEVER: 0.95 if number < 5 else 0.4}) for number, run in enumerate(runs)
    )
    return BothTiers(local, tuple(judged(run, {RETRIEVER: 0.99}) for run in runs))


def test_only_uncertain_runs_are_judged_by_the_llm() -> None:
    """The others keep what the local tier says, and cost nothing."""
    both = tiers()
    found, asked = escalated(both, 0.2)
    assert asked == 0.5
    assert found == (*both.local[:5], *both.llm[5:])


def test_an_error_of_0_asks_always_and_one_above_1_never() -> None:
    """Both ends of the curve are in it."""
    always, some, never = curve_of(tiers(), (0.0, 0.2, 1.01))
    assert (always.asked, some.asked, never.asked) == (1.0, 0.5, 0.0)
    assert (always.f1, some.f1) == (1.0, 1.0)
    assert never.f1 == pytest.approx(2 / 3)


def test_the_narrowest_band_is_as_good_as_always_and_so_is_every_wider_one() -> None:
    """A lucky point beyond a bad one does not count."""

    def point(asked: float, f1: float) -> Point:
        return Point(1 - asked, asked, f1, 0, 0, 0)

    curve = [point(1.0, 0.9), point(0.8, 0.895), point(0.5, 0.85), point(0.2, 0.9)]
    assert narrowest(curve).asked == 0.8
    assert narrowest(curve, within=0.06).asked == 0.2


def test_what_was_learned_says_on_what() -> None:
    """The share asked, and the figures beside always and never."""
    found = learned_from(curve_of(tiers(), (0.0, 0.2, 1.01)), 10, "local-1")
    assert (found.error, found.asked, found.runs, found.local) == (0.2, 0.5, 10, "local-1")
    assert (found.f1, found.f1_always, found.f1_never) == (1.0, 1.0, 0.6667)


def test_the_curve_is_printed_and_in_json() -> None:
    """The chosen point is marked in both."""
    curve = curve_of(tiers(), (0.0, 0.2, 1.01))
    console = Console(width=100, record=True, file=StringIO())
    console.print(escalation_table(curve))
    assert "50%" in console.export_text()
    data = escalation_json(curve)
    assert data["chosen"] == data["curve"][1]
    assert data["chosen"]["asked"] == 0.5


def test_both_tiers_judge_the_same_runs_out_of_fold() -> None:
    """The LLM's answers, which tell all, make the difference."""
    pytest.importorskip("sklearn")
    runs = make_judged_runs(answered=45)
    splits = splits_of(runs[:45], runs[45:], partitions=1)
    both = judge_tiers(splits, TierTrainer(Policy.PAPER, 1), quiet)
    assert [each.measured for each in both.local] == [each.measured for each in both.llm]
    ends = curve_of(both, (0.0, 1.01))
    assert ends[0].f1 > 0.95 > ends[1].f1 + 0.1
    wrong = [each for each in both.llm if each.verdicts[GENERATOR].probability is None]
    assert not wrong

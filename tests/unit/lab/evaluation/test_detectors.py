"""How a detector is trained to be evaluated."""

import sys
from dataclasses import replace

import pytest
from evaluation_runs import GENERATOR, RETRIEVER, bad, labelled
from handbook_runs import make_run
from judged_runs import make_judged_runs

from otel_raglog.detect.confidences import JUDGED
from otel_raglog.detect.policies import Policy
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation import detectors
from otel_raglog.lab.evaluation.detectors import example_of
from otel_raglog.model import Stage, StageState, StageVerdict, UnknownReason


def test_training_needs_its_extra(monkeypatch):
    """The error says which."""
    monkeypatch.setitem(sys.modules, "otel_raglog.detect.training.training", None)
    monkeypatch.delattr("otel_raglog.detect.training.training", raising=False)
    with pytest.raises(BadInput, match=r"otel-raglog\[train\]"):
        detectors.trainer(Policy.PAPER, 0)


def test_an_example_has_the_labels_of_what_can_be_judged():
    """A redacted stage is not trained on."""
    run = make_run()
    hidden = {**run.stages, GENERATOR: StageState(1, reason=UnknownReason.REDACTED)}
    example = example_of(
        labelled(
            {RETRIEVER: True, GENERATOR: True},
            types={RETRIEVER: ["empty_result"]},
            measurements=bad(0.7),
            run=replace(run, stages=hidden),
        )
    )
    assert example.faulty == {RETRIEVER: True}
    assert example.types == {RETRIEVER: ("empty_result",)}
    assert example.features.shared["retriever.bad"] == 0.7
    assert example.group == "q1"


def test_a_run_that_cannot_be_read_is_no_example():
    """Of another language nothing is learned."""
    german = make_run("Wie viele Urlaubstage gibt es im Jahr?", "Es gibt fünfundzwanzig Tage.",
                      prompt="Der Urlaub beträgt fünfundzwanzig Tage.", retrieved=())  # fmt: skip
    assert example_of(labelled({RETRIEVER: True}, run=german)) is None


def test_the_ensemble_is_trained_on_measurements_alone():
    """It learns which retrievals are bad from runs that show it, and judges others."""
    pytest.importorskip("sklearn")
    pytest.importorskip("catboost")
    pytest.importorskip("skops")
    from otel_raglog.model import Measurement

    def run(number):
        faulty = number % 2 == 0
        value = 0.1 + 0.01 * (number % 5) if faulty else 0.8 + 0.01 * (number % 5)
        relevance = Measurement("retriever.best_relevance", RETRIEVER, value)
        return labelled({RETRIEVER: faulty}, group=f"q{number}", measurements=[relevance])

    trainer = detectors.trainer(Policy.PAPER, 1)
    detector = trainer.fit([run(number) for number in range(24)])
    for number in (100, 101):
        each = run(number)
        verdict = detector.judge(each.run, each.measurements)[RETRIEVER]
        assert (verdict.verdict is StageVerdict.FAULTY) == (number % 2 == 0)


def test_the_tiers_are_trained_on_what_each_of_them_sees():
    """The local one on local measurements, the LLM alone on its answers, the second tier on both."""
    pytest.importorskip("sklearn")
    pytest.importorskip("catboost")
    pytest.importorskip("skops")
    runs = make_judged_runs()
    trainer = detectors.tier_trainer(Policy.PAPER, 1)
    both, alone = trainer.fit(runs), trainer.alone().fit(runs)
    assert not JUDGED & both.local.reads
    assert JUDGED & both.trained.reads
    assert trainer.untrained().fit(runs).version == f"untrained-1+{both.local.version}"
    assert "clues.generator" in both.trained._artifact.manifest.features
    assert "clues.generator" not in alone.trained._artifact.manifest.features


def test_beside_an_undecided_detector_answers_decide_alone():
    """It judges what can be judged, and says nothing of it."""
    verdicts = detectors.Undecided().judge(make_run(), make_judged_runs(1)[0].measurements)
    assert verdicts[GENERATOR].probability == verdicts[GENERATOR].threshold
    assert verdicts[GENERATOR].fault_types == ()
    assert verdicts[Stage.RERANKER].verdict is StageVerdict.ABSENT

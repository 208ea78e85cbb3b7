"""The trained detector's verdicts."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, make_run
from trained_detectors import SMALL, make_examples, make_measurements

from otel_raglog.checks.check import measured
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.features import features_of
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.training import to_artifact, train
from otel_raglog.errors import ConfigError
from otel_raglog.model import (
    FaultType,
    Measurement,
    MeasurementStatus,
    Stage,
    StageState,
    StageVerdict,
    UnknownReason,
)

GOOD = make_measurements(retrieved_well=0.9, supported=0.9, dropped=0.0)
BAD = make_measurements(retrieved_well=0.2, supported=0.9, dropped=0.0)


@pytest.fixture(scope="module")
def artifact():
    examples = make_examples(120)
    return to_artifact(train(examples, SMALL), examples, SMALL)[0]


@pytest.fixture
def detector(artifact):
    return Ensemble(artifact, Policy.PAPER)


def run():
    return make_run(rewrites=[QUESTION])


def test_a_stage_is_faulty_from_its_threshold_on(detector) -> None:
    """The verdict bears the calibrated probability, the threshold and at least one type."""
    good, bad = (detector.judge(run(), each)[Stage.RETRIEVER] for each in (GOOD, BAD))
    assert (good.verdict, bad.verdict) == (StageVerdict.OK, StageVerdict.FAULTY)
    assert good.probability < good.threshold <= bad.probability <= 1
    assert bad.fault_types == (FaultType.NO_RELEVANT_CHUNK,)
    assert good.fault_types == ()


def test_a_flag_without_a_typed_clue_names_the_most_frequent_type(artifact) -> None:
    """A faulty verdict is never without a type."""
    detector = Ensemble(artifact, thresholds={Stage.RETRIEVER: 0.0})
    verdict = detector.judge(run(), GOOD)[Stage.RETRIEVER]
    assert verdict.fault_types == (FaultType.NO_RELEVANT_CHUNK,)


def test_the_stage_takes_its_worst_step(detector) -> None:
    """Each step of a rewriter is judged by its own measurements."""
    twice = replace(
        run(),
        rewriters=run().rewriters * 2,
        stages={**run().stages, Stage.REWRITER: StageState(2)},
    )
    second = make_measurements(retrieved_well=0.9, supported=0.9, dropped=0.95, step=1)
    measurements = (*GOOD, *[m for m in second if m.stage is Stage.REWRITER])
    verdict = detector.judge(twice, measurements)[Stage.REWRITER]
    assert [step.verdict for step in verdict.steps] == [StageVerdict.OK, StageVerdict.FAULTY]
    assert (verdict.verdict, verdict.step) == (StageVerdict.FAULTY, 1)


def test_what_cannot_be_judged_is_as_with_rules_1(detector) -> None:
    """Absent, not captured, nothing measured, a check that failed, another language."""
    failed = Measurement("rules.retriever", Stage.RETRIEVER, None, MeasurementStatus.FAILED)
    asked = "Combien de jours de congé les employés à temps plein reçoivent-ils chaque année ?"
    cases = [
        (replace(run(), skip_reason="no_question"), ()),
        (run(), ()),
        (run(), (failed,)),
        (make_run(asked, asked), ()),
    ]
    for each, measurements in cases:
        ours, theirs = (d.judge(each, measurements) for d in (detector, Rules1()))
        assert {s: (v.verdict, v.reason) for s, v in ours.items()} == {
            s: (v.verdict, v.reason) for s, v in theirs.items()
        }
    assert detector.judge(run(), (failed,))[Stage.RETRIEVER].reason is UnknownReason.ERROR


def test_a_stage_without_models_is_judged_by_rules_1(detector) -> None:
    """Here the embedder, of which no run was labelled."""
    measurements = (measured("embedder.cut_share", 0.5, step=0),)
    each = make_run(embedded=["How many vacation"])
    verdict = detector.judge(each, measurements)[Stage.EMBEDDER]
    assert verdict == Rules1().judge(each, measurements)[Stage.EMBEDDER]
    assert verdict.verdict is StageVerdict.FAULTY


def test_a_stage_with_few_of_its_usual_measurements_is_judged_by_rules_1(detector) -> None:
    """A run that was too much to encode has those of rules alone."""
    measurements = (measured("retriever.empty", 1.0),)
    verdict = detector.judge(run(), measurements)[Stage.RETRIEVER]
    assert verdict == Rules1().judge(run(), measurements)[Stage.RETRIEVER]


def test_what_is_a_fault_by_definition_is_one_whatever_the_models_say(detector) -> None:
    """No training run here was cut off by the provider."""
    verdict = detector.judge(run(), (*GOOD, measured("generator.cut_off", 1.0)))[Stage.GENERATOR]
    assert (verdict.verdict, verdict.probability) == (StageVerdict.FAULTY, pytest.approx(0.9))
    assert verdict.fault_types == (FaultType.OUTPUT_TRUNCATED,)


def test_not_even_a_threshold_of_ones_own_makes_a_fault_by_definition_sound(artifact) -> None:
    """The threshold in the verdict is then the probability, so that both agree."""
    detector = Ensemble(artifact, thresholds={Stage.GENERATOR: 0.95})
    verdict = detector.judge(run(), (*GOOD, measured("generator.cut_off", 1.0)))[Stage.GENERATOR]
    assert verdict.verdict is StageVerdict.FAULTY
    assert verdict.threshold == verdict.probability


def test_one_odd_training_run_changes_nothing_of_which_runs_the_models_judge() -> None:
    """Neither one of which hardly anything was measured, nor one with a measurement more."""
    examples = make_examples(60)
    odd = features_of((measured("rewriter.empty", 0.0, step=0),))
    examples = (*examples, replace(examples[1], run_id="odd", group="odd", features=odd))
    made = to_artifact(train(examples, SMALL), examples, SMALL)[0]
    judged = Ensemble(made).probabilities(features_of(GOOD))
    assert (Stage.REWRITER, 0) in judged
    assert (Stage.REWRITER, 0) not in Ensemble(made).probabilities(odd)


def test_a_flag_on_the_retriever_is_lifted_when_the_reranker_excluded_the_evidence(
    detector,
) -> None:
    """The verdict says so, and its probability agrees with it."""
    reranked = make_run(rewrites=[QUESTION], selected=["remote"])
    excluded = (
        measured("reranker.best_excluded", 0.8, step=0),
        measured("reranker.best_selected", 0.2, step=0),
    )
    assert detector.judge(reranked, BAD)[Stage.RETRIEVER].verdict is StageVerdict.FAULTY
    verdict = detector.judge(reranked, (*BAD, *excluded))[Stage.RETRIEVER]
    assert verdict.verdict is StageVerdict.OK
    assert verdict.probability < verdict.threshold
    assert "reranker" in verdict.explanation


def test_the_version_names_the_artifact_and_what_moves_its_thresholds(artifact) -> None:
    """It changes whenever a verdict can change."""
    versions = [
        Ensemble(artifact).version,
        Ensemble(artifact, Policy.PAPER).version,
        Ensemble(artifact, thresholds={Stage.RETRIEVER: 0.4}).version,
        Ensemble(artifact, thresholds={Stage.RETRIEVER: 0.5}).version,
    ]
    assert versions[0] == artifact.manifest.version
    assert len(set(versions)) == 4
    assert all(version.startswith(artifact.manifest.version) for version in versions)


def test_thresholds_of_stages_without_models_are_refused(artifact) -> None:
    """They would be ignored otherwise."""
    with pytest.raises(ConfigError, match="no models of assembly"):
        Ensemble(artifact, thresholds={Stage.ASSEMBLY: 0.5})


def test_the_same_run_has_the_same_probabilities_alone_or_among_others(detector) -> None:
    """Nothing is kept between runs."""
    features = [features_of(each) for each in (GOOD, BAD)]
    alone = [detector.probabilities(each) for each in features]
    assert alone == [detector.probabilities(each) for each in (*features, *features)][:2]
    assert (
        detector.threshold(Stage.RETRIEVER)
        == detector.judge(run(), GOOD)[Stage.RETRIEVER].threshold
    )


def test_an_answer_that_declines_is_judged_by_rules_1(artifact) -> None:
    """Training hardly has refusals, and a refusal claims nothing that could be measured."""
    detector = Ensemble(artifact, thresholds={Stage.GENERATOR: 0.0})
    declines = (*GOOD, measured("generator.refuses", 1.0))
    claims = (*GOOD, measured("generator.refuses", 0.0))
    judged = detector.judge(run(), declines)[Stage.GENERATOR]
    assert judged == Rules1().judge(run(), declines)[Stage.GENERATOR]
    assert detector.judge(run(), claims)[Stage.GENERATOR].verdict is StageVerdict.FAULTY


def test_it_reads_what_its_models_and_rules_1_read(artifact) -> None:
    """So that the service measures that and no more."""
    detector = Ensemble(artifact)
    names = {name for name in artifact.manifest.features if not name.startswith("clues.")}
    assert detector.reads == names | Rules1.reads

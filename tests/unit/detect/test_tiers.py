"""The verdicts of the LLM tier."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, make_run
from judged_runs import GENERATOR, RETRIEVER, REWRITER, make_answers, make_judged_runs
from trained_detectors import make_measurements

from otel_raglog.checks.check import measured
from otel_raglog.detect.choosing import build_detector, build_llm_detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.escalation import DEFAULT_ERROR, Band, bands_at
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.tiers import ANSWERS_ALONE, LlmDetector
from otel_raglog.lab.evaluation.detectors import TierTrainer
from otel_raglog.model import FaultType, StageVerdict, UnknownReason, WarningType

LOCAL = make_measurements(retrieved_well=0.9, supported=0.9, dropped=0.0)
GERMAN = make_run(
    "Wie viele Urlaubstage gibt es im Jahr?",
    "Es gibt fünfundzwanzig Tage.",
    prompt="Der Urlaub beträgt fünfundzwanzig Tage.",
    retrieved=(),
)


def run():
    return make_run(rewrites=[QUESTION])


@pytest.fixture(scope="module")
def trained() -> LlmDetector:
    pytest.importorskip("sklearn")
    return TierTrainer(Policy.PAPER, 1).fit(make_judged_runs())


def test_without_answers_the_local_verdicts_stand() -> None:
    """All of them, and those of a question that asks nothing too."""
    detector = LlmDetector(Rules1())
    assert detector.judge(run(), LOCAL) == Rules1().judge(run(), LOCAL)
    thanks = make_run("Thanks a lot!", "You are welcome.")
    answered = (*LOCAL, *make_answers(generator=0.9))
    assert detector.judge(thanks, answered) == Rules1().judge(thanks, LOCAL)


def test_untrained_answers_are_combined_with_the_local_probability() -> None:
    """The stages that they say nothing of keep the local verdict."""
    local = Rules1().judge(run(), LOCAL)
    found = LlmDetector(Rules1()).judge(run(), (*LOCAL, *make_answers(generator=0.98)))
    assert (local[GENERATOR].verdict, found[GENERATOR].verdict) == (
        StageVerdict.OK,
        StageVerdict.FAULTY,
    )
    assert found[GENERATOR].fault_types == (FaultType.UNSUPPORTED_CLAIM,)
    assert found[RETRIEVER] == local[RETRIEVER]
    assert found[REWRITER] == local[REWRITER]


def test_a_stage_that_is_judged_by_step_is_so_with_answers() -> None:
    """What an LLM says of the stage is said of each step."""
    found = LlmDetector(Rules1()).judge(run(), (*LOCAL, *make_answers(rewriter=0.98)))[REWRITER]
    assert found.verdict is StageVerdict.FAULTY
    assert [step.verdict for step in found.steps] == [StageVerdict.FAULTY]
    assert found.step == 0


def test_what_the_local_detector_cannot_read_is_judged_by_answers_alone() -> None:
    """And said to be: another language is no obstacle to an LLM."""
    local = Rules1().judge(GERMAN, LOCAL)[GENERATOR]
    assert local.reason is UnknownReason.ABSTAINED
    said = LlmDetector(Rules1()).judge(GERMAN, (*LOCAL, *make_answers(generator=0.1)))
    assert (said[GENERATOR].verdict, said[GENERATOR].explanation) == (
        StageVerdict.OK,
        ANSWERS_ALONE,
    )
    assert said[GENERATOR].probability == pytest.approx(0.1)


def test_what_is_a_fault_by_definition_stays_one() -> None:
    """However sure the LLM is that nothing is wrong."""
    cut = (*LOCAL, measured("generator.cut_off", 1.0))
    found = LlmDetector(Rules1()).judge(run(), (*cut, *make_answers(generator=0.01)))[GENERATOR]
    assert (found.verdict, found.fault_types) == (
        StageVerdict.FAULTY,
        (FaultType.OUTPUT_TRUNCATED,),
    )


def test_a_retriever_is_cleared_by_the_evidence_flow() -> None:
    """What was asked is in excluded chunks alone: the reranker did it."""
    flow = [
        measured("retriever.flow_excluded_yes", 1.0),
        measured("retriever.flow_passed_yes", 0.0),
    ]
    answers = make_answers(retriever=0.98)
    detector = LlmDetector(Rules1())
    assert detector.judge(run(), (*LOCAL, *answers))[RETRIEVER].verdict is StageVerdict.FAULTY
    assert detector.judge(run(), (*LOCAL, *answers, *flow))[RETRIEVER].verdict is StageVerdict.OK


def test_answers_give_warnings() -> None:
    """By plain thresholds, with any verdict."""
    answers = [*make_answers(retriever=0.1), measured("retriever.graded_partial_coverage", 0.7)]
    found = LlmDetector(Rules1()).judge(run(), (*LOCAL, *answers))[RETRIEVER]
    assert found.verdict is StageVerdict.OK
    assert WarningType.PARTIAL_COVERAGE in found.warnings


def test_models_that_were_trained_on_answers_judge_by_them(trained) -> None:
    """Where local measurements are the same, answers make the difference."""
    doubtful = make_measurements(retrieved_well=0.45, supported=0.45, dropped=None)
    good, bad = (
        trained.judge(make_run(), (*doubtful, *make_answers(generator=sure, retriever=sure)))
        for sure in (0.1, 0.9)
    )
    for stage in (RETRIEVER, GENERATOR):
        assert (good[stage].verdict, bad[stage].verdict) == (StageVerdict.OK, StageVerdict.FAULTY)
        assert bad[stage].threshold == trained.trained.threshold(stage)


def test_the_version_names_both_detectors_and_whether_any_was_trained(trained) -> None:
    """So does ``untrained``."""
    assert LlmDetector(Rules1()).version == "untrained-1+rules-1"
    assert trained.version == f"{trained.trained.version}+{trained.local.version}"
    assert (LlmDetector(Rules1()).untrained, trained.untrained) == (True, False)


def test_bands_of_ones_own_win_over_those_by_default() -> None:
    """Stage by stage."""
    detector = LlmDetector(Rules1(), bands={GENERATOR: Band(0.0, 0.2)})
    assert detector.bands[GENERATOR] == Band(0.0, 0.2)
    assert detector.bands[RETRIEVER] == Band(0.1, 0.9)


def test_a_step_that_left_no_data_stays_unknown() -> None:
    """An LLM was shown the others."""
    failed = replace(run().rewriters[0], origin=replace(run().rewriters[0].origin, error="boom"))
    twice = replace(run(), rewriters=(*run().rewriters, failed))
    found = LlmDetector(Rules1()).judge(twice, (*LOCAL, *make_answers(rewriter=0.98)))[REWRITER]
    assert [step.verdict for step in found.steps] == [StageVerdict.FAULTY, StageVerdict.UNKNOWN]


def test_bands_were_learned_beside_a_trained_local_detector() -> None:
    """The probabilities of rules-1 are no such ones: beside it the default counts."""
    tier = build_llm_detector(Rules1(), model="claude-haiku-5-5")
    assert tier.trained is not None
    assert tier.bands == bands_at(DEFAULT_ERROR, {})
    local = build_detector("local", Policy.MONITORING, {})
    assert isinstance(local, Ensemble)
    beside = build_llm_detector(local, model="claude-haiku-5-5")
    assert beside.trained is not None
    assert beside.trained.escalation is not None
    assert beside.bands == bands_at(beside.trained.escalation.error, local.thresholds)

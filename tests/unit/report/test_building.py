"""Reports."""

from handbook_runs import make_run

from otel_raglog.model import (
    FaultType,
    RunVerdict,
    Stage,
    StageVerdict,
    Tier,
    UnknownReason,
    Verdict,
)
from otel_raglog.report.building import build_report, run_verdict

OK, FAULTY = StageVerdict.OK, StageVerdict.FAULTY
UNKNOWN, ABSENT = StageVerdict.UNKNOWN, StageVerdict.ABSENT


def verdicts(**by_stage: StageVerdict) -> dict[Stage, Verdict]:
    return {
        stage: Verdict(stage, by_stage.get(stage.value, ABSENT), fault_types=()) for stage in Stage
    }


def test_a_run_is_faulty_when_a_stage_is() -> None:
    """Whatever the others are."""
    assert run_verdict(verdicts(rewriter=FAULTY, retriever=UNKNOWN)) is RunVerdict.FAULTY


def test_a_run_is_ok_only_when_retriever_and_generator_were_judged() -> None:
    """Unknown otherwise: not looking is not finding nothing."""
    assert run_verdict(verdicts(retriever=OK, generator=OK, embedder=UNKNOWN)) is RunVerdict.OK
    assert run_verdict(verdicts(retriever=OK, generator=UNKNOWN)) is RunVerdict.UNKNOWN
    assert run_verdict(verdicts(generator=OK)) is RunVerdict.UNKNOWN
    assert run_verdict({}) is RunVerdict.UNKNOWN


def test_a_report_explains_every_stage_and_every_step() -> None:
    """Also those that the detector left out, which are unknown."""
    step = Verdict(
        Stage.REWRITER, FAULTY, fault_types=(FaultType.ADDS_CONSTRAINT,), probability=0.9, step=0
    )
    stage = Verdict(
        Stage.REWRITER,
        FAULTY,
        fault_types=(FaultType.ADDS_CONSTRAINT,),
        probability=0.9,
        step=0,
        steps=(step,),
    )
    report = build_report(
        make_run(), (), {Stage.REWRITER: stage}, "rules-1", Tier.LOCAL, 0.5, quote_text=False
    )
    assert set(report.verdicts) == set(Stage)
    assert all(verdict.explanation for verdict in report.verdicts.values())
    assert report.verdicts[Stage.REWRITER].steps[0].explanation
    assert report.verdicts[Stage.GENERATOR].reason is UnknownReason.ABSTAINED
    assert (report.faulty_stages, report.first_faulty_stage) == ((Stage.REWRITER,), Stage.REWRITER)
    assert (report.detector_version, report.analysis_seconds) == ("rules-1", 0.5)


def test_a_report_of_which_nothing_was_judged_says_so() -> None:
    """With the run's own reason when it has one."""
    report = build_report(make_run(), (), {}, "rules-1", Tier.LOCAL, 0.0, quote_text=False)
    assert (report.verdict, report.skip_reason) == (RunVerdict.UNKNOWN, "nothing_judged")

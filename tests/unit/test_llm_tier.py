"""Which runs an LLM is asked about, and what its answers make of a report."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
from samples import make_report, make_run

from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.judge.asking import Outcome
from otel_raglog.judge.calling import Reason
from otel_raglog.judge.client import Usage
from otel_raglog.judge.redacting import Redactor
from otel_raglog.judge.schedule import Schedule, ScheduleConfig, When
from otel_raglog.llm_tier import Asked, LlmTier, use_of
from otel_raglog.model import (
    JudgeUse,
    Measurement,
    RunVerdict,
    Stage,
    StageVerdict,
    Tier,
    UnknownReason,
    Verdict,
    present,
)

SURE = Measurement("generator.graded_unsupported", Stage.GENERATOR, 0.97)


class FakeAsker:
    """Answers nothing until told."""

    def __init__(self):
        self.asked = []

    def submit(self, run, rank):
        self.asked.append(run)
        return Future()

    def ask(self, run, rank, *, patient):
        assert patient
        return outcome([SURE])

    def close(self, grace_seconds):
        self.closed = grace_seconds


def tier(when=When.ESCALATE, waiting_runs=2, **options):
    asker = FakeAsker()
    schedule = Schedule(ScheduleConfig(when=when), ManualClock())
    detector = LlmDetector(Rules1())
    llm = LlmTier(asker, "m", detector, schedule, waiting_runs=waiting_runs, **options)
    return llm, asker


def verdicts(probability):
    """Return verdicts of which the generator's has that probability, the others being certain."""
    found = {
        stage: Verdict(stage, StageVerdict.OK, probability=0.001, threshold=0.5) for stage in Stage
    }
    found[Stage.GENERATOR] = Verdict(
        Stage.GENERATOR, StageVerdict.OK, probability=probability, threshold=0.5
    )
    return found


def test_always_asks_before_anything_is_measured():
    """The LLM takes longer than the local checks, which go on beside it."""
    subject, asker = tier(When.ALWAYS)
    assert isinstance(subject.before(make_run()), Asked)
    assert len(asker.asked) == 1


def test_escalation_waits_for_the_local_verdicts():
    """It asks where a probability is uncertain, and says so where none is."""
    subject, asker = tier()
    assert subject.before(make_run()) is None
    assert subject.after(make_run(), verdicts(0.001)) == JudgeUse("m", skipped="not_uncertain")
    assert not asker.asked
    assert isinstance(subject.after(make_run(), verdicts(0.5)), Asked)


def test_what_the_local_tier_abstained_on_is_worth_asking_about():
    """Another language, code: an LLM may know."""
    subject, _ = tier()
    found = verdicts(0.001)
    found[Stage.GENERATOR] = Verdict(
        Stage.GENERATOR, StageVerdict.UNKNOWN, reason=UnknownReason.ABSTAINED
    )
    assert isinstance(subject.after(make_run(), found), Asked)


@pytest.mark.parametrize(
    "run", [make_run(skip_reason="no_question"), make_run(question=present("Thanks!"))]
)
def test_what_cannot_be_judged_is_never_asked_about(run):
    """A skipped run, and one in which nothing is asked: not even with always."""
    subject, asker = tier(When.ALWAYS)
    assert subject.before(run) == JudgeUse("m", skipped="nothing_to_judge")
    assert not asker.asked


def test_a_disliked_run_is_asked_about_at_once():
    """However certain the local tier is going to be."""
    subject, _ = tier()
    assert isinstance(subject.before(make_run(), disliked=True), Asked)
    assert isinstance(subject.again(make_run()), Asked)


def test_no_more_runs_wait_than_may():
    """A further one keeps its local verdict, until one was answered."""
    subject, _ = tier(When.ALWAYS, waiting_runs=1)
    first = subject.before(make_run())
    assert subject.before(make_run()) == JudgeUse("m", skipped="overloaded")
    first.future.set_result(None)
    assert isinstance(subject.before(make_run()), Asked)


def outcome(measurements=(), **changes):
    """Return what came of asking."""
    return Outcome(
        JudgeAnswers(id="r"),
        tuple(measurements),
        **{
            "calls": 5,
            "usage": Usage(100, 20, 30, 10),
            "cost_usd": 0.01,
            "seconds": 1.5,
            **changes,
        },
    )


def future_of(result):
    future = Future()
    future.set_result(result)
    return future


def test_answers_make_a_report_of_the_tier_llm():
    """Local and LLM measurements are judged together; the report says by which detector."""
    subject, _ = tier()
    local = make_report()
    report = subject.final(local, future_of(outcome([SURE])))
    assert report.tier is Tier.LLM
    assert report.detector_version != local.detector_version
    assert report.verdicts[Stage.GENERATOR].verdict is StageVerdict.FAULTY
    assert report.verdict is RunVerdict.FAULTY
    assert SURE in report.measurements
    assert report.judge.calls == 5
    assert report.cost_usd == 0.01


def test_without_an_answer_the_local_report_stands():
    """It says which checks abstained, and why, and what that cost."""
    subject, _ = tier()
    local = make_report()
    report = subject.final(local, future_of(outcome(abstained={"statements": Reason.TIMEOUT})))
    assert report.tier is Tier.LOCAL
    assert report.verdicts == local.verdicts
    assert report.judge.abstained == (("statements", "timeout"),)


def test_a_defect_of_the_asker_leaves_the_local_report():
    """It is named an error; nothing of the exception's text is on the report."""
    subject, _ = tier()
    future = Future()
    future.set_exception(ValueError("secret"))
    report = subject.final(make_report(), future)
    assert report.tier is Tier.LOCAL
    assert report.judge.abstained == (("all", "error"),)


def test_what_was_used_is_told_with_cached_tokens_apart():
    """Prompt tokens are all that were sent."""
    use = use_of(outcome(), "m")
    assert (use.prompt_tokens, use.cached_tokens, use.completion_tokens) == (140, 30, 20)


def test_a_run_of_which_no_call_was_made_was_skipped():
    """For the budget, or because calls have failed of late; no check is said to have failed."""
    refused = dict.fromkeys(("statements", "verification"), Reason.BUDGET)
    use = use_of(outcome(abstained=refused, calls=0, usage=Usage(), cost_usd=0.0), "m")
    assert (use.skipped, use.abstained) == ("budget", ())
    mixed = {"statements": Reason.BUDGET, "verification": Reason.ERROR}
    assert not use_of(outcome(abstained=mixed, calls=0), "m").skipped
    assert use_of(outcome(abstained=refused), "m").abstained == (
        ("statements", "budget"),
        ("verification", "budget"),
    )


def test_who_is_patient_asks_again_when_tokens_are_left_again():
    """A command waits for the minute's limit; the service keeps the local verdict."""
    refused = outcome(abstained={"statements": Reason.BUDGET}, calls=0, retry_after_seconds=20.0)
    patient, _ = tier(patient=True)
    assert patient.final(make_report(), future_of(refused)).tier is Tier.LLM
    hurried, _ = tier()
    assert hurried.final(make_report(), future_of(refused)).judge.skipped == "budget"


def test_what_is_redacted_is_not_shown():
    """The LLM sees the run without it; the report keeps the run as it is."""
    subject, asker = tier(When.ALWAYS, redact=Redactor(["ferry"]))
    subject.before(make_run())
    assert asker.asked[0].question.value == "When does the night [redacted] leave?"


def test_closing_it_closes_the_asker():
    """So that no call outlives the service for longer than it may."""
    subject, asker = tier()
    subject.close(1.5)
    assert asker.closed == 1.5


def test_a_run_that_cannot_be_sent_leaves_its_place_to_another():
    """Else one after the other would be lost, until nobody were asked any more."""
    subject, asker = tier(When.ALWAYS, waiting_runs=1)
    submit = asker.submit

    def broken(run, rank):
        raise ValueError("a defect")

    asker.submit = broken
    with pytest.raises(ValueError, match="a defect"):
        subject.before(make_run())
    asker.submit = submit
    assert isinstance(subject.before(make_run()), Asked)


def test_the_llm_is_shown_the_redacted_run_alone():
    """Before its verdict, after it, and when its user disliked it."""
    run = replace(make_run(), view=replace(make_run(), question=present("What of [redacted]?")))
    llm, asker = tier(When.ALWAYS, waiting_runs=5)
    llm.before(run)
    llm.after(run, verdicts(0.5))
    llm.again(run)
    assert asker.asked == [run.view] * 3


def test_a_run_of_which_nothing_may_be_shown_is_not_asked_about():
    """And says why."""
    run = replace(make_run(), view=replace(make_run(), skip_reason="redacted"))
    llm, asker = tier(When.ALWAYS)
    assert llm.before(run).skipped == llm.again(run).skipped == "redacted"
    assert llm.after(run, verdicts(0.5)).skipped == "redacted"
    assert asker.asked == []

"""What every detector does alike."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, make_run

from otel_raglog.checks.check import measured
from otel_raglog.detect.judging import (
    ignored_types,
    judge_stages,
    not_measured,
    of_step,
    values_of,
    warnings_of,
)
from otel_raglog.model import (
    FaultType,
    Measurement,
    MeasurementStatus,
    Stage,
    StageState,
    StageVerdict,
    UnknownReason,
    Verdict,
    WarningType,
)


def by_value(stage, step, measurements, _ignored):
    probability = max(values_of(measurements).values(), default=0.0)
    verdict = StageVerdict.FAULTY if probability >= 0.5 else StageVerdict.OK
    return Verdict(stage, verdict, probability=probability, threshold=0.5, step=step)


def test_absent_stages_are_not_judged_and_the_others_are() -> None:
    """A verdict for every stage; a run without a reranker has none to judge."""
    verdicts = judge_stages(make_run(), (), by_value, "x-1")
    assert set(verdicts) == set(Stage)
    assert verdicts[Stage.RERANKER].verdict is StageVerdict.ABSENT
    assert verdicts[Stage.RETRIEVER].verdict is StageVerdict.OK


def test_the_stage_takes_its_worst_step() -> None:
    """Of a rewriter, embedder or reranker; each step has its own measurements."""
    run = make_run(rewrites=[QUESTION])
    run = replace(
        run,
        rewriters=run.rewriters * 2,
        stages={**run.stages, Stage.REWRITER: StageState(2)},
    )
    measurements = (measured("rewriter.x", 0.2, step=0), measured("rewriter.x", 0.9, step=1))
    assert [m.value for m in of_step(measurements, 1)] == [0.9]
    verdict = judge_stages(run, measurements, by_value, "x-1")[Stage.REWRITER]
    assert (verdict.verdict, verdict.probability, verdict.step) == (StageVerdict.FAULTY, 0.9, 1)
    assert [step.probability for step in verdict.steps] == [0.2, 0.9]


def test_a_faulty_step_is_not_hidden_by_a_sound_one_of_a_higher_threshold() -> None:
    """Steps may be judged by different detectors."""
    twice = make_run(rewrites=[QUESTION])
    twice = replace(twice, rewriters=twice.rewriters * 2)

    def judge(stage, step, _measurements, _ignored):
        probability, threshold = ((0.56, 0.5), (0.76, 0.79))[step or 0]
        verdict = StageVerdict.FAULTY if probability >= threshold else StageVerdict.OK
        return Verdict(stage, verdict, probability=probability, threshold=threshold, step=step)

    verdict = judge_stages(twice, (), judge, "x-1")[Stage.REWRITER]
    assert (verdict.verdict, verdict.step) == (StageVerdict.FAULTY, 0)


def test_another_language_is_an_abstention_that_names_the_detector() -> None:
    """Whatever the judge would say."""
    text = "Wie viele Urlaubstage bekommen Vollzeitbeschäftigte in diesem Unternehmen pro Jahr?"
    verdict = judge_stages(make_run(text, answer=text), (), by_value, "x-1")[Stage.GENERATOR]
    assert verdict.reason is UnknownReason.ABSTAINED
    assert "x-1" in verdict.explanation


SHELL = """```sh
handbook --show vacation
```"""


@pytest.mark.parametrize(
    "answer",
    [SHELL, f"\n{SHELL}\n\n{SHELL}", "SELECT days FROM vacation WHERE kind = 'full-time';"],
)
def test_an_answer_in_code_is_an_abstention(answer) -> None:
    """Nothing of it can be compared with the words of documents; the other stages are judged."""
    verdicts = judge_stages(make_run(answer=answer), (), by_value, "x-1")
    assert verdicts[Stage.GENERATOR].reason is UnknownReason.ABSTAINED
    assert "code" in verdicts[Stage.GENERATOR].explanation
    assert verdicts[Stage.RETRIEVER].verdict is StageVerdict.OK
    said = make_run(answer=f"They get 25 days:\n{answer}")
    assert judge_stages(said, (), by_value, "x-1")[Stage.GENERATOR].verdict is StageVerdict.OK


def test_nothing_measured_is_unknown_with_its_reason() -> None:
    """A check that failed is an error, silence an abstention."""
    failed = Measurement("rules.x", Stage.RETRIEVER, None, MeasurementStatus.FAILED)
    assert not_measured(Stage.RETRIEVER, [failed], None).reason is UnknownReason.ERROR
    assert not_measured(Stage.RETRIEVER, [], None).reason is UnknownReason.ABSTAINED


def test_another_wording_is_ignored_when_a_rewriter_may_have_gone_unseen() -> None:
    """The embedder is not blamed for what a rewriter without a span did."""
    run = make_run(embedded=[QUESTION])
    unseen = StageState(0, reason=UnknownReason.NOT_CAPTURED)
    hidden = replace(run, stages={**run.stages, Stage.REWRITER: unseen})
    assert ignored_types(run, Stage.EMBEDDER) == frozenset()
    assert ignored_types(hidden, Stage.EMBEDDER) == {FaultType.ALTERED_INPUT}
    assert ignored_types(hidden, Stage.RETRIEVER) == frozenset()


def test_warnings_go_by_plain_thresholds() -> None:
    """From the measurements of the stage."""
    found = warnings_of(Stage.ASSEMBLY, {"assembly.dropped": 1.0})
    assert found == (WarningType.CHUNK_DROPPED,)
    assert warnings_of(Stage.ASSEMBLY, {"assembly.dropped": 0.0}) == ()

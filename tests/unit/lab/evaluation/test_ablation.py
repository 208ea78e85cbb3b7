"""What is judged when a group of checks is missing."""

from evaluation_runs import RETRIEVER, FakeDetector, FakeTrainer, bad, labelled, quiet
from handbook_runs import FakeCrossEncoder, FakeEncoder
from judged_runs import make_answers

from otel_raglog.checks.registry import GROUPS, build_checks
from otel_raglog.lab.evaluation.ablation import (
    JUDGE_CHECK_NAMES,
    LOCAL,
    ablate,
    ablate_judge,
    ablate_retrained,
    groups_of,
    judge_variants,
    variants_of,
    without_checks,
)
from otel_raglog.lab.evaluation.confusion import slice_of
from otel_raglog.lab.evaluation.outcomes import outcomes_of
from otel_raglog.lab.evaluation.retraining import splits_of
from otel_raglog.model import StageVerdict

GROUP_OF = {"retriever.bad": "rules", "retriever.best": "similarity"}


def test_every_measurement_has_a_group():
    """That of its check; of two groups, each alone is what is left without the other."""
    group_of = groups_of(build_checks(FakeEncoder(), FakeCrossEncoder()))
    assert group_of["retriever.empty"] == "rules"
    assert group_of["rules.retriever"] == "rules"
    assert set(group_of.values()) == set(GROUPS)
    assert [name for name, _ in variants_of(GROUP_OF)] == [
        "all", "without rules", "without similarity",
    ]  # fmt: skip


def test_with_three_groups_each_is_tried_alone_too():
    """And with one there is nothing to leave out."""
    three = {**GROUP_OF, "retriever.span": "crossencoder"}
    assert dict(variants_of(three))["crossencoder alone"] == ("crossencoder",)
    assert dict(variants_of(three))["without rules"] == ("similarity", "crossencoder")
    assert variants_of({"retriever.bad": "rules"}) == ()


def test_the_same_detector_without_a_group():
    """It abstains without the only measurement that it reads."""
    runs = [labelled({RETRIEVER: True}, measurements=bad(0.9))]
    found = {each.name: each.judged[0] for each in ablate(runs, GROUP_OF, FakeDetector())}
    verdicts = {name: each.verdicts[RETRIEVER].verdict for name, each in found.items()}
    assert verdicts == {
        "all": StageVerdict.FAULTY,
        "without rules": StageVerdict.UNKNOWN,
        "without similarity": StageVerdict.FAULTY,
    }


def test_trained_anew_without_a_group():
    """Neither training nor judging sees it; every run still counts once."""
    runs = [
        labelled({RETRIEVER: n % 2 == 0}, group=f"q{n}", measurements=bad(0.9 - n % 2))
        for n in range(6)
    ]
    trainer = FakeTrainer()
    splits = splits_of(runs, folds=3, partitions=2)
    found = {each.name: each for each in ablate_retrained(splits, GROUP_OF, trainer, quiet)}
    assert all(each.retrained for each in found.values())
    assert slice_of(outcomes_of(found["without rules"].judged), draws=0).runs == 6
    without = trainer.given[len(splits) : 2 * len(splits)]
    assert all(run.measurements == () for given in without for run in given)


def test_each_check_of_an_llm_is_left_out_and_tried_alone():
    """Beside the local checks, which stay."""
    variants = dict(judge_variants())
    assert len(variants) == 2 * len(JUDGE_CHECK_NAMES)
    assert "judge.statements" not in variants["without judge.statements"]
    assert variants["local and judge.statements"] == ("judge.statements",)
    run = labelled({RETRIEVER: True}, measurements=(*bad(0.9), *make_answers(generator=0.9)))
    left = {each.name for each in without_checks(run, ["judge.statements"]).measurements}
    assert left == {"retriever.bad", "generator.statements_faulty"}


def test_without_an_llms_check_training_does_not_see_its_answers():
    """Nor does judging."""
    answers = make_answers(generator=0.9)
    runs = [
        labelled({RETRIEVER: n % 2 == 0}, group=f"q{n}", measurements=(*bad(0.9 - n % 2), *answers))
        for n in range(6)
    ]
    trainer = FakeTrainer()
    found = list(ablate_judge(splits_of(runs, folds=3, partitions=1), trainer, quiet))
    assert [each.groups[0] for each in found] == [LOCAL] * len(found)
    statements = [
        {m.name for run in given for m in run.measurements} >= {"generator.statements_faulty"}
        for given in trainer.given[::3]
    ]
    assert statements == ["judge.statements" in each.groups for each in found]

"""From examples to a detector."""

from dataclasses import replace

import numpy as np
import pytest
from judged_runs import make_judged_runs
from trained_detectors import SMALL, make_examples

from otel_raglog.detect.policies import Policy
from otel_raglog.detect.training.examples import names_in, tables_of
from otel_raglog.detect.training.settings import WITH_ANSWERS
from otel_raglog.detect.training.training import (
    folds_of,
    out_of_fold,
    to_artifact,
    train,
    train_detector,
)
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation.detectors import example_of
from otel_raglog.model import Stage


def test_out_of_fold_predictions_come_from_models_that_saw_no_run_of_the_question(
    monkeypatch,
) -> None:
    """Told by what each model was fitted to."""
    from otel_raglog.detect.training import training

    examples = make_examples(30)
    folds = folds_of(examples, 1, partitions=1)
    table = next(t for t in tables_of(examples, names_in(examples)) if t.stage is Stage.RETRIEVER)
    seen = []

    class Spy:
        def __init__(self, inside):
            self.groups = {examples[row].group for row in inside.rows}

        def raw(self, values):
            tested = {
                examples[row].group
                for row, own in zip(table.rows, table.values, strict=True)
                if any(np.array_equal(own, each, equal_nan=True) for each in values)
            }
            seen.append(self.groups & tested)
            return np.zeros(len(values))

    monkeypatch.setattr(training, "fit", lambda inside, _settings: Spy(inside))
    predicted = out_of_fold(table, folds, SMALL)
    assert seen == [set(), set(), set()]
    assert not np.isnan(predicted.raw).any()


def test_a_detector_separates_what_it_was_trained_to_separate() -> None:
    """Thresholds of both policies hold their false-positive rates out of fold."""
    trained = train(make_examples(120), SMALL)
    assert set(trained.thresholds) == set(Policy)
    each = trained.stages[Stage.RETRIEVER].scored
    flagged = each.probability >= trained.thresholds[Policy.PAPER][Stage.RETRIEVER]
    assert flagged[~each.faulty].mean() <= 0.10
    assert flagged[each.faulty].mean() > 0.7


def test_stages_with_too_few_faults_are_left_to_rules_1() -> None:
    """And nothing at all is an error."""
    examples = make_examples(30)
    spared = [
        replace(
            each,
            faulty={stage: bad and stage is Stage.RETRIEVER for stage, bad in each.faulty.items()},
        )
        for each in examples
    ]
    assert set(train(spared, SMALL).stages) == {Stage.RETRIEVER}
    with pytest.raises(BadInput, match="nothing to train on"):
        train(examples[:2], SMALL)


def test_training_twice_gives_the_same_detector() -> None:
    """Its version is a hash of all that decides verdicts."""
    examples = make_examples()
    assert train_detector(examples, SMALL).version == train_detector(examples, SMALL).version


def test_a_stage_of_which_nothing_was_measured_is_left_to_rules_1() -> None:
    """As when one group of checks is tried alone, which measures no embedder."""
    blind = [
        replace(
            each,
            features=replace(
                each.features,
                shared={
                    name: value
                    for name, value in each.features.shared.items()
                    if "rewriter" not in name
                },
                steps={},
            ),
        )
        for each in make_examples(60)
    ]
    assert Stage.REWRITER not in train(blind, SMALL).stages
    assert {Stage.RETRIEVER, Stage.GENERATOR} <= train(blind, SMALL).stages.keys()
    nothing = [replace(each, features=replace(each.features, shared={})) for each in blind]
    with pytest.raises(BadInput, match="measurements of it"):
        train(nothing, SMALL)


def grouped(groups, of_stage=Stage.RETRIEVER):
    """Return examples of the (name, faulty) pairs' groups, in which one stage alone is labelled."""
    made = make_examples(400)
    pools = {
        bad: iter([each for each in made if each.faulty[of_stage] is bad]) for bad in (True, False)
    }
    return [
        replace(next(pools[bad]), group=name, faulty={of_stage: bad}, faulty_elsewhere=False)
        for name, bad in groups
    ]


@pytest.mark.parametrize(
    ("groups", "held"),
    [
        ([("q", n % 2 == 0) for n in range(40)], "20 faulty of 1 groups and 20 sound of 1 groups"),
        (
            [*[("q", True)] * 20, *[(f"q{n}", False) for n in range(20)]],
            "20 faulty of 1 groups and 20 sound of 20 groups",
        ),
        (
            [*[("a", True), ("b", True)] * 20, ("c", True), *[(f"q{n % 3}", False) for n in range(12)]],
            "41 faulty of 3 groups and 12 sound of 3 groups",
        ),
    ],
)  # fmt: skip
def test_runs_of_too_few_groups_are_not_trained_on(groups, held) -> None:
    """No fold could test what another learned; the error counts groups. Last: one fold has all sound."""
    with pytest.raises(BadInput, match=f"group.*retriever: {held}"):
        train(grouped(groups), SMALL)


def test_a_stage_with_faults_of_one_group_leaves_the_others_trained() -> None:
    """It alone is left to rules-1."""
    few = [
        replace(each, faulty=each.faulty | {Stage.GENERATOR: each.group in {"q1", "q2"}})
        for each in make_examples(60)
    ]
    more = [replace(few[2], run_id=f"r{n}") for n in range(20)]
    assert Stage.GENERATOR not in train([*few, *more], SMALL).stages


def test_a_run_with_a_fault_of_a_stage_that_is_not_trained_is_not_sound(monkeypatch) -> None:
    """Nor one whose fault could not be judged."""
    from otel_raglog.detect.training import training

    told = []

    def spy(policy, scored, sound):
        told.append(sound)
        return dict.fromkeys(scored, 0.5)

    monkeypatch.setattr(training, "thresholds", spy)
    first, second, *others = make_examples(60)
    sound = dict.fromkeys(first.faulty, False)
    first = replace(first, faulty=sound | {Stage.ASSEMBLY: True})
    second = replace(second, faulty=sound, faulty_elsewhere=True)
    third = replace(others[0], faulty=sound)
    train([first, second, third, *others[1:]], SMALL)
    assert told[0][0] == 2


def test_only_runs_with_answers_are_calibrated_and_thresholds_chosen_on() -> None:
    """The others are trained on; of them the local detector's verdict will stand."""
    examples = [each for run in make_judged_runs(answered=45) if (each := example_of(run))]
    trained = train(examples, replace(WITH_ANSWERS, partitions=1))
    for stage in (Stage.RETRIEVER, Stage.GENERATOR):
        assert trained.stages[stage].scored.rows.tolist() == list(range(45))


def test_settings_that_concern_answers_are_written_only_with_them() -> None:
    """A local detector's manifest stays what it was."""
    examples = make_examples()
    local = to_artifact(train(examples, SMALL), examples, SMALL)[0]
    assert "dropped_copies" not in local.manifest.settings
    settings = replace(SMALL, dropped_copies=1)
    other = to_artifact(train(examples, settings), examples, settings)[0]
    assert other.manifest.settings["dropped_copies"] == 1

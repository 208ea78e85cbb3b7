"""Labels and verdicts as arrays."""

import numpy as np
from evaluation_runs import GENERATOR, RETRIEVER, FakeDetector, bad, judged, labelled

from otel_raglog.lab.evaluation.outcomes import RUN, STAGES, UNJUDGED, judge_all, outcomes_of
from otel_raglog.model import StageVerdict

AT = STAGES.index(RETRIEVER)
ANSWER = STAGES.index(GENERATOR)


def test_a_stage_that_was_not_judged_is_not_flagged_and_says_why():
    """An abstention is no verdict of ok; it is counted by its reason."""
    run = labelled({RETRIEVER: True, GENERATOR: False})
    found = outcomes_of([judged(run, {RETRIEVER: None, GENERATOR: 0.1})])
    assert not found.flagged[0, AT]
    assert UNJUDGED[found.unjudged[0, AT]] == "abstained"
    assert np.isnan(found.probability[0, AT])
    assert found.unjudged[0, ANSWER] == -1


def test_a_labelled_stage_that_the_run_lacks_counts_as_absent():
    """It stays among the labelled ones."""
    found = outcomes_of([judged(labelled({RETRIEVER: True}), {GENERATOR: 0.1})])
    assert found.labelled[0, AT]
    assert UNJUDGED[found.unjudged[0, AT]] == "absent"


def test_a_run_is_flagged_as_its_user_sees_it():
    """Through any stage, labelled or not; it is faulty through a labelled one."""
    run = labelled({GENERATOR: False})
    found = outcomes_of([judged(run, {RETRIEVER: 0.9, GENERATOR: 0.1})])
    assert (found.flagged[0, RUN], found.faulty[0, RUN]) == (True, False)
    assert not found.labelled[0, AT]


def test_a_run_that_was_judged_several_times_counts_once():
    """Each of its rows by its share."""
    one, other = labelled({RETRIEVER: True}), labelled({RETRIEVER: False}, group="q2")
    found = outcomes_of(
        [judged(one, {RETRIEVER: p}, repeat) for repeat, p in enumerate((0.9, 0.1))]
        + [judged(other, {RETRIEVER: 0.1})]
    )
    assert found.weight.tolist() == [0.5, 0.5, 1.0]
    assert found.group.tolist() == [0, 0, 1]
    assert found.repeat.tolist() == [0, 1, 0]


def test_the_detector_is_given_no_labels():
    """It sees run and measurements alone."""
    runs = [labelled({RETRIEVER: faulty}, measurements=bad(0.9)) for faulty in (True, False)]
    verdicts = [each.verdicts for each in judge_all(runs, FakeDetector())]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][RETRIEVER].verdict is StageVerdict.FAULTY

"""What is written down to be read one by one."""

import json

from evaluation_runs import RETRIEVER, bad, judged, labelled, retrievals

from otel_raglog.lab.evaluation.mistakes import mistakes_in


def test_misses_and_false_alarms_surest_first():
    """What was right is not in it; what was not judged comes last."""
    rows = retrievals([(True, 0.9), (True, 0.4), (False, 0.95), (True, None), (False, None)])
    found = list(mistakes_in(rows))
    assert [(each["mistake"], each["probability"]) for each in found] == [
        ("false_alarm", 0.95),
        ("missed", 0.4),
        ("missed", None),
    ]
    assert found[-1]["reason"] == "abstained"


def test_a_mistake_says_what_there_is_to_know():
    """Labels, verdict and the stage's measurements, as JSON."""
    run = labelled(
        {RETRIEVER: True},
        types={RETRIEVER: ["empty_result"]},
        injected=(RETRIEVER, "evidence_removed"),
        measurements=bad(0.25),
    )
    (found,) = mistakes_in([judged(run, {RETRIEVER: 0.25})])
    assert json.loads(json.dumps(found)) == {
        "run_id": "r1",
        "group": "q1",
        "pipeline": "dense",
        "repeat": 0,
        "stage": "retriever",
        "mistake": "missed",
        "labelled_types": ["empty_result"],
        "injected": {"stage": "retriever", "type": "evidence_removed"},
        "verdict": "ok",
        "reason": None,
        "probability": 0.25,
        "threshold": 0.5,
        "fault_types": [],
        "measurements": {"retriever.bad": 0.25},
    }

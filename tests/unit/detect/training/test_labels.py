"""What of a record is a label."""

import pytest

from otel_raglog.detect.training.labels import read_all_labels, read_labels
from otel_raglog.errors import BadInput
from otel_raglog.model import Stage

RECORD = {
    "id": "r1",
    "pipeline": "hr-bot",
    "group": "q17",
    "labels": {
        "retriever": {"faulty": True, "types": ["no_relevant_chunk"]},
        "generator": {"faulty": False, "types": []},
    },
    "injected": {"stage": "retriever", "type": "evidence_removed", "before": ["…"]},
}


def test_labels_of_a_record():
    """Per labelled stage whether it is faulty; types of faulty ones; what was injected where."""
    labels = read_labels(RECORD)
    assert (labels.run_id, labels.pipeline, labels.group) == ("r1", "hr-bot", "q17")
    assert labels.faulty == {Stage.RETRIEVER: True, Stage.GENERATOR: False}
    assert labels.types == {Stage.RETRIEVER: ("no_relevant_chunk",)}
    assert labels.injected == (Stage.RETRIEVER, "evidence_removed")
    assert labels.run_faulty


@pytest.mark.parametrize(
    "labels", [None, {}, "", "null", {"retriever": None}, {"retriever": {"faulty": None}}]
)
def test_a_record_without_labels_has_none(labels):
    """Whatever way there is to say nothing."""
    assert read_labels({**RECORD, "labels": labels}) is None
    assert read_labels({"id": "r1"}) is None


def test_labels_as_json_in_a_text_column():
    """As CSV and parquet files have them."""
    text = {
        **RECORD,
        "labels": '{"retriever": {"faulty": true, "types": ["no_relevant_chunk"]}}',
        "injected": '{"stage": "retriever", "type": "evidence_removed"}',
    }
    labels = read_labels(text)
    assert labels.faulty == {Stage.RETRIEVER: True}
    assert labels.injected == (Stage.RETRIEVER, "evidence_removed")
    assert read_labels({**text, "injected": "null"}).injected is None


def test_a_record_without_a_group_is_one_of_its_own():
    """So that it is drawn alone."""
    assert read_labels({"id": "r9", "labels": RECORD["labels"]}).group == "r9"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"labels": {"retreiver": {"faulty": True}}}, "labels.retreiver"),
        ({"labels": {"retriever": True}}, "labels.retriever"),
        ({"labels": {"retriever": {"faulty": "perhaps"}}}, "labels.retriever.faulty"),
        ({"labels": "faulty"}, "labels"),
        ({"injected": {"stage": "nowhere", "type": "x"}}, "injected.stage"),
    ],
)
def test_a_malformed_label_is_named(wrong, named):
    """With the record's id."""
    with pytest.raises(BadInput, match=rf"'r1'.*{named}"):
        read_labels({**RECORD, **wrong})


def test_a_group_may_be_the_number_0():
    """It keeps its runs together as any other does."""
    assert read_labels({**RECORD, "group": 0}).group == "0"


def test_one_record_with_malformed_labels_costs_itself_alone():
    """It is named; one without labels is not."""
    text = {"retriever": {"faulty": True, "types": "incomplete"}}
    labels, problems = read_all_labels([RECORD, {"id": "r2"}, {"id": "r3", "labels": text}])
    assert [each and each.run_id for each in labels] == ["r1", None, None]
    assert len(problems) == 1
    assert "'r3': labels.retriever.types" in problems[0]

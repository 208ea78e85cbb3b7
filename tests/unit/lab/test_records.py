"""Records: executions to run records, and files that grow."""

import json

import pytest
from lab_kit import small_lab

from otel_raglog.errors import BadInput
from otel_raglog.lab.records import Identity, RecordFile, read_records
from otel_raglog.mapping.record import run_from_record


@pytest.fixture(scope="module")
def records():
    """One run of each pipeline."""
    lab = small_lab()
    corpus = lab.corpora[0]
    found = [lab.run(corpus, corpus.questions[0], pipeline) for pipeline in lab.pipelines]
    return [record for record in found if record is not None]


def test_every_stage_of_a_run_is_read_back(records):
    """As many steps as the pipeline has stages."""
    for record in records:
        run = run_from_record(record)
        assert bool(run.rewriters) is ("rewrites" in record)
        assert bool(run.embedders) is ("embedder_input" in record)
        assert bool(run.rerankers) is ("reranked" in record)
        assert run.retrievers
        assert run.assemblies
        assert run.answer.value == record["answer"]


def test_records_are_json_and_tell_what_is_known(records):
    """Group, answers and gold documents are for scoring alone."""
    for record in records:
        assert json.loads(json.dumps(record, allow_nan=False)) == record
        assert record["group"] == "towns:q0"
        assert record["reference"]["answers"] == ["1931"]
        assert record["injected"] is None


def test_ids_tell_runs_apart():
    """By fault and seed too; a twin is the same run without the fault."""
    identity = Identity("towns", "q0", "dense", "cut_off", 3)
    assert identity.id == "towns--q0--dense--cut_off--s3"
    assert identity.clean.id == "towns--q0--dense--natural--s3"


def test_half_a_line_of_an_interrupted_run_is_dropped(tmp_path):
    """What is whole stays, and the next record begins a line of its own."""
    path = tmp_path / "deep" / "runs.jsonl"
    RecordFile(path).append({"id": "a", "text": "\ud800"})
    with path.open("a") as file:
        file.write('{"id": "b", "que')
    assert [record["id"] for record in read_records(path)] == ["a"]
    RecordFile(path).append({"id": "c"})
    assert [record["id"] for record in read_records(path)] == ["a", "c"]


def test_a_wrong_line_is_named(tmp_path):
    """A file that is not there holds nothing."""
    assert list(read_records(tmp_path / "none.jsonl")) == []
    path = tmp_path / "runs.jsonl"
    path.write_text('{"id": "a"}\n{"no": 1}\n')
    with pytest.raises(BadInput, match="line 2: a run record with an id"):
        list(read_records(path))
    path.write_text("{\n")
    with pytest.raises(BadInput, match="line 1: no JSON"):
        list(read_records(path))

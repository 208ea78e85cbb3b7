"""Files of a release, merged run by run."""

import gzip
import json

import pytest
from raglog_release import label_line, run_line, trace_line, write_lines, write_release

from otel_raglog.errors import BadInput
from otel_raglog.lab.raglog_fields import Fields
from otel_raglog.lab.raglog_lines import read_release


def only(folder):
    (run,) = read_release(folder, Fields()).runs.values()
    return run


def test_lines_of_one_run_are_merged_whatever_file_they_are_in(tmp_path):
    """It is named by the file and line that come first."""
    release = read_release(write_release(tmp_path, 4), Fields())
    assert len(release.runs) == 4
    run = next(iter(release.runs.values()))
    assert run.data.keys() >= {"run_id", "question", "trace", "labels"}
    assert run.where.endswith("labels.jsonl, line 1")
    assert release.problems == release.notes == []


def test_runs_without_an_id_are_known_by_data_set_pipeline_and_question(tmp_path):
    """The same question of another pipeline is another run."""
    lines = [{k: v for k, v in run_line(number).items() if k != "run_id"} for number in (0, 1)]
    write_lines(tmp_path / "runs.jsonl", lines)
    label = {
        **{k: lines[0][k] for k in ("dataset", "pipeline", "question_id")},
        "labels": {"retriever": 1},
    }
    write_lines(tmp_path / "labels.jsonl", [label])
    runs = [*read_release(tmp_path, Fields()).runs.values()]
    assert len(runs) == 2
    assert runs[0].data["labels"] == {"retriever": 1}


def test_json_and_gzip_are_read_too(tmp_path):
    """A list, a list under a name, or objects by id; folders below as well; hidden files not."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.json").write_text(json.dumps([run_line(0)]))
    (tmp_path / "b.json").write_text(json.dumps({"traces": [trace_line(0)]}))
    label = label_line(0)
    (tmp_path / "c.json").write_text(json.dumps({label.pop("run_id"): label}))
    packed = gzip.compress(json.dumps(run_line(1)).encode())
    (tmp_path / "sub" / "d.jsonl.gz").write_bytes(packed)
    write_lines(tmp_path / ".hidden.jsonl", [run_line(7)])
    release = read_release(tmp_path, Fields())
    assert len(release.runs) == 2
    assert next(iter(release.runs.values())).data.keys() >= {"trace", "labels", "question"}


def test_traces_may_be_lists_of_stages(tmp_path):
    """Or JSON in a text; both become mappings."""
    trace = [
        {"stage": "query_rewriter", "output": "x"},
        {"stage": "retrieval", "output": []},
    ]
    write_lines(tmp_path / "a.jsonl", [{"id": "r", "question": "q", "trace": json.dumps(trace)}])
    found = only(tmp_path).data["trace"]
    assert (found["rewriter"]["output"], found["retriever"]["output"]) == ("x", [])


def test_a_line_may_be_one_stage_of_a_run(tmp_path):
    """As logs have them."""
    lines = [
        {"run_id": "r", "question": "q", "stage": "rewriter", "output": "x"},
        {"run_id": "r", "question": "q", "stage": "generator", "output": "y", "faulty": True},
    ]
    write_lines(tmp_path / "a.jsonl", lines)
    data = only(tmp_path).data
    assert data["rewriter"]["output"] == "x"
    assert data["generator"] == {"stage": "generator", "output": "y", "faulty": True}


def test_labels_may_stand_under_the_names_of_stages(tmp_path):
    """A number there is no trace of the stage."""
    write_lines(tmp_path / "a.jsonl", [{"run_id": "r", "rewriter": 1, "retriever": "ok"}])
    write_lines(
        tmp_path / "b.jsonl", [{"run_id": "r", "question": "q", "rewriter": {"output": "x"}}]
    )
    data = only(tmp_path).data
    assert data["labels"] == {"rewriter": 1, "retriever": "ok"}
    assert data["rewriter"] == {"output": "x"}


def test_passages_of_a_corpus_are_no_runs(tmp_path):
    """Their texts are kept by id."""
    write_lines(tmp_path / "corpus.jsonl", [{"id": "d1", "text": "A passage."}])
    write_lines(tmp_path / "runs.jsonl", [run_line(0)])
    release = read_release(tmp_path, Fields())
    assert (len(release.runs), release.documents) == (1, {"d1": "A passage."})


def test_what_cannot_be_read_is_named_by_file_and_line(tmp_path):
    """The rest is not lost; objects that are no runs are a note."""
    lines = [run_line(0), "{half", "[1]", {"question": "no id"}, {"run_id": "stats", "n": 1}]
    path = write_lines(tmp_path / "runs.jsonl", lines)
    (tmp_path / "bad.jsonl.gz").write_bytes(b"\x1f\x8bx")
    release = read_release(tmp_path, Fields())
    assert len(release.runs) == 1
    assert any("bad.jsonl.gz" in each for each in release.problems)
    said = [each for each in release.problems if str(path) in each]
    assert [each.partition(": ")[0] for each in said] == [f"{path}, line {n}" for n in (2, 3, 4)]
    assert "no id of a run (tried run_id, id" in said[2]
    assert "keys there: question" in said[2]
    assert release.notes == [
        f"{path}: 1 objects are no runs (they have neither a question nor a stage)"
    ]


def test_a_folder_without_runs_is_an_error(tmp_path):
    """That says what was tried, what is there, and what can be done."""
    with pytest.raises(BadInput, match="is no folder"):
        read_release(tmp_path / "none", Fields())
    with pytest.raises(BadInput, match=r"holds no files that end in \.jsonl"):
        read_release(tmp_path, Fields())
    write_lines(tmp_path / "a.jsonl", [{"id": "r", "frage": "q", "antwort": "a"}])
    with pytest.raises(BadInput, match=r"tried question.*keys there: antwort, frage, id.*--fields"):
        read_release(tmp_path, Fields())

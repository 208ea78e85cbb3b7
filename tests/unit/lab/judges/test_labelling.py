"""A file of runs labelled by judges, in parts."""

import json

import pytest
from evaluation_runs import quiet
from judge_fakes import FakeClient
from judged_records import findings, run_record

from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.lab.judges.judge import Judge
from otel_raglog.lab.judges.labelling import failures_of, label_all
from otel_raglog.lab.judges.panel import Panel
from otel_raglog.lab.records import read_records

RUNS = [run_record(f"r{number}", question=f"Question {number}?") for number in range(8)]


def panel(says):
    client = FakeClient(says)
    return Panel(Judge("a", client), Judge("b", client), Judge("c", client)), client


def labelled(out, runs=RUNS, says=None, parallel=3, tell=quiet):
    asked, client = panel(says or [findings()])
    problems = label_all(runs, asked, out, parallel=parallel, tell=tell)
    return problems, client, list(read_records(out))


def test_runs_are_labelled_in_order(tmp_path):
    """Several at once; progress is told."""
    told = []
    _, client, found = labelled(tmp_path / "out.jsonl", tell=lambda *each: told.append(each))
    assert [each["id"] for each in found] == [each["id"] for each in RUNS]
    assert all(each["labels"]["generator"]["faulty"] is False for each in found)
    assert told[-1] == ("Labelling", 8, 8)
    assert len(client.asked) == 16


def test_an_interrupted_call_goes_on(tmp_path):
    """What is labelled is not asked again, and half a line is written anew."""
    out = tmp_path / "out.jsonl"
    labelled(out, RUNS[:5])
    with out.open("a") as file:
        file.write('{"id": "r5", "la')
    told = []
    _, client, found = labelled(out, tell=lambda *each: told.append(each))
    assert len(client.asked) == 6
    assert [each["id"] for each in found] == [each["id"] for each in RUNS]
    assert told[0] == ("Labelling", 6, 8)


def test_runs_of_which_a_judge_failed_are_asked_again(tmp_path):
    """The next time; the others are kept as they are."""
    out = tmp_path / "out.jsonl"
    says = lambda ask: Unavailable("busy") if "Question 2?" in ask.prompt else findings()  # noqa: E731
    _, _, found = labelled(out, says=says)
    assert failures_of(found[2]) == ["a: busy", "b: busy"]
    assert found[2]["unlabelled"]["retriever"]
    _, client, found = labelled(out)
    assert len(client.asked) == 2
    assert found[-1]["id"] == "r2"
    assert not any(map(failures_of, found))
    assert [*tmp_path.iterdir()] == [out]


def test_five_failures_in_a_row_end_it(tmp_path):
    """Somebody should look; what was labelled before is kept."""
    out = tmp_path / "out.jsonl"
    bad = [f"Question {number}?" for number in range(2, 8)]
    says = lambda ask: Unavailable("busy") if any(q in ask.prompt for q in bad) else findings()  # noqa: E731
    with pytest.raises(Unavailable, match="5 runs in a row failed: a: busy; b: busy"):
        labelled(out, says=says, parallel=1)
    assert len([each for each in read_records(out) if each["labels"]]) == 2


def test_a_refused_key_ends_it_at_once(tmp_path):
    """What was labelled before is kept."""
    out = tmp_path / "out.jsonl"
    says = lambda ask: Rejected("no", "unauthorized") if "Question 3?" in ask.prompt else findings()  # noqa: E731
    with pytest.raises(Rejected):
        labelled(out, says=says, parallel=1)
    assert len(list(read_records(out))) == 3


def test_records_that_cannot_be_read_are_named(tmp_path):
    """They cost themselves only."""
    runs = [RUNS[0], {**RUNS[1], "retrieved": 7}, RUNS[2]]
    problems, _, found = labelled(tmp_path / "out.jsonl", runs)
    assert len(problems) == 1
    assert "'r1'" in problems[0]
    assert [each["id"] for each in found] == ["r0", "r2"]


def test_labels_of_a_corpus_have_no_failures():
    """Nor has a record without labels."""
    assert failures_of(RUNS[0]) == failures_of(json.loads('{"labelled_by": null}')) == []

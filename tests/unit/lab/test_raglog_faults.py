"""A release of labelled runs to run records."""

import pytest
from raglog_release import (
    BAD,
    GOOD,
    QUESTION,
    label_line,
    run_line,
    trace_line,
    write_lines,
    write_release,
)

from otel_raglog.detect.training.labels import read_labels
from otel_raglog.errors import BadInput
from otel_raglog.lab.raglog_faults import import_release
from otel_raglog.lab.raglog_fields import Fields
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage


def imported(folder, *lines, fields=None):
    if lines:
        write_lines(folder / "runs.jsonl", lines)
    return import_release(folder, fields or Fields())


def record_of(folder, **changes):
    line = {"id": "r", "question": "q", "answer": "a", **changes}
    (record,) = imported(folder, line).records
    return record


def test_every_stage_and_label_of_the_release(tmp_path):
    """As a run record has them; a stage that a run lacks is no key."""
    found = imported(write_release(tmp_path, 36))
    assert (len(found.records), found.problems) == (36, [])
    plain, reranked = found.records[:2]
    assert plain["id"] == "handbook-0"
    assert (plain["pipeline"], plain["group"]) == ("dense", "handbook:q0")
    assert (plain["question"], plain["answer"]) == (QUESTION, "They get 40 days.")
    assert plain["rewrites"] == ["vacation days of full-time employees"]
    assert plain["embedder_input"] == "vacation days of full-time employees"
    assert plain["retrieved"][0] == {"id": "a", "text": BAD, "score": 0.7}
    assert "reranked" not in plain
    assert plain["passed"] == ["a", "b"]
    assert plain["prompt"] == f"{BAD}\n\n{QUESTION}"
    assert plain["reference"] == {"answers": ["25 days"], "correct": False}
    assert plain["labels"]["retriever"] == {"faulty": True, "types": ["no_relevant_chunk"]}
    assert "reranker" not in plain["labels"]
    assert reranked["reranked"] == [{"id": "a", "text": GOOD, "score": 0.7}]
    assert reranked["passed"] == ["a"]
    assert reranked["labels"]["reranker"] == {"faulty": False}


def test_every_record_can_be_trained_on(tmp_path):
    """Its labels and its run are read as those of any other record; questions are kept together."""
    for record in imported(write_release(tmp_path, 12)).records:
        labels = read_labels(record)
        assert labels.faulty.keys() >= {Stage.REWRITER, Stage.RETRIEVER, Stage.GENERATOR}
        assert labels.group.startswith("handbook:q")
        run = run_from_record(record)
        assert all(run.steps(stage) for stage in labels.faulty)


def test_it_is_said_where_each_field_was_found(tmp_path):
    """So that a wrong guess is seen."""
    found = imported(write_release(tmp_path, 2)).found
    assert found["id"] == "run_id"
    assert found["stage (retriever)"] == "trace.retriever"
    assert found["label (generator)"] == "labels.generator"


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({"labels": {"retriever": 1, "generator": 0}}, {"retriever": True, "generator": False}),
        ({"labels": {"retriever": "Faulty", "generator": "OK"}}, {"retriever": True, "generator": False}),
        ({"labels": {"retriever": None, "generator": "n/a"}}, {}),
        ({"labels": {"retriever": ["no_relevant_chunk"], "generator": []}}, {"retriever": True, "generator": False}),
        ({"labels": [{"stage": "retrieval", "label": True}]}, {"retriever": True}),
        ({"retriever_fault": True}, {"retriever": True}),
        ({"retriever": True}, {"retriever": True}),
        ({"trace": {"retriever": {"output": [], "faulty": True}}}, {"retriever": True}),
        ({"faulty_stages": ["generator"], "retriever_output": []}, {"retriever": False, "generator": True}),
        ({"faulty_stages": [], "retriever_output": []}, {"retriever": False, "generator": False}),
    ],
)  # fmt: skip
def test_labels_in_many_forms(tmp_path, changes, labels):
    """Numbers, words, lists of types, lists of stages; null and n/a are none."""
    found = record_of(tmp_path, **changes)["labels"]
    assert {stage: each["faulty"] for stage, each in found.items()} == labels


def test_fault_types_are_kept(tmp_path):
    """Where a label, a stage or a list has them."""
    label = {"fault": True, "fault_type": "empty_result"}
    assert record_of(tmp_path, labels={"retriever": label})["labels"]["retriever"]["types"] == ["empty_result"]  # fmt: skip
    found = record_of(tmp_path, labels={"generator": ["incomplete", "off_question"]})
    assert found["labels"]["generator"]["types"] == ["incomplete", "off_question"]
    stage = {"output": [], "faulty": True, "fault_types": ["empty_result"]}
    found = record_of(tmp_path, retrieval=stage)
    assert found["labels"]["retriever"] == {"faulty": True, "types": ["empty_result"]}


@pytest.mark.parametrize(
    ("output", "retrieved"),
    [
        (["A text of words."], [{"text": "A text of words."}]),
        (["d1", "d2"], [{"id": "d1", "text": "From the corpus."}, {"id": "d2"}]),
        ({"documents": [{"doc_id": 7, "content": "x"}]}, [{"id": "7", "text": "x"}]),
        (
            [{"id": "d1", "similarity": 0.5}],
            [{"id": "d1", "text": "From the corpus.", "score": 0.5}],
        ),
        ([], []),
    ],
)
def test_chunks_in_many_forms(tmp_path, output, retrieved):
    """Texts, ids, mappings; the texts of ids come from the corpus where it is there."""
    write_lines(tmp_path / "corpus.jsonl", [{"id": "d1", "text": "From the corpus."}])
    assert record_of(tmp_path, retriever={"output": output})["retrieved"] == retrieved


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ("Text.", "Text."),
        ([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "U"),
        ({"messages": [{"role": "user", "content": "U"}]}, "U"),
        ({"question": "Q", "context": [{"text": "C"}]}, "Q\n\nC"),
    ],
)
def test_prompts_in_many_forms(tmp_path, given, prompt):
    """A text, messages, or parts; system messages are kept apart."""
    found = record_of(tmp_path, generator={"input": given, "output": "a"})
    assert found["prompt"] == prompt
    assert found.get("system_prompt", "S") == "S"


def test_several_rewrites_and_injections(tmp_path):
    """Both are kept."""
    found = record_of(
        tmp_path,
        rewriter={"output": {"queries": ["a", "b"]}},
        injected={"stage": "query_rewriter", "type": "negation"},
        embedder={"query": "a"},
    )
    assert (found["rewrites"], found["embedder_input"]) == (["a", "b"], "a")
    assert found["injected"] == {"stage": "rewriter", "type": "negation"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"labels": {"retriever": "maybe"}}, "labels.retriever: is no label that is known"),
        ({"labels": {"retriever": {"by": "x"}}}, "labels.retriever: has none of faulty"),
        ({"retriever": {"output": {"n": 3}}}, "retriever.output: holds no chunks"),
        ({"retriever": {"output": "text"}}, "retriever.output: must be a list of chunks"),
        ({"rewriter": {"output": {"n": 3}}}, "rewriter.output: holds no text"),
        ({"generator": {"input": [1]}}, "generator.input: must be a text, messages"),
        ({"question": ["q"]}, "question: must be a text"),
        ({"correct": "perhaps"}, "correct: must be true, false"),
        ({"faulty_stages": ["chunker"]}, "faulty_stages: names a stage that is not known"),
        ({"retriever": {"output": [{"id": "a", "score": "high"}]}}, "retrieved.0.score"),
    ],
)
def test_what_is_malformed_is_named(tmp_path, changes, told):
    """With file, line and key; other runs are not lost."""
    good = run_line(1)
    found = imported(tmp_path, good, {"id": "r", "question": "q", **changes})
    assert [each["id"] for each in found.records] == ["handbook-1"]
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path / 'runs.jsonl'}, line 2: ")
    assert told in problem


def test_nothing_but_malformed_runs_is_an_error(tmp_path):
    """With the first of the problems."""
    with pytest.raises(BadInput, match="line 1: question: must be a text"):
        imported(tmp_path, {"id": "r", "question": ["q"]})


def test_other_names_are_read_by_a_fields_file(tmp_path):
    """Every one of them can be said."""
    line = {"uid": "r1", "frage": "q", "schritte": {"leser": {"rein": "p", "raus": "a"}}, "urteil": {"leser": "KO"}}  # fmt: skip
    own = Fields(
        {**Fields().paths, "id": ("uid",), "question": ("frage",), "stage": ("schritte.{stage}",),
         "stage_input": ("rein",), "stage_output": ("raus",), "label": ("urteil.{stage}",)},
        {**Fields().stages, Stage.GENERATOR: ("leser",)},
        {**Fields().values, "faulty_values": ("ko",)},
    )  # fmt: skip
    (record,) = imported(tmp_path, line, fields=own).records
    assert (record["id"], record["question"], record["prompt"]) == ("r1", "q", "p")
    assert (record["answer"], record["labels"]["generator"]["faulty"]) == ("a", True)


def test_progress_is_told(tmp_path):
    """By runs."""
    told = []
    write_release(tmp_path, 3)
    import_release(tmp_path, Fields(), lambda *each: told.append(each))
    assert told[-1] == ("Importing", 3, 3)


def test_a_run_with_labels_alone_is_none(tmp_path):
    """It would train nothing; a trace without labels is kept, for analysis."""
    write_lines(tmp_path / "a.jsonl", [label_line(0), trace_line(1)])
    found = imported(tmp_path)
    assert [each["id"] for each in found.records] == ["handbook-1"]
    assert found.records[0]["labels"] == {}
    assert len(found.notes) == 1

"""The stable JSON that scripts rely on."""

import json
from dataclasses import replace

from samples import RETRIEVER, make_report, make_run

from otel_raglog.model import FaultType, Field, FieldStatus, JudgeUse, Stage, present
from otel_raglog.report.json_report import to_json

KEYS = {
    "run_id", "trace_id", "service", "question", "answer", "verdict", "faulty_stages",
    "first_faulty_stage", "complete", "completion", "tier", "detector_version", "skip_reason",
    "cost_usd", "joined_traces", "stages", "documents",
}  # fmt: skip
STAGE_KEYS = {
    "verdict", "reason", "probability", "threshold", "fault_types", "warnings", "explanation",
    "steps", "inputs", "outputs",
}  # fmt: skip


def test_every_key_of_the_contract_is_there():
    """Every stage is a key, with all of its own keys, absent stages included."""
    data = to_json(make_report())
    assert data.keys() >= KEYS
    assert list(data["stages"]) == [stage.value for stage in Stage]
    for stage in data["stages"].values():
        assert stage.keys() >= STAGE_KEYS
    assert data["stages"]["reranker"]["verdict"] == "absent"


def test_it_is_json():
    """Whatever is in it can be printed and read again, without NaN."""
    data = to_json(make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}))
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_texts_are_mapped_by_stage():
    """Query, chunks with ids, prompt and answer stand where a reader looks for them."""
    stages = to_json(make_report())["stages"]
    assert stages["retriever"]["inputs"]["query"] == "When does the night ferry leave?"
    assert [chunk["id"] for chunk in stages["retriever"]["outputs"]["chunks"]] == ["c1", "c2"]
    assert "Context:" in stages["assembly"]["outputs"]["prompt"]
    assert stages["generator"]["outputs"]["answer"] == "It leaves at 22:15."
    assert stages["generator"]["outputs"]["tokens"]["prompt"] == 40
    assert stages["retriever"]["steps"][0]["span_id"] == RETRIEVER.hex()


def test_no_content_leaves_the_texts_out():
    """A report can be shared without what was asked, found or answered."""
    text = json.dumps(to_json(make_report(), content=False))
    assert "ferry" not in text
    assert "22:15" not in text


def test_chunks_of_several_retrievals_are_joined_without_repeats():
    """The stage's view is the union; each step keeps its own."""
    run = make_run()
    step = run.retrievers[0]
    second = replace(step, query=present("second hop"))
    stage = to_json(make_report(run=make_run(retrievers=(step, second))))["stages"]["retriever"]
    assert len(stage["outputs"]["chunks"]) == 2
    assert [item["inputs"]["query"] for item in stage["steps"]] == [
        "When does the night ferry leave?",
        "second hop",
    ]


def test_what_was_not_recorded_is_null_and_what_was_empty_is_empty():
    """Null and [] are different findings."""
    step = make_run().retrievers[0]
    for field, expected in (
        (Field(None, FieldStatus.REDACTED), None),
        (Field((), FieldStatus.EMPTY), []),
    ):
        run = make_run(retrievers=(replace(step, chunks=field),))
        data = to_json(make_report(run=run))
        assert data["stages"]["retriever"]["outputs"]["chunks"] == expected


def test_a_run_record_has_no_trace_id():
    """Its run id is the record's own."""
    run = make_run(run_id="r1", trace_id=b"", top_span_id=b"")
    data = to_json(make_report(run=run))
    assert (data["run_id"], data["trace_id"]) == ("r1", None)


def test_a_draft_is_there_where_a_later_call_reworded_it():
    """What was judged can be compared with what the user got."""
    run = make_run()
    step = replace(run.generators[0], draft=present("At 22:15."))
    outputs = to_json(make_report(run=replace(run, generators=(step,))))["stages"]["generator"]
    assert outputs["outputs"]["draft"] == "At 22:15."
    assert "draft" not in to_json(make_report())["stages"]["generator"]["outputs"]


def test_the_way_of_each_document_is_told_without_its_text():
    """From retrieval to the answer, also where texts are left out."""
    documents = to_json(make_report(), content=False)["documents"]
    assert [document["id"] for document in documents] == ["c1", "c2"]
    assert documents[0]["retrieved_rank"] == 1
    assert documents[0]["reranked_rank"] is None
    assert documents[0]["in_prompt"] == "intact"
    assert set(documents[0]) == {
        "id", "retrieved_rank", "reranked_rank", "in_prompt", "kept_share", "answer_share", "used",
    }  # fmt: skip


def test_what_an_llm_was_asked_is_told() -> None:
    """Calls, tokens, cost, and why there is nothing of some checks; null where none is configured."""
    assert to_json(make_report())["judge"] is None
    use = JudgeUse(
        "m",
        calls=5,
        prompt_tokens=100,
        completion_tokens=20,
        cached_tokens=30,
        cost_usd=None,
        seconds=1.23456,
        abstained=(("statements", "timeout"),),
        suspected=(("instruction", "passed chunk 2"),),
        left_out=("3 further excluded chunks not shown",),
    )
    found = to_json(make_report(judge=use))
    assert found["cost_usd"] is None
    assert found["judge"] == {
        "model": "m",
        "skipped": None,
        "calls": 5,
        "tokens": {"prompt": 100, "cached": 30, "completion": 20},
        "cost_usd": None,
        "seconds": 1.235,
        "abstained": {"statements": "timeout"},
        "injection_suspected": [{"kind": "instruction", "where": "passed chunk 2"}],
        "left_out": ["3 further excluded chunks not shown"],
    }
    assert (
        to_json(make_report(judge=JudgeUse("m", skipped="budget")))["judge"]["skipped"] == "budget"
    )


def test_what_is_redacted_is_not_in_it():
    """Whoever prints a report, or serves it, shows what a destination would get."""
    report = make_report()
    view = replace(
        report.run, question=present("[redacted]"), session_id="[redacted]", service="[redacted]"
    )
    data = to_json(replace(report, run=replace(report.run, view=view)))
    assert (data["question"], data["session_id"], data["service"]) == ("[redacted]",) * 3
    assert data["verdict"] == report.verdict.value

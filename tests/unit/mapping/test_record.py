"""What a run record becomes."""

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import FieldStatus, RewriteKind, Stage, UnknownReason

RECORD = {
    "id": "r1",
    "pipeline": "hr-bot",
    "session": "s1",
    "turn": 2,
    "question": "When does it leave?",
    "history": [["user", "q0"], ["assistant", "a0"]],
    "rewrites": ["when does the night ferry leave"],
    "embedder_input": "when does the night ferry leave",
    "embedder_model": "e",
    "retrieved": [
        {"id": "d1", "text": "Dogs stay on deck 4.", "score": 0.9},
        {"id": "d2", "text": "The ferry leaves at 22:15.", "score": 0.8, "title": "Ferry"},
    ],
    "top_k": 2,
    "reranked": [{"id": "d2", "score": 0.95}, {"id": "d1", "score": 0.1}],
    "passed": ["d2"],
    "system_prompt": "Answer from the context.",
    "prompt": "Context:\nThe ferry leaves at 22:15.\n\nQuestion: When does it leave?",
    "answer": "At 22:15.",
    "finish_reason": "stop",
    "tokens": {"prompt": 8, "completion": 4},
    "model": "m",
    "unknown": 1,
    "labels": {"retriever": {"faulty": True}},
    "reference": {"answers": ["SECRET"]},
    "injected": {"stage": "retriever"},
}


def without(*keys, **changes):
    return {key: value for key, value in RECORD.items() if key not in keys} | changes


def test_a_full_record():
    """Every stage has its step, ids are resolved, the context is cut out of the prompt."""
    run = run_from_record(RECORD)
    assert (run.run_id, run.service, run.session_id, run.turn) == ("r1", "hr-bot", "s1", 2)
    assert {state.steps for state in run.stages.values()} == {1}
    assert run.rewriters[0].kind is RewriteKind.CONDENSE
    chosen = run.rerankers[0].selected.value[0]
    assert (chosen.text, chosen.score, chosen.title) == (
        "The ferry leaves at 22:15.",
        0.95,
        "Ferry",
    )
    assert [chunk.id for chunk in run.assemblies[0].selected.value] == ["d2"]
    assert run.assemblies[0].context.value == "The ferry leaves at 22:15."
    assert run.generators[0].finish_reason == "stop"
    assert run.tokens.prompt == 8
    assert run.skip_reason is None


def test_labels_are_never_read():
    """Nothing of labels, injections and references is in the run."""
    assert run_from_record(RECORD) == run_from_record(without("labels", "reference", "injected"))


@pytest.mark.parametrize(
    ("key", "stage"),
    [
        ("rewrites", Stage.REWRITER),
        ("embedder_input", Stage.EMBEDDER),
        ("reranked", Stage.RERANKER),
    ],
)
def test_missing_keys_and_null(key, stage):
    """A missing key means that the stage is absent, null that it is recorded as missing."""
    assert run_from_record(without(key)).stages[stage].absent
    state = run_from_record(without("passed", **{key: None})).stages[stage]
    assert (state.steps, state.reason) == (1, UnknownReason.NOT_CAPTURED)


def test_without_retrieval_or_answer():
    """A record of a RAG run that lacks them did not capture them."""
    run = run_from_record(without("retrieved", "reranked", "passed"))
    assert run.stages[Stage.RETRIEVER].reason is UnknownReason.NOT_CAPTURED
    run = run_from_record(without("answer", "prompt"))
    assert run.stages[Stage.GENERATOR].reason is UnknownReason.NOT_CAPTURED
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.NOT_CAPTURED


def test_empty_is_not_missing():
    """An empty result is a finding, an empty list of rewrites is no rewriter."""
    run = run_from_record(without("reranked", "passed", retrieved=[], rewrites=[]))
    assert run.retrievers[0].chunks.status is FieldStatus.EMPTY
    assert run.stages[Stage.RETRIEVER].reason is None
    assert run.stages[Stage.REWRITER].absent


def test_without_a_reranker():
    """What was passed is what the prompt should hold."""
    run = run_from_record(without("reranked"))
    assert [chunk.id for chunk in run.assemblies[0].selected.value] == ["d2"]


def test_steps():
    """``steps`` says more: hops, several embeddings, filters."""
    steps = [
        {"stage": "retriever", "query": "q1", "chunks": ["d1"], "filters": {"b": 1}},
        {"stage": "retriever", "query": "q2", "chunks": ["d2"]},
        {"stage": "embedder", "texts": ["q1"]},
    ]
    run = run_from_record(without(steps=steps))
    assert [step.query.value for step in run.retrievers] == ["q1", "q2"]
    assert run.retrievers[0].filters == '{"b": 1}'
    assert run.retrievers[1].chunks.value[0].text == "The ferry leaves at 22:15."
    assert run.embedders[0].texts.value == ("q1",)


def test_hidden_values():
    """Placeholders are redacted in records as well."""
    run = run_from_record(
        without(answer="[REDACTED]", retrieved=[{"id": "d1", "text": "__REDACTED__"}])
    )
    assert run.stages[Stage.GENERATOR].reason is UnknownReason.REDACTED
    assert run.retrievers[0].chunks.value[0].text == ""


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"id": None}, "id"),
        ({"retrieved": "x"}, "retrieved"),
        ({"retrieved": [1.5, {"score": "high"}]}, "retrieved"),
        ({"turn": "second"}, "turn"),
        ({"history": [["user"]]}, "history"),
        ({"steps": [{"query": "x"}]}, "steps"),
    ],
)
def test_what_is_wrong_is_named(changes, key):
    """A refusal names the record and the key."""
    with pytest.raises(BadInput, match=key) as refusal:
        run_from_record(without(**changes))
    assert "r1" in str(refusal.value) or changes.get("id", 1) is None


def test_ids_that_number_each_list_anew():
    """An id that has several texts lends none of them; the scores are those of the same text."""
    run = run_from_record(
        without(
            "rewrites",
            retrieved=[
                {"id": "0", "text": "Dogs stay on deck 4."},
                {"id": "1", "text": "At 22:15."},
            ],
            reranked=[{"id": "0", "text": "At 22:15.", "score": 0.9}, {"id": "1"}],
            passed=[{"id": "7", "text": "At 22:15."}],
        )
    )
    assert [chunk.score for chunk in run.rerankers[0].selected.value] == [0.9]
    assert [chunk.text for chunk in run.retrievers[0].chunks.value] == [
        "Dogs stay on deck 4.",
        "At 22:15.",
    ]

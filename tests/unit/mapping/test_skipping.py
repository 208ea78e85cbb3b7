"""Which word and sentence explain that nothing is judged."""

from dataclasses import replace

import pytest
from span_trees import llm, oi, retriever, span, spans_of

from otel_raglog.conventions import registry
from otel_raglog.conventions.vocabularies import Vocabulary
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.record import run_from_record
from otel_raglog.mapping.skipping import explain_skip, skipped_run, unread_run
from otel_raglog.model import Completion, FieldStatus, Stage, Trace, UnknownReason, missing


def trace(*nodes):
    spans = spans_of(*nodes)
    return Trace(b"t" * 16, spans, Completion.ORPHAN_QUIET)


def test_unread_run(monkeypatch):
    """The run has the trace's top span, service and completion, and every stage's state."""
    monkeypatch.setattr(registry, "UNREAD", (Vocabulary("Some Kit", ("zz.",)),))
    found = trace(span("root", span("chat", attributes={"zz.system": "x"})))
    run = unread_run(found, found.spans)
    assert (run.skip_reason, run.service, run.completion) == (
        "unread_convention",
        "shop-bot",
        "orphan_quiet",
    )
    assert run.top_span_id == found.spans[0].span_id
    assert {state.reason for state in run.stages.values()} == {UnknownReason.SKIPPED}


def test_skipped_run_without_spans():
    """Even a trace without spans has a run."""
    run = skipped_run(Trace(b"t" * 16, (), Completion.FILE_END), (), "no_spans", "none")
    assert (run.run_id, run.top_span_id, run.notes) == ("74" * 16, b"", ("none",))


def test_a_hidden_question():
    """Stages that need the question take over why it is missing; absent ones stay absent."""
    good = run_from_record(
        {"id": "r", "question": "q?", "retrieved": [{"text": "x"}], "prompt": "p", "answer": "a"}
    )
    assert explain_skip(good) is good
    run = explain_skip(replace(good, question=missing(FieldStatus.REDACTED)))
    assert run.skip_reason == "no_question"
    assert run.stages[Stage.RETRIEVER].reason is UnknownReason.REDACTED
    assert run.stages[Stage.RERANKER].absent


def test_an_evaluation():
    """A run whose only answer is a verdict on another answer evaluates."""
    prompt = "Please tell if the answer is supported.\nContext: A fare is 4 euro.\nAnswer: 4 euro."
    (run,) = map_trace(trace(oi("CHAIN", "c", llm("m", prompt, "YES"), given="x", said="YES")))
    assert (run.skip_reason, run.stages[Stage.GENERATOR].reason) == (
        "evaluation",
        UnknownReason.SKIPPED,
    )


def test_scores_without_a_search():
    """Where nothing was searched, an LLM that says nothing but scores evaluates, whatever it was told."""
    prompt = "Bewerte.\nContext: A fare is 4 euro.\nAntwort: 4 Euro."
    said = '{"reason": "Steht da.", "score": 1}'
    (run,) = map_trace(trace(oi("CHAIN", "c", llm("m", prompt, said), given="x", said=said)))
    assert run.skip_reason == "evaluation"
    search = retriever("r", "How risky is it?", ("p1", "A fare is 4 euro."))
    (run,) = map_trace(
        trace(oi("CHAIN", "c", search, llm("m", prompt, said), given="x", said=said))
    )
    assert run.skip_reason is None


@pytest.mark.parametrize(
    "said",
    [
        '{"name": "ferry", "rating": 4.5, "comment": "It is on time."}',
        '{"label": "allowed", "explanation": "Dogs may come along."}',
    ],
)
def test_an_answer_in_fields_that_judges_use_too(said):
    """A question, pages in the prompt and no answer to be judged: that is a run like any other."""
    prompt = [
        ("system", "Answer as JSON.\nContext:\n[1] A fare is 4 euro."),
        ("user", "How is it?"),
    ]
    for node in (
        llm("m", prompt, said),
        oi("CHAIN", "c", llm("m", prompt, said), given="How is it?", said=said),
        llm("m", "Context: A fare is 4 euro.\nQuestion: How is it?\nOutput as JSON:", said),
    ):
        (run,) = map_trace(trace(node))
        assert (run.skip_reason, run.question.value) == (None, "How is it?")


def test_what_is_around_evaluators():
    """A trace of evaluators alone is an evaluation; beside a run they are left out."""
    evaluator = oi("CHAIN", "FaithfulnessEvaluator.run", llm("m", "p", "yes"), said={"score": 1.0})
    (run,) = map_trace(trace(oi("CHAIN", "Pipeline.run", evaluator, given={"data": {}})))
    assert run.skip_reason == "evaluation"
    assert run.notes == ("there are no other steps than those of evaluators",)
    answering = (retriever("r", "a fare?", ("p1", "A fare is 4 euro.")), llm("m", "q", "4 euro."))
    (run,) = map_trace(trace(oi("CHAIN", "c", *answering, evaluator, given="a fare?")))
    assert (run.skip_reason, run.answer.value) == (None, "4 euro.")


def test_a_cached_answer():
    """All that was not done for it is skipped for that reason, and what is absent stays so."""
    cached = oi("CHAIN", "semantic_cache", given="Are dogs allowed?", said="On the aft deck.")
    (run,) = map_trace(trace(oi("CHAIN", "app", cached, given="Are dogs allowed?")))
    assert run.skip_reason == "cached_answer"
    assert "a cache gave the answer" in run.notes[0]
    assert run.stages[Stage.GENERATOR].reason is UnknownReason.SKIPPED
    assert run.stages[Stage.RERANKER].absent

"""Which spans of evaluators are left out."""

from span_trees import embedding, llm, oi, retriever, span, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.evaluators import evaluator_spans

Q = "What is the fare?"
PAGE = ("p1", "A bicycle costs 4 euro each way on the ferry.", 0.9)
A = "A bicycle costs 4 euro each way."
SCORE = {"score": 1.0}


def left_out(*roots):
    spans = spans_of(*roots)
    facts = {s.span_id: read for s in spans if (read := read_span(s)) is not None}
    found = evaluator_spans(spans, facts)
    return [s.name for s in spans if s.span_id in found]


def test_evaluators_are_left_out():
    """By their kind, or by their name and what they say, with the judge and the embeddings below."""
    judge = (llm("judge", "p", "yes"), embedding("e", A))
    named = oi("CHAIN", "FaithfulnessEvaluator.run", *judge, said=SCORE)
    answering = (retriever("r", Q, PAGE), llm("m", Q, A))
    assert left_out(
        oi("CHAIN", "app", *answering, oi("EVALUATOR", "e"), named, given=Q, said=A)
    ) == [
        "e",
        "FaithfulnessEvaluator.run",
    ]


def test_an_evaluator_that_hands_documents_on_selects():
    """Scores of documents are those of the search, with or without the search below it."""
    documents = {"documents": [{"id": "p1", "content": PAGE[1], "score": 0.9}]}
    for below in ((), (retriever("r", Q, PAGE),)):
        assert not left_out(oi("CHAIN", "RetrievalEvaluator", *below, said=documents))


def test_an_evaluator_with_a_search_below_it_is_a_step_of_the_run():
    """Corrective RAG searches on from what it grades."""
    grading = oi("CHAIN", "RetrievalEvaluator", retriever("web", Q, PAGE), said={"verdict": "ok"})
    assert not left_out(oi("CHAIN", "app", retriever("r", Q, PAGE), grading, given=Q))
    tool = oi("TOOL", "look_up", said=[{"content": PAGE[1], "score": 1}])
    assert not left_out(oi("CHAIN", "RetrievalEvaluator", tool, said=SCORE))


def test_an_evaluator_of_that_kind_keeps_the_only_search():
    """One that looks something up for itself, beside a run, does not."""
    looking = oi("EVALUATOR", "e", retriever("r2", Q, PAGE))
    assert not left_out(oi("CHAIN", "app", looking, given=Q))
    assert left_out(oi("CHAIN", "app", retriever("r", Q, PAGE), looking, given=Q)) == ["e"]


def test_an_evaluator_with_the_answering_call_below_it_is_a_step_of_the_run():
    """What it says is what the run says; a verdict that a run of evaluators says is none."""
    checking = oi("CHAIN", "AnswerEvaluator", llm("m", Q, A), said={"answer": A, "score": 1})
    assert not left_out(oi("CHAIN", "app", retriever("r", Q, PAGE), checking, given=Q, said=A))
    assert left_out(oi("CHAIN", "app", checking, given=Q, said="Else.")) == ["AnswerEvaluator"]
    judging = oi("CHAIN", "AnswerEvaluator", llm("m", Q, "yes"), said=SCORE)
    assert left_out(oi("CHAIN", "eval", judging, said="yes")) == ["AnswerEvaluator"]


def test_no_evaluators():
    """A trace without any, and one whose spans enclose each other."""
    assert not left_out(span("GET"))
    first = oi("EVALUATOR", "a", id=b"1" * 8, parent=b"2" * 8)
    second = oi("EVALUATOR", "b", id=b"2" * 8, parent=b"1" * 8)
    assert left_out(first, second) == ["a", "b"]

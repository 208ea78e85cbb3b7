"""What became of each span of a trace, in the order of its tree."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from span_trees import documents, embedding, llm, oi, retriever, span, spans_of, trace_of

from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.explained_trace import Outcome, explain_trace
from otel_raglog.explaining.losses import LossKind
from otel_raglog.mapping.mapping import map_trace

QUESTION = "How long are refunds possible?"
ANSWER = "Refunds are possible for 30 days."
PROMPT = f"Context:\n{ANSWER}\n\nQuestion: {QUESTION}"


def explained(*roots, **options):
    """Return the explained trace of nested calls, as the command would."""
    trace = trace_of(*roots, **options)
    return explain_trace(trace.spans, map_trace(trace), BUILT_IN)


def rag(*more):
    """Return an ordinary run."""
    return oi(
        "CHAIN",
        "query",
        retriever("Retriever", QUESTION, ("d1", ANSWER), children=(embedding("E", QUESTION),)),
        llm("ChatModel", PROMPT, ANSWER),
        *more,
        given=QUESTION,
        said=ANSWER,
    )


def named(trace, name):
    """Return the span called ``name``."""
    return next(item for item in trace.spans if item.reading.span.name == name)


def test_the_tree_is_depth_first_in_order_of_start():
    """Each with the position of its parent, and its depth."""
    trace = explained(span("POST /ask", rag()))
    assert [(item.reading.span.name, item.parent, item.depth) for item in trace.spans] == [
        ("POST /ask", -1, 0),
        ("query", 0, 1),
        ("Retriever", 1, 2),
        ("E", 2, 3),
        ("ChatModel", 1, 2),
    ]


def test_each_span_says_what_became_of_it():
    """A step, a wrapper, or nothing, with the reason of the step."""
    trace = explained(span("POST /ask", rag()))
    became = {item.reading.span.name: item.became for item in trace.spans}
    assert became["POST /ask"] == "not read: no attribute of an LLM or retrieval instrumentation"
    assert became["query"] == "wrapper (chain)"
    assert became["Retriever"] == "retriever"
    assert became["E"] == "embedder"
    assert became["ChatModel"] == "assembly, generator"
    assert named(trace, "Retriever").why == ("retriever: a span of retriever kind",)


def test_the_spans_of_question_and_answer_are_told():
    """Where a run begins is the first thing to look at."""
    trace = explained(rag())
    assert named(trace, "query").read_here == ("question", "answer")


def test_a_span_within_a_step_says_into_which_it_was_collapsed():
    """Nested duplicates are one step."""
    inner = retriever("Inner", QUESTION, ("d1", ANSWER))
    outer = retriever("Outer", QUESTION, ("d1", ANSWER), children=(inner,))
    trace = explained(
        oi("CHAIN", "query", outer, llm("C", PROMPT, ANSWER), given=QUESTION, said=ANSWER)
    )
    outcomes = {item.reading.span.name: item.outcome for item in trace.spans}
    assert sorted([outcomes["Inner"], outcomes["Outer"]]) == [Outcome.COLLAPSED, Outcome.STEP]
    collapsed = next(item for item in trace.spans if item.outcome is Outcome.COLLAPSED)
    assert collapsed.became.startswith("collapsed into retriever (")


def test_several_steps_and_several_runs_are_numbered():
    """Two questions below one request."""
    trace = explained(span("batch", rag(), rag()))
    became = [item.became for item in trace.spans if item.reading.span.name == "Retriever"]
    assert became == ["retriever of run 1", "retriever of run 2"]


def test_what_no_run_looks_at_is_left_out_with_all_below():
    """Evaluators and our own spans."""
    judge = oi("EVALUATOR", "judge", llm("JudgeModel", "ok?", "yes"))
    own = span("raglog", scope="otel-raglog")
    named_so = oi("CHAIN", "ToneEvaluator.run", said={"score": 1})
    trace = explained(rag(judge, own, named_so))
    assert named(trace, "ToneEvaluator.run").became == "left out: an evaluator's span"
    assert named(trace, "judge").became == "left out: an evaluator's span"
    assert named(trace, "JudgeModel").outcome is Outcome.LEFT_OUT
    assert named(trace, "raglog").became == "left out: a span of otel-raglog's own"
    assert named(trace, "JudgeModel").losses == ()


def test_a_vocabulary_that_is_not_read_is_named(monkeypatch):
    """Better than silence."""
    monkeypatch.setattr("otel_raglog.explaining.span_reading.recognise", lambda span: "SomeTracer")
    trace = explained(span("thing", attributes={"some.key": "x"}))
    assert trace.spans[0].became == "not read: SomeTracer is not read by this version"


def test_a_parent_that_never_came_is_said():
    """It may have been forwarded, or lost; where the span went instead is said as well."""
    missing = b"\xaa" * 8
    alone = explained(retriever("R", QUESTION, ("d", ANSWER), parent=missing))
    assert (
        alone.spans[0].placed == f"its parent {missing.hex()} is not among the spans that are read"
    )
    lost = llm("Lost", PROMPT, ANSWER, parent=missing)
    placed = named(explained(oi("CHAIN", "query", lost, given=QUESTION, said=ANSWER)), "Lost")
    assert placed.placed.endswith("put here by its time")
    assert placed.depth == 1


def test_parents_that_lead_in_a_circle_are_cut():
    """No span is lost, and the cut is told."""
    one, two = b"\x01" * 8, b"\x02" * 8
    trace = explained(
        span("one", id=one, parent=two, attributes={"input.value": "x"}),
        span("two", id=two, parent=one, attributes={"input.value": "y"}),
    )
    assert len(trace.spans) == 2
    assert "circle" in trace.spans[0].placed


def test_a_step_without_content_says_what_it_lacks():
    """What one of its spans has, the step has."""
    bare = oi("LLM", "ChatModel", attributes={"llm.model_name": "m"})
    trace = explained(
        oi("CHAIN", "query", retriever("R", QUESTION, ("d", ANSWER)), bare, given=QUESTION)
    )
    item = named(trace, "ChatModel")
    assert item.uncaptured == ("messages", "output_messages")
    assert [lost.kind for lost in item.losses] == [LossKind.NOT_CAPTURED]
    wrapped = oi("LLM", "Wrapper", llm("Inner", PROMPT, ANSWER), attributes={"llm.model_name": "m"})
    whole = explained(
        oi("CHAIN", "query", retriever("R", QUESTION, ("d", ANSWER)), wrapped, given=QUESTION)
    )
    assert not any(item.uncaptured for item in whole.spans)


def test_a_wrapper_lacks_nothing_that_its_steps_have():
    """Only steps need content."""
    trace = explained(
        oi("CHAIN", "query", retriever("R", QUESTION, ("d", ANSWER)), llm("C", PROMPT, ANSWER))
    )
    assert named(trace, "query").losses == ()


def test_documents_without_text_are_a_loss_of_the_step():
    """Ids and scores say nothing of what was found."""
    found = documents(("d1", None), ("d2", None))
    search = oi("RETRIEVER", "R", given=QUESTION, attributes=found)
    trace = explained(oi("CHAIN", "q", search, llm("C", PROMPT, ANSWER), given=QUESTION))
    assert [lost.what for lost in named(trace, "R").losses] == ["no text in 2 of 2 documents"]


def test_each_remedy_is_said_once():
    """However many spans it is for; stages that left no span come after."""
    first = retriever("R1", QUESTION, ("d1", ANSWER), dropped=3)
    second = retriever("R2", QUESTION, ("d2", ANSWER), dropped=4)
    trace = explained(oi("CHAIN", "q", first, second, llm("C", PROMPT, ANSWER), given=QUESTION))
    assert [(remedy.kinds, remedy.spans) for remedy in trace.remedies] == [
        (("evicted",), 2),
        (("no embedder",), 0),
    ]


def test_a_trace_that_is_a_part_of_a_run_is_told_how_to_be_whole():
    """Nothing is said of the stages that it cannot have."""
    trace = explained(embedding("E", QUESTION))
    assert [remedy.kinds for remedy in trace.remedies] == [("not judged (embedding_only)",)]


@pytest.mark.timeout(60)
def test_deep_and_wide_traces_cost_no_recursion():
    """Two thousand levels, ten thousand spans."""
    top = spans_of(rag())[0]
    deep = [
        replace(
            top, span_id=(n + 1).to_bytes(8, "big"), parent_id=n.to_bytes(8, "big") if n else b""
        )
        for n in range(2_000)
    ]
    wide = [
        replace(top, span_id=(n + 2_001).to_bytes(8, "big"), parent_id=deep[-1].span_id)
        for n in range(8_000)
    ]
    trace = explain_trace([*deep, *wide], (), BUILT_IN)
    assert len(trace.spans) == 10_000
    assert trace.spans[-1].depth == 2_000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-3, 40), st.integers(-3, 40)),
        max_size=12,
    ),
    st.sampled_from(["LLM", "RETRIEVER", "EMBEDDING", "RERANKER", "EVALUATOR", "", "TOOL"]),
)
def test_no_trace_is_too_broken(shape, kind):
    """Any parents, any times, repeated ids: every span once, parents before children."""
    base = spans_of(oi(kind, "x", given=QUESTION, said=ANSWER))[0]
    spans = [
        replace(
            base,
            span_id=bytes([own]) * 8,
            parent_id=bytes([parent]) * 8,
            start_unix_nano=start,
            end_unix_nano=end,
        )
        for own, parent, start, end in shape
    ]
    trace = explain_trace(spans, (), BUILT_IN)
    ids = [item.reading.span.span_id for item in trace.spans]
    assert sorted(ids) == sorted({item.span_id for item in spans})
    assert all(item.parent < place for place, item in enumerate(trace.spans))

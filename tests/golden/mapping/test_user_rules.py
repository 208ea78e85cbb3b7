"""What a user said of spans, against what their names, kinds and contents would say."""

import pytest
from own_rules import rules
from span_trees import embedding, llm, oi, retriever, span, trace_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import RewriteKind, Stage

Q = "When does the night ferry leave?"
A = "The night ferry leaves at ten."
PAGE = "The night ferry to Sandmouth leaves the harbour at ten in the evening."
OTHER = "Bicycles travel on the car deck for four euro each way."
PROMPT = f"Context: {PAGE}\n\nQuestion: {Q}"


def runs_of(given, *nodes, top=None):
    conventions = ConventionSet((rules(*given), OpenInference()))
    return map_trace(trace_of(top or oi("CHAIN", "app", *nodes, given=Q, said=A)), conventions)


def named(name, stage, **facts):
    return {"match": {"span_name": name}, "stage": stage, **facts}


def pages(*texts):
    return [{"page_content": text, "metadata": {}} for text in texts]


@pytest.mark.parametrize("stage", ["chain", "agent", "tool"])
def test_a_name_makes_nothing_of_what_is_settled(stage):
    """A chain named as a reranker or a search, that its user says is none."""
    step = oi("CHAIN", "rerank and search docs", given=Q, said=pages(PAGE))
    found = retriever("r", Q, PAGE)
    (run,) = runs_of([named("rerank*", stage)], found, step, llm("m", PROMPT, A))
    assert not run.rerankers
    assert [s.origin.name for s in run.retrievers] == ["r"]
    (run,) = runs_of([], found, step, llm("m", PROMPT, A))
    assert run.rerankers


def test_a_settled_search_is_no_reranking():
    """The one around another hands on a part of it: a reranker, unless its user says otherwise."""
    inner = retriever("inner", Q, PAGE, OTHER)
    outer = retriever("outer", Q, PAGE, children=(inner,))
    (run,) = runs_of([], outer, llm("m", PROMPT, A))
    assert run.rerankers
    (run,) = runs_of([named("outer", "retriever")], outer, llm("m", PROMPT, A))
    assert not run.rerankers
    assert [chunk.text for chunk in run.retrievers[0].chunks.value] == [PAGE]


def test_a_chain_becomes_a_reranker():
    """With its candidates and its choice, whatever it is called."""
    sieve = oi("CHAIN", "sieve", given=pages(PAGE, OTHER), said=pages(PAGE))
    (run,) = runs_of(
        [named("sieve", "reranker")], retriever("r", Q, PAGE, OTHER), sieve, llm("m", PROMPT, A)
    )
    (step,) = run.rerankers
    assert [len(step.candidates.value), len(step.selected.value)] == [2, 1]


def test_a_rewriter_is_one_whatever_was_searched_for():
    """Its output is not what was searched for, and nothing tells that it rewrites."""
    call = llm("step two", Q, "ferry times, please")
    found = retriever("r", "departures tonight", PAGE)
    (run,) = runs_of([], call, found, llm("m", PROMPT, A))
    assert not run.rewriters
    (run,) = runs_of([named("step two", "rewriter")], call, found, llm("m", PROMPT, A))
    (step,) = run.rewriters
    assert (step.kind, step.rewrites.value) == (RewriteKind.REWRITE, ("ferry times, please",))
    assert (step.model, step.input.value) == ("m", Q)
    assert [s.origin.name for s in run.generators] == ["m"]


def test_a_rewriter_that_is_no_model_call():
    """A function with calls in it: what it returned counts, its calls are part of it."""
    inner = llm(
        "call", f"Rewrite: {Q}", "Sure! night ferry", attributes={"llm.token_count.prompt": 5}
    )
    step = oi(
        "CHAIN", "make_queries", inner, given=Q, said='{"queries": ["night ferry", "ferry times"]}'
    )
    found = retriever("r", "night ferry", PAGE)
    (run,) = runs_of([named("make_*", "rewriter")], step, found, llm("m", PROMPT, A))
    (rewriter,) = run.rewriters
    assert rewriter.kind is RewriteKind.MULTI_QUERY
    assert rewriter.rewrites.value == ("night ferry", "ferry times")
    assert len(rewriter.origin.span_ids) == 2
    assert run.tokens.prompt == 5


def test_tokens_of_a_rewriter_are_counted_once():
    """Those of the span itself, where it is the call."""
    call = llm("step two", Q, "ferry", attributes={"llm.token_count.prompt": 5})
    answer = llm("m", PROMPT, A, attributes={"llm.token_count.prompt": 20})
    (run,) = runs_of([named("step two", "rewriter")], call, retriever("r", "ferry", PAGE), answer)
    assert run.tokens.prompt == 25


def test_a_rewriter_alone_tells_the_question():
    """In a trace without a chain around it."""
    step = span("rewrite", attributes={"app.step": "rewriter", "app.q": Q, "app.out": "ferry"})
    rule = {"stage": "rewriter", "question": "app.q", "rewrites": "app.out"}
    top = span("POST /chat", step, retriever("r", "ferry", PAGE), llm("m", "Answer.", A))
    (run,) = runs_of([rule], top=top)
    assert run.rewriters[0].input.value == Q


def test_ignored_spans_are_out_with_all_below_them():
    """A call that names the chat is neither the answer nor in the tokens."""
    title = oi("CHAIN", "title", llm("m", f"Name this: {Q}", A), given=Q, said=A)
    (run,) = runs_of(
        [named("title", "ignore")], retriever("r", Q, PAGE), llm("g", PROMPT, A), title
    )
    assert [step.origin.name for step in run.generators] == ["g"]
    assert len(run.span_ids) == 3
    (run,) = runs_of([named("title", "ignore")], top=title)
    assert run.skip_reason == "ignored"


def test_the_prompt_of_an_assembly():
    """A call that records no messages was given what the span before it rendered."""
    made = {"app.step": "assembly", "app.p": PROMPT, "app.c": PAGE, "app.d": (PAGE,)}
    rule = {"stage": "assembly", "prompt": "app.p", "context": "app.c", "documents": "app.d"}
    call = oi("LLM", "m", said=A, attributes={"llm.model_name": "m"})
    nodes = (retriever("r", Q, PAGE, OTHER), span("render", attributes=made), call)
    (run,) = runs_of([rule], *nodes)
    (step,) = run.assemblies
    assert step.origin.name == "render"
    assert (step.prompt.value, step.context.value) == (PROMPT, PAGE)
    assert [chunk.text for chunk in step.selected.value] == [PAGE]
    assert run.generators[0].messages.value[0].content == PROMPT
    assert run.stages[Stage.GENERATOR].reason is None


def test_one_prompt_is_given_to_one_call():
    """A later call without messages was given something else."""
    made = {"app.step": "assembly", "app.p": PROMPT}
    rule = {"stage": "assembly", "prompt": "app.p"}
    bare = {"llm.model_name": "m"}
    nodes = (
        retriever("r", Q, PAGE),
        span("render", attributes=made),
        oi("LLM", "draft", said="no idea", attributes=bare),
        oi("LLM", "last", said=A, attributes=bare),
    )
    (run,) = runs_of([rule], *nodes)
    assert run.generators[0].origin.name == "last"
    assert not run.generators[0].messages.usable


def test_a_settled_embedder_and_generator():
    """Plain spans with keys of the application's own."""
    embed = span("v", attributes={"app.step": "embedder", "app.t": Q})
    answer = span("g", attributes={"app.step": "generator", "app.p": PROMPT, "app.a": A})
    given = [
        {"stage": "embedder", "texts": "app.t"},
        {"stage": "generator", "prompt": "app.p", "answer": "app.a"},
    ]
    (run,) = runs_of(given, embed, retriever("r", Q, PAGE), answer)
    assert run.embedders[0].texts.value == (Q,)
    assert run.generators[0].answer.value == A
    (same,) = runs_of([], embedding("v", Q), retriever("r", Q, PAGE), llm("g", PROMPT, A))
    assert {stage: state.steps for stage, state in run.stages.items()} == {
        stage: state.steps for stage, state in same.stages.items()
    }

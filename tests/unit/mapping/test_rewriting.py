"""Which LLM calls are rewriters, and of which kind."""

import pytest
from span_trees import embedding, llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.embedding import find_embeddings
from otel_raglog.mapping.retrieving import find_search
from otel_raglog.mapping.rewriting import find_rewrites, search_texts
from otel_raglog.model import RewriteKind, present

Q = "When does it leave at night?"
PASSAGE = " ".join(["The night ferry leaves the harbour late in the evening"] * 3) + "."


@pytest.fixture
def rewrites(view_of):
    def find(*nodes):
        view = view_of(oi("CHAIN", "app", *nodes, given=Q))
        retrievals = find_search(view).retrievals
        targets = search_texts(retrievals, find_embeddings(view, retrievals))
        steps = find_rewrites(view, llm_calls(view), targets, retrievals, present(Q))
        return [(step.kind, step.rewrites.value) for step in steps]

    return find


def test_output_that_is_searched_for(rewrites):
    """An output that becomes the search text is a rewrite, whatever the call is named."""
    found = rewrites(
        llm("m", f"Make it short: {Q}", "night departure"), retriever("r", "night departure", "x")
    )
    assert found == [(RewriteKind.REWRITE, ("night departure",))]


def test_rewrite_that_equals_the_question(rewrites):
    """An unchanged question is a rewrite all the same."""
    assert rewrites(llm("m", Q, Q), retriever("r", Q, "x")) == [(RewriteKind.REWRITE, (Q,))]


def test_several_queries(rewrites):
    """Lines that were searched for are several queries."""
    found = rewrites(
        llm("m", Q, "1. one query\n2. other words"),
        retriever("r", "one query", "x"),
        retriever("r", "other words", "x"),
    )
    assert found == [(RewriteKind.MULTI_QUERY, ("one query", "other words"))]


def test_condensing(rewrites):
    """A call that saw the talk before condenses."""
    talk = [("user", "q0"), ("assistant", "a0"), ("user", "and at night?")]
    found = rewrites(llm("m", talk, "full question"), retriever("r", "full question", "x"))
    assert found[0][0] is RewriteKind.CONDENSE


def test_hypothetical_passage(rewrites):
    """A passage that is embedded while the question is searched for is HyDE."""
    found = rewrites(
        llm("m", f"Write a passage to answer the question. {Q}", PASSAGE),
        retriever("r", Q, "x", children=[embedding("e", PASSAGE)]),
    )
    assert found == [(RewriteKind.HYDE, (PASSAGE,))]


def test_unmatched_but_told_to_rewrite(rewrites):
    """What was searched may not be recorded: a call told to rewrite counts."""
    found = rewrites(
        llm("m", f"Rewrite the question: {Q}", "night times"),
        oi("RETRIEVER", "r", said=[{"text": "x"}]),
    )
    assert found == [(RewriteKind.REWRITE, ("night times",))]


@pytest.mark.parametrize(
    "nodes",
    [
        [llm("router", f"Choose a store for: {Q}", "vectorstore"), retriever("r", Q, "x")],
        [llm("m", f"Rewrite needed? {Q}", "yes"), retriever("r", Q, "x")],
        [retriever("r", Q, "x"), llm("m", f"Rewrite the question: {Q}", "night departure")],
        [
            retriever("r", "a", "a chunk that is long enough to see"),
            llm("m", "Rewrite as an answer: a chunk that is long enough to see", "b"),
            retriever("r", "c", "x"),
        ],
    ],
)
def test_what_is_no_rewriter(rewrites, nodes):
    """Routers, decisions, calls after the search and calls that read chunks are none."""
    assert rewrites(*nodes) == []


def test_a_call_that_lasts_until_its_tools_are_done(rewrites):
    """What it asks a tool for is known when the tool is called, before the span ends."""
    asked = {
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"query": "night"}',
    }
    call = llm("m", Q, "", attributes=asked, start=10, end=90)
    search = retriever("find", "night", "x", start=20, end=80)
    assert rewrites(call, search) == [(RewriteKind.REWRITE, ("night",))]
    assert rewrites(llm("m", Q, "night", start=10, end=90), search) == []


def test_a_filter_written_beside_the_query(view_of):
    """A self-query's filter is kept with its rewrite: the search may not record it."""
    said = '{"query": "night times", "filter": "eq(\\"year\\", 2025)"}'
    view = view_of(
        oi("CHAIN", "app", llm("m", Q, said), retriever("r", "night times", "x"), given=Q)
    )
    retrievals = find_search(view).retrievals
    targets = search_texts(retrievals, ())
    (step,) = find_rewrites(view, llm_calls(view), targets, retrievals, present(Q))
    assert step.rewrites.value == ("night times",)
    assert step.filters == 'eq("year", 2025)'

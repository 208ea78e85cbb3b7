"""Searches in tools, and rewriters that searches call themselves."""

from __future__ import annotations

import json

import pytest
from span_trees import embedding, llm, oi, retriever, trace_of

from otel_raglog.checks.rules.rewriter import RewriterRules
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import RewriteKind, Stage

Q = "What does the night ferry cost in 2025?"
A = "The night ferry costs 31 euros in 2025."
FARES = "In 2025 a foot passenger pays 31 euros on the night ferry to Sandmouth."
TALK = "The ferry office answers before any substantive conversation about fares."
PAGES = [{"id": "p1", "text": FARES}, {"id": "p2", "text": TALK}]


def only(*roots):
    (run,) = map_trace(trace_of(*roots))
    return run


def answered(*parts):
    answer = llm("chat", f"Sources:\n{FARES}\n{TALK}\n\nQuestion: {Q}", A)
    return oi("CHAIN", "answer", *parts, answer, given=Q, said=A)


def ids(run):
    return [[chunk.id for chunk in step.chunks.value] for step in run.retrievers]


def test_an_artifact_is_what_a_tool_found():
    """Of content and artifact (LangChain) the artifact has the documents, with ids."""
    found = [
        {"id": "p1", "metadata": {"source": "a.md"}, "page_content": FARES, "type": "Document"},
        {"id": "p2", "metadata": {"source": "b.md"}, "page_content": TALK, "type": "Document"},
    ]
    said = {
        "type": "tool",
        "data": {"content": f"Source: a.md\n{FARES}\n\nSource: b.md\n{TALK}", "artifact": found},
    }
    run = only(answered(oi("TOOL", "retrieve_context", given="ferry fares", said=said)))
    assert ids(run) == [["p1", "p2"]]
    assert [chunk.text for chunk in run.retrievers[0].chunks.value] == [FARES, TALK]


def test_an_artifact_that_holds_no_documents():
    """Another artifact says nothing of documents: the content is the result."""
    said = {"type": "tool", "data": {"content": FARES, "artifact": ["chart.png"]}}
    run = only(answered(oi("TOOL", "retrieve_context", given="ferry fares", said=said)))
    assert [chunk.text for chunk in run.retrievers[0].chunks.value] == [FARES]


def test_a_tool_that_hands_on_documents_searches():
    """A list of documents for a query is a search, whatever the tool is called."""
    for tool in (
        oi("TOOL", "fetch_pages", given={"query": Q}, said=PAGES),
        oi("TOOL", "fetch_pages", embedding("e", Q), given={"x": "fares"}, said=PAGES),
        oi("TOOL", "fetch_pages", given={"query": Q}, said=json.dumps({"results": PAGES})),
    ):
        run = only(answered(tool))
        assert ids(run) == [["p1", "p2"]]
        assert "hands on documents" in run.retrievers[0].origin.why


def test_a_function_that_embeds_and_hands_on_documents_searches():
    """So does a function of kind CHAIN around an embedding."""
    run = only(answered(oi("CHAIN", "fetch_pages", embedding("e", Q), given={"q": Q}, said=PAGES)))
    assert ids(run) == [["p1", "p2"]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"order": "A-77"}, [{"id": 1, "text": "two tickets"}]),
        ({"query": Q}, ["two tickets", "one cabin"]),
        ({"query": Q}, {"fare": 31}),
    ],
)
def test_other_tools_do_not_search(given, said):
    """A look-up by key, plain strings and figures are no documents for a query."""
    run = only(answered(oi("TOOL", "fetch_order", given=given, said=said)))
    assert run.retrievers == ()


def test_a_later_hop_is_no_condensed_question():
    """What a retrieved page says is no instruction: a talk in it makes no follow-up question."""
    calls = []
    prompt = [("system", "You may search the wiki."), ("user", Q)]
    for query, page in (("night ferry fares", FARES), ("ferry office fares", TALK)):
        said = {"tool_calls": [{"name": "search_wiki", "arguments": {"query": query}}]}
        calls.append(llm("chat", prompt, "", said=said))
        calls.append(oi("TOOL", "search_wiki", given=query, said=[{"id": page[:8], "text": page}]))
        prompt = [*prompt, ("assistant", ""), ("tool", page), ("tool", TALK)]
    run = only(oi("CHAIN", "agent", *calls, llm("chat", prompt, A), given=Q, said=A))
    assert [step.kind for step in run.rewriters] == [RewriteKind.REWRITE, RewriteKind.REWRITE]


SELF_QUERY = (
    "Your goal is to structure the user's query to match the request schema provided below.\n"
    f"User Query:\n{Q}\nStructured Request:"
)
WRITTEN = '```json\n{"query": "night ferry fare", "filter": "eq(\\"year\\", 2025)"}\n```'


def beside(name, call, *, start=10, end=50):
    """Return a retriever with the chain that it calls recorded beside it, in its time."""
    found = retriever(name, Q, ("p1", FARES), ("p2", TALK), start=start, end=end)
    inner = oi("CHAIN", "RunnableSequence", call, given=Q, said="x", start=12, end=30)
    parts = oi("CHAIN", "RunnableSequence", found, inner, given=Q, said="x", start=5, end=55)
    answer = llm("chat", f"{FARES}\n{TALK}\nQuestion: {Q}", A, start=60, end=90)
    return oi("CHAIN", "answer", parts, answer, given=Q, said=A, start=0, end=100)


def test_a_self_query_beside_its_retriever():
    """What was searched shows nowhere but in the output: the query and the filter in it."""
    run = only(beside("SelfQueryRetriever", llm("chat", SELF_QUERY, WRITTEN, start=14, end=20)))
    assert [step.rewrites.value for step in run.rewriters] == [("night ferry fare",)]
    assert "2025" in run.retrievers[0].filters


def test_a_constraint_in_the_filter_is_not_dropped():
    """A self-query that moves the year into its filter keeps it."""
    run = only(beside("SelfQueryRetriever", llm("chat", SELF_QUERY, WRITTEN, start=14, end=20)))
    found = {m.name: m.value for m in RewriterRules().measure(run)}
    assert found["rewriter.numbers_dropped"] == 0


def test_a_hypothetical_answer_in_a_retriever():
    """A HyDE embedder's passage is a rewrite, though its embedding left no span."""
    told = f"Please write a passage to answer the question\nQuestion: {Q}\nPassage:"
    passage = "Night ferries are cheap. " * 10
    run = only(beside("VectorStoreRetriever", llm("chat", told, passage, start=14, end=20)))
    assert [step.kind for step in run.rewriters] == [RewriteKind.HYDE]


@pytest.mark.parametrize("nested", [True, False])
def test_any_call_of_a_search_before_it_finds_something(nested):
    """A retriever's own LLM call is a rewriter, however it is told; its name need not say so."""
    call = llm("chat", f"Three ideas for: {Q}", "ferry price list", start=14, end=20)
    if nested:
        found = retriever("Ideas", Q, ("p1", FARES), children=[call], start=10, end=50)
        root = answered(found)
    else:
        root = beside("Ideas", call)
    run = only(root)
    assert [step.rewrites.value for step in run.rewriters] == [("ferry price list",)]


def test_calls_that_read_what_was_found_rewrite_nothing():
    """An extractor within a retriever comes after a search: it is no rewriter."""
    within = [
        retriever("VectorStoreRetriever", Q, ("p1", "__REDACTED__"), start=11, end=20),
        llm("chat", "Extract what matters from: __REDACTED__", "31 euros", start=25, end=30),
    ]
    outer = retriever("Extracting", Q, ("p1", FARES), children=within, start=10, end=50)
    run = only(answered(outer))
    assert run.stages[Stage.REWRITER].absent


def test_a_call_beside_a_search_in_parallel_is_none_of_its_calls():
    """A call that outlasts the retriever beside it was not made by it."""
    call = llm("chat", f"Classify: {Q}", "fares", start=14, end=60)
    found = retriever("VectorStoreRetriever", Q, ("p1", FARES), start=10, end=50)
    answer = llm("chat", f"{FARES}\nQuestion: {Q}", A, start=70, end=90)
    run = only(oi("CHAIN", "answer", found, call, answer, given=Q, said=A, start=0, end=100))
    assert run.rewriters == ()

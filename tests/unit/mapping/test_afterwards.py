"""Searches and embeddings after the answer are no part of how it came about."""

import json
import random

import pytest
from span_trees import embedding, llm, oi, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, Stage, Trace

Q = "On which deck of the Brightwater are dogs allowed?"
A = "Dogs are allowed on the aft deck, on a lead."
DOGS = "Dogs are allowed on the aft deck of the Brightwater. They must be kept on a lead."
BIKES = "Bicycles travel free of charge on the car deck, if there is room for them."
TICKETS = "Tickets can be refunded up to 48 hours before departure. A fee of 5 euro is kept."


def prompt(*chunks, ask=Q):
    return [
        ("system", "Answer from the context.\n\nContext:\n" + "\n\n".join(chunks)),
        ("user", ask),
    ]


FOUND = retriever("search", Q, DOGS, BIKES)
ANSWERED = llm("answer", prompt(DOGS, BIKES), A)
EXCHANGE = f"User: {Q}\nAssistant: {A}"
NOTES = llm(
    "memory",
    [("system", "Extract facts about the user as JSON."), ("user", EXCHANGE)],
    json.dumps({"facts": ["User travels with a dog"]}),
)
UPDATED = llm(
    "memory",
    [("user", 'Old memory: ["User likes ferries a lot"]. New facts: ["User travels with a dog"]')],
    json.dumps({"memory": [{"id": "0", "text": "User travels with a dog", "event": "ADD"}]}),
)
NEXT = llm(
    "suggest",
    [("system", "Suggest one question."), ("user", f"{Q}\n{A}")],
    "Do dogs need a ticket?",
)
TITLE = llm("title", [("system", "Name this talk."), ("user", EXCHANGE)], "Brightwater pets")
AFTERWARDS = {
    "citations": (embedding("embed", A), retriever("search", A, DOGS)),
    "memory": (
        NOTES,
        embedding("embed", "User travels with a dog"),
        retriever("memory", "User travels with a dog"),
    ),
    "memory that is updated": (
        NOTES,
        retriever("memory", "User travels with a dog", "User likes ferries a lot"),
        UPDATED,
    ),
    "the next question": (
        NEXT,
        embedding("embed", "Do dogs need a ticket?"),
        retriever("search", "Do dogs need a ticket?", TICKETS),
    ),
    "a title after it": (embedding("embed", A), retriever("search", A, DOGS), TITLE),
    "a store of the talk": (embedding("embed", EXCHANGE),),
    "a store of the answer": (embedding("embed", A),),
}


def only(trace):
    (run,) = map_trace(trace)
    return run


@pytest.mark.parametrize("root", ["silent", "with texts"])
@pytest.mark.parametrize("after", AFTERWARDS.values(), ids=AFTERWARDS)
def test_what_follows_the_answer(root, after):
    """The answer stays, nothing rewrites, and only what was found for it counts."""
    steps = (embedding("embed", Q), FOUND, ANSWERED, *after)
    top = (
        span("POST /ask", *steps)
        if root == "silent"
        else oi("CHAIN", "app", *steps, given=Q, said=A)
    )
    trace = trace_of(top)
    run = only(trace)
    assert (run.question.value, run.answer.value) == (Q, A)
    assert run.rewriters == ()
    assert run.stages[Stage.REWRITER].absent
    assert [step.texts.value for step in run.embedders] == [(Q,)]
    assert [step.query.value for step in run.retrievers] == [Q]
    assert [step.origin.name for step in run.generators] == ["answer"]
    mixed = list(trace.spans)
    random.Random(1).shuffle(mixed)
    assert only(Trace(trace.trace_id, tuple(mixed), trace.completion)) == run


def test_a_further_search_before_the_answer():
    """What an LLM writes after it read is a query, if another call answers from what is found."""
    thought = "The Brightwater is a ferry. Next the rules for dogs are needed."
    run = only(
        trace_of(
            span(
                "POST /ask",
                FOUND,
                llm("reason", prompt(DOGS, BIKES), thought),
                retriever("search", thought, TICKETS),
                llm("answer", prompt(DOGS, TICKETS), A),
            )
        )
    )
    assert [step.origin.name for step in run.generators] == ["answer"]
    assert [step.query.value for step in run.retrievers] == [Q, thought]
    assert [step.rewrites.value for step in run.rewriters] == [(thought,)]


@pytest.mark.parametrize(
    "written",
    [
        "rules for dogs on ferries",
        "Which rules hold for dogs?",
        "Action: search\nAction Input: dogs",
    ],
)
def test_an_answer_that_left_no_span(written):
    """A query that an LLM wrote after it read is no answer, though no other call is there."""
    sought = written.rpartition("Input: ")[2]
    run = only(
        trace_of(
            span(
                "POST /ask",
                FOUND,
                llm("reason", prompt(DOGS, BIKES), written),
                retriever("search", sought, TICKETS),
            )
        )
    )
    assert run.generators == ()
    assert len(run.retrievers) == 2


def test_a_rewriter_that_has_read_before():
    """What is told to rewrite the question for a better search writes no answer."""
    told = [("system", f"Rewrite the question for a better search. Found: {DOGS}"), ("user", Q)]
    steps = (FOUND, llm("rewrite", told, "Rules for dogs on decks."))
    run = only(
        trace_of(
            span("POST /ask", *steps, retriever("search", "Rules for dogs on decks.", TICKETS))
        )
    )
    assert run.generators == ()
    assert [step.rewrites.value for step in run.rewriters] == [("Rules for dogs on decks.",)]


def test_a_trace_that_was_cut_short():
    """The call that answers may be still to come."""
    steps = (FOUND, ANSWERED, retriever("search", A, DOGS))
    run = only(trace_of(span("POST /ask", *steps), completion=Completion.MAX_WAIT))
    assert len(run.retrievers) == 2


def test_spans_without_times():
    """Where no times tell what came first nothing is left out."""
    steps = [
        embedding("embed", Q, start=5, end=5),
        retriever("search", Q, DOGS, start=5, end=5),
        llm("answer", prompt(DOGS), A, start=5, end=5),
    ]
    run = only(trace_of(oi("CHAIN", "app", *steps, given=Q, said=A, start=5, end=5)))
    assert len(run.retrievers) == len(run.embedders) == len(run.generators) == 1


def test_an_answer_in_pieces():
    """A search between the pieces of an answer serves the next one."""
    first, second = (
        "Dogs are allowed on the aft deck of the ship.",
        "Tickets are refunded for 5 euro.",
    )
    steps = (
        FOUND,
        llm("answer", prompt(DOGS), first),
        retriever("search", "ticket refund", TICKETS),
        llm("answer", prompt(TICKETS), second),
    )
    run = only(trace_of(oi("CHAIN", "app", *steps, given=Q, said=f"{first} {second}")))
    assert len(run.retrievers) == 2


def test_an_embedding_of_what_was_searched_for():
    """Whenever it was made, it is the query's."""
    run = only(
        trace_of(oi("CHAIN", "app", FOUND, ANSWERED, embedding("embed", Q), given=Q, said=A))
    )
    assert [step.texts.value for step in run.embedders] == [(Q,)]

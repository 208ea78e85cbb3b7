"""The user's question, where an LLM call wrote what the later ones are asked."""

import itertools
from dataclasses import replace

import pytest
from span_trees import llm, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace

Q = "When does the pool open and what does a locker cost?"
ONE, TWO = "When does the pool open?", "What does a locker cost?"
POOL = "The pool opens at half past six on weekdays, says the office of the harbour baths."
LOCKER = "A locker costs two euro, which are given back when the key is returned to the desk."
OPENS, COSTS = "It opens at half past six on weekdays.", "A locker costs two euro."


def part(question, answer, page, search=None):
    prompt = [("system", f"Context:\n{page}"), ("user", question)]
    return retriever("search", search or question, page), llm("part", prompt, answer)


def question_of(*parts):
    trace = trace_of(span("POST /ask", *parts))
    (run,) = map_trace(trace)
    for order in itertools.islice(itertools.permutations(trace.spans), 0, 500, 61):
        assert map_trace(replace(trace, spans=order)) == (run,)
    return run.question.value


REWRITTEN = {
    "system": [("system", "Rewrite the question."), ("user", "pool when??")],
    "label": "Rewrite the question.\n\nQuestion: pool when??\n\nRewritten:",
    "tag": "Write a search query.\n<question>pool when??</question>",
}


@pytest.mark.parametrize("prompt", REWRITTEN.values(), ids=REWRITTEN)
def test_after_a_rewriter(prompt):
    """What the rewriter was asked is the question, not what it wrote."""
    assert question_of(llm("rewrite", prompt, ONE), *part(ONE, OPENS, POOL)) == "pool when??"


def test_after_two_rewriters():
    """Of a row of rewriters the first one was asked the question."""
    first = llm("keywords", [("system", "Extract."), ("user", "pool when??")], "pool opening")
    second = llm("rewrite", [("system", "Rewrite it."), ("user", "pool opening")], ONE)
    assert question_of(first, second, *part(ONE, OPENS, POOL)) == "pool when??"


@pytest.mark.parametrize(
    "prompt",
    [
        "Rewrite this as a question: pool when??",
        [("user", "Given this talk, write a search query")],
    ],
)
def test_instructions_are_no_question(prompt):
    """Where the rewriter's prompt is instructions with the question in them, what it wrote stays."""
    assert question_of(llm("rewrite", prompt, ONE), *part(ONE, OPENS, POOL)) == ONE


def test_a_call_that_says_its_question_again():
    """A router that hands on a part of what it was told is no rewriter."""
    told = [("system", "Route it."), ("user", f"{ONE} [user 5]")]
    assert question_of(llm("route", told, ONE), *part(ONE, OPENS, POOL)) == ONE


def plan(said):
    return llm("plan", [("system", "Make a plan."), ("user", Q)], said)


def test_the_last_part_of_a_question():
    """What was taken apart is the question, whether or not the parts were searched for as such."""
    parts = (*part(ONE, OPENS, POOL), *part(TWO, COSTS, LOCKER))
    assert question_of(plan(f'{{"questions": ["{ONE}", "{TWO}"]}}'), *parts) == Q
    searched = (*part(ONE, OPENS, POOL, "opening"), *part(TWO, COSTS, LOCKER, "locker fee"))
    assert question_of(plan(f"1. {ONE}\n2. {TWO}"), *searched) == Q


def test_a_prompt_that_says_more_than_the_question():
    """A combining call's prompt has the question in it, as the planner was given it."""
    pairs = f"Use these to answer the question: {Q}\nQ1: {ONE}\nA1: {OPENS}\nQ2: {TWO}\nA2: {COSTS}"
    parts = (*part(ONE, OPENS, POOL), *part(TWO, COSTS, LOCKER))
    combine = llm("combine", pairs, "At half past six; two euro.")
    assert question_of(plan(f"{ONE}\n{TWO}"), *parts, combine) == Q

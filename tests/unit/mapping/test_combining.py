"""Calls that make one answer of several, told from those that answer a part."""

import pytest
from span_trees import llm, oi, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace

Q = "When does the pool open and what does a locker cost?"
ONE, TWO = "When does the pool open?", "What does a locker cost?"
POOL = "The pool opens at half past six on weekdays, says the office of the harbour baths."
LOCKER = "A locker costs two euro, which are given back when the key is returned to the desk."
OPENS, COSTS = "It opens at half past six on weekdays.", "A locker costs two euro."
BOTH = "The pool opens at half past six on weekdays, and a locker costs two euro."


def part(question, answer, page):
    prompt = [("system", f"Context:\n{page}"), ("user", question)]
    return retriever("search", question, page), llm("part", prompt, answer)


PARTS = (*part(ONE, OPENS, POOL), *part(TWO, COSTS, LOCKER))


def answer_of(*parts):
    (run,) = map_trace(trace_of(span("POST /ask", *parts)))
    return run.answer.value


PLAN = llm("plan", [("system", "Split the question."), ("user", Q)], f"{ONE}\n{TWO}")


@pytest.mark.parametrize(
    "prompt",
    [
        f"Question: {Q}\n\n{ONE}\n{OPENS}\n\n{TWO}\n{COSTS}",
        [("system", f"Combine the results.\n1. {OPENS}\n2. {COSTS}"), ("user", Q)],
        [("system", "Combine."), ("user", Q), ("assistant", OPENS), ("assistant", COSTS)],
    ],
    ids=["pairs", "results", "messages"],
)
def test_the_answers_to_parts(prompt):
    """The call that was told two answers gives the answer, though it was shown no page."""
    assert answer_of(PLAN, *PARTS, llm("combine", prompt, BOTH)) == BOTH


def test_answers_of_a_word_or_two():
    """They are known by being lines of the prompt."""
    short = (*part(ONE, "6:30", POOL), *part(TWO, "2 euro", LOCKER))
    combine = llm("combine", f"Results:\n1. 6:30\n2. 2 euro\n\nQuestion: {Q}", BOTH)
    assert answer_of(PLAN, *short, combine) == BOTH


def test_a_long_answer_of_which_little_is_taken():
    """What the combining call leaves out of the last part makes it no helper."""
    long = f"{COSTS} {'It has a digital lock with four numbers. ' * 9}".strip()
    parts = (*part(ONE, OPENS, POOL), *part(TWO, long, LOCKER))
    combine = llm("combine", f"Question: {Q}\n\n{OPENS}\n{long}", BOTH)
    assert answer_of(PLAN, *parts, combine) == BOTH


def test_an_answer_of_answers():
    """What was combined may be combined once more; what is told of it all comes after it."""
    first = llm("combine", f"Question: {Q}\n\n{OPENS}\n{COSTS}", BOTH)
    both = (PLAN, *PARTS, first)
    title = llm("title", f"Write a title.\n\n{OPENS}\n{COSTS}\n{BOTH}", "Baths")
    assert answer_of(*both, title) == BOTH
    grade = llm("grade", f"Is it grounded?\n\n{OPENS}\n{COSTS}\n{BOTH}", "yes")
    assert answer_of(*both, grade) == BOTH


def test_an_agent_that_goes_on():
    """An agent that is told what another one found answers, as it began before that one."""
    begun = [("system", "You manage agents."), ("user", ONE)]
    finding = "Finding: it opens at half past six."
    inner = oi("AGENT", "researcher", retriever("search", ONE, POOL), llm("find", POOL, finding))
    begin = llm("manager", begun, "I ask the researcher.")
    end = llm("manager", [*begun, ("assistant", finding)], OPENS)
    assert answer_of(begin, inner, end) == OPENS
    other = llm("title", [("system", "Title."), ("user", ONE), ("assistant", finding)], "Pool")
    assert answer_of(begin, inner, other) == finding

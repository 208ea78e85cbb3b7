"""Pipelines beside one another, with input and output of their own, below the span of a request."""

import itertools
from dataclasses import replace

import pytest
from span_trees import llm, oi, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace

Q = "When does the pool open and what does a locker cost?"
ONE, TWO = "When does the pool open?", "What does a locker cost?"
POOL = "The pool opens at half past six on weekdays, says the office of the harbour baths."
LOCKER = "A locker costs two euro, which are given back when the key is returned to the desk."
OPENS, COSTS = "It opens at half past six on weekdays.", "A locker costs two euro."
BOTH = "The pool opens at half past six on weekdays, and a locker costs two euro."
WARM = "Good news! On weekdays it opens at half past six."
GERMAN = "An Werktagen öffnet es um halb sieben."


def rag(question, answer, page=POOL, name="chain", given=None, more="", **options):
    prompt = [("system", f"Context:\n{page}"), ("user", f"{more}{question}")]
    return oi(
        "CHAIN",
        name,
        retriever("search", question, page),
        llm("answer", prompt, answer),
        given=given or question,
        said=answer,
        **options,
    )


def step(given, told, asked, said, name="chain", **options):
    """Return a pipeline of one LLM call."""
    call = llm("call", [("system", told), ("user", asked)], said)
    return oi("CHAIN", name, call, given=given, said=said, **options)


def runs_of(*parts):
    """Return the runs, which do not depend on the order of the spans."""
    trace = trace_of(span("POST /ask", *parts))
    runs = map_trace(trace)
    orders = itertools.islice(itertools.permutations(trace.spans), 0, 3_000, 101)
    assert all(map_trace(replace(trace, spans=order)) == runs for order in orders)
    return [(run.question.value, run.answer.value) for run in runs], runs


REWRITE = step({"question": "pool when??"}, "Rewrite the question.", "pool when??", ONE)
SPLIT = step({"question": Q}, "Split the question.", Q, f"1. {ONE}\n2. {TWO}")
PAIRS = f"Q1: {ONE}\nA1: {OPENS}\n\nQ2: {TWO}\nA2: {COSTS}"
COMBINE = step({"context": PAIRS, "question": Q}, "", f"Answer {Q}\nfrom\n{PAIRS}", BOTH)


def test_a_rewriter_and_the_pipeline_that_asks_what_it_wrote():
    """The question is what the rewriter was given, whatever the pipelines are called."""
    for name in ("chain", "other"):
        found, (run,) = runs_of(REWRITE, rag(ONE, OPENS, name=name))
        assert found == [("pool when??", OPENS)]
        assert [rewrite.rewrites.value for rewrite in run.rewriters] == [(ONE,)]


@pytest.mark.parametrize(
    ("told", "said"),
    [("Make it friendlier.", WARM), ("Translate into German.", GERMAN)],
    ids=["tone", "language"],
)
def test_an_answer_in_other_words(told, said):
    """The answer is what the last pipeline made of it, the generator the one that saw the pages."""
    found, (run,) = runs_of(rag(ONE, OPENS), step({"text": OPENS}, told, OPENS, said))
    assert found == [(ONE, said)]
    assert (run.generators[0].origin.name, run.generators[0].draft.value) == ("answer", OPENS)


def test_a_title_is_no_answer():
    """What a later pipeline was told is one run with it, but not always the answer."""
    text = f"{ONE} {OPENS}"
    found, _ = runs_of(rag(ONE, OPENS), step({"text": text}, "Write a title.", text, "Pool times"))
    assert found == [(ONE, OPENS)]


def test_parts_of_a_question():
    """Parts that are answered by themselves and then combined are one question."""
    found, (run,) = runs_of(SPLIT, rag(ONE, OPENS), rag(TWO, COSTS, LOCKER), COMBINE)
    assert found == [(Q, BOTH)]
    assert run.rewriters[0].rewrites.value == (ONE, TWO)
    assert len(run.retrievers) == 2


def test_parts_of_a_question_by_plain_calls():
    """The calls that take apart and combine need no pipeline of their own around them."""
    split = llm("split", [("system", "Split the question."), ("user", Q)], f"{ONE}\n{TWO}")
    combine = llm("combine", f"Answer the question: {Q}\n\n{PAIRS}", BOTH)
    found, _ = runs_of(split, rag(ONE, OPENS), rag(TWO, COSTS, LOCKER), combine)
    assert found == [(Q, BOTH)]


def test_a_part_that_is_shown_the_answer_to_the_one_before():
    """The last part answers it all."""
    last = rag(TWO, BOTH, LOCKER, more=f"Known: {ONE} {OPENS}\n\nQuestion: ")
    found, _ = runs_of(SPLIT, rag(ONE, OPENS), last)
    assert found == [(Q, BOTH)]


def test_questions_that_one_wrote_for_others():
    """Questions that are never put together again (a test set) are runs of their own."""
    found, _ = runs_of(SPLIT, rag(ONE, OPENS), rag(TWO, COSTS, LOCKER))
    assert found[-2:] == [(ONE, OPENS), (TWO, COSTS)]


def test_a_part_in_other_words():
    """What is combined with parts of a question is one, too."""
    third = rag("Is there a sauna?", "There is a sauna on the roof.", "Notes on the sauna.")
    text = f"{PAIRS}\n\nThere is a sauna on the roof."
    combine = llm("combine", f"Question: {Q}\n\n{text}", BOTH)
    found, _ = runs_of(SPLIT, rag(ONE, OPENS), rag(TWO, COSTS, LOCKER), third, combine)
    assert found == [(Q, BOTH)]


def test_any_questions_put_together():
    """With a question of its own what combines answers is asked it; else it is about several."""
    found, _ = runs_of(rag(ONE, OPENS), rag(TWO, COSTS, LOCKER), COMBINE)
    assert found == [(Q, BOTH)]
    text = f"{OPENS}\n{COSTS}"
    digest = step({"text": text}, "Sum up.", text, "Opening and lockers.")
    found, _ = runs_of(rag(ONE, OPENS), rag(TWO, COSTS, LOCKER), digest)
    assert found[:2] == [(ONE, OPENS), (TWO, COSTS)]


def test_a_second_try():
    """The same once more after an error is one run; without one it may be another user's."""
    failed = oi("CHAIN", "chain", llm("answer", ONE, ""), given=ONE, error="timeout")
    found, _ = runs_of(failed, rag(ONE, OPENS))
    assert found == [(ONE, OPENS)]
    found, _ = runs_of(rag(ONE, "", error="timeout"), rag(ONE, OPENS))
    assert found == [(ONE, OPENS)]
    found, _ = runs_of(rag(ONE, OPENS), rag(ONE, WARM))
    assert found == [(ONE, OPENS), (ONE, WARM)]
    found, _ = runs_of(rag(TWO, "", error="timeout"), rag(ONE, OPENS))
    assert len(found) == 2


def test_independent_questions():
    """Side by side or one after the other, each with its own steps, they stay apart."""
    found, _ = runs_of(rag(ONE, OPENS), rag(TWO, COSTS, LOCKER))
    assert found == [(ONE, OPENS), (TWO, COSTS)]
    other = step({"question": "locker fee"}, "Rewrite the question.", "locker fee", TWO)
    found, _ = runs_of(REWRITE, rag(ONE, OPENS), other, rag(TWO, COSTS, LOCKER))
    assert found == [("pool when??", OPENS), ("locker fee", COSTS)]
    at_once = [rag(ONE, TWO, start=10, end=30), rag(TWO, COSTS, LOCKER, start=11, end=31)]
    assert len(runs_of(*at_once)[0]) == 2


def test_turns_of_a_talk():
    """An answer in the history of the next turn does not make it a part of the same run."""
    talk = [("user", ONE), ("assistant", OPENS), ("user", "Thank you!")]
    state = {"messages": [{"role": role, "content": text} for role, text in talk]}
    told = {"chat_history": f"{ONE} {OPENS}", "question": "Thank you!"}
    written = f"Human: {ONE}\nAI: {OPENS}\nHuman: Thank you!"
    for given, prompt in ((state, talk), (told, talk), (written, written)):
        call = llm("call", prompt, "You are welcome.")
        turn = oi("CHAIN", "chain", call, given=given, said="You are welcome.")
        found, _ = runs_of(rag(ONE, OPENS), turn)
        assert len(found) == 2


def test_a_word_in_both_is_chance():
    """A verdict, an answer that instructions quote, and a judge's input chain nothing."""
    verdict = step("Is it safe?", "Answer yes or no.", "Is it safe? Say yes.", "yes")
    assert len(runs_of(rag(ONE, "Yes."), verdict)[0]) == 2
    quoted = step("Hi", "If you are not sure, say: I do not know.", "Hi", "Hello!")
    assert len(runs_of(rag(ONE, "I do not know."), quoted)[0]) == 2
    text = f"{ONE} {OPENS}"
    judge = step(text, "Grade the answer.", text, '{"score": 1}')
    found, _ = runs_of(rag(ONE, OPENS), judge)
    assert found[0] == (ONE, OPENS)


def test_a_long_row_costs_no_more_for_each():
    """Only the nearest spans are compared, and a row of questions stays a row of runs."""
    many = [rag(f"Question number {n}?", f"The answer is number {n}.") for n in range(60)]
    found = map_trace(trace_of(span("batch", *many)))
    assert [run.answer.value for run in found] == [f"The answer is number {n}." for n in range(60)]

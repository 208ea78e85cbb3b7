"""Which thread a call goes on with where several could be meant."""

from __future__ import annotations

import random

import pytest
from bridge_calls import SECOND, Pipeline, ids_of, vector_of

from otel_raglog_proxy_bridge.model import Document, EmbedderReading, RetrieverReading, Search
from otel_raglog_proxy_bridge.runs import Grouper

LEAVE = "Annual leave is 27 days a year for everybody."
LAPTOPS = "Laptops are replaced every four years."
FISCAL = "The fiscal year ends on 31 March."
SAME = (LEAVE, LAPTOPS, FISCAL)
TOPICS = ("leave", "laptop", "parking", "travel", "pension", "badge", "canteen", "training")
ONE_WORD = tuple(f"What is the {topic} allowance for staff?" for topic in TOPICS)
PREFIXES = (
    "What is the leave",
    "What is the leave allowance",
    "What is the leave allowance for staff",
    "What is the leave allowance for staff in May?",
)
SHORT = ("why?", "how?", "who?", "when?")
CHINESE = ("多少天年假", "电脑多久更换", "谁来批准", "什么时候开始")


def rag(question, *, rerank=False, own_search=False, rewrite="", blind=False, tries=1):
    """The steps of one question; all questions find the same passages."""
    query = rewrite or question
    steps = []
    if rewrite:
        steps.append(lambda app, **how: app.chat(f"Rewrite for search: {question}", rewrite, **how))
    steps.append(lambda app, **how: app.embed(query, **how))
    if not own_search:
        found = tuple(Document(text[:9], None if blind else text) for text in SAME)
        search = RetrieverReading((Search(None, vector_of(query), found),), 3)
        steps.append(lambda app, **how: app.call(search, **how))
    if rerank:
        steps.append(lambda app, **how: app.rerank(query, SAME, [1, 0, 2], **how))
    shown = "\n".join(SAME)
    prompt = f"Answer from these passages.\n{shown}\nQuestion: {question}\nAnswer:"
    answers = [None] * (tries - 1) + [f"So it is ({hash(question)})"]
    steps += [lambda app, answer=each, **how: app.chat(prompt, answer, **how) for each in answers]
    return steps


def refine(question):
    """Passage by passage, with the answer so far."""
    steps = rag(question)[:2]
    answer = ""
    for number, text in enumerate(SAME):
        prompt = f"Improve: {answer}\nwith {text}\nQuestion: {question}"
        answer = f"Answer number {number} to {question}"
        steps.append(lambda app, p=prompt, a=answer, **how: app.chat(p, a, **how))
    return steps


def agent(question, calls=10):
    """A model that asks for one search after another; some find what others found."""
    steps, told = [], f"user: {question}"
    for number in range(calls):
        query = f"{question} part {number}"
        tool = f'{{"query": "{query}"}}'
        steps.append(lambda app, p=told, t=tool, **how: app.chat(p, None, tool=t, **how))
        text = SAME[number % 3]
        steps.append(lambda app, q=query, t=text, **how: app.search(q, t, by_text=True, **how))
        told += f"\n{tool} {text}"
    steps.append(lambda app, p=told, **how: app.chat(p, f"Done with {question}", **how))
    return steps


def played(questions, seed, trace_of=None):
    """Play the steps of all questions at once; return found and true runs."""
    chance, app, grouper = random.Random(seed), Pipeline(), Grouper()
    waiting = [[number, list(steps)] for number, steps in enumerate(questions)]
    truth = [set() for _ in questions]
    runs = []
    while waiting:
        entry = chance.choice(waiting)
        number, steps = entry
        more = {"trace": trace_of(number)} if trace_of else {}
        call = steps.pop(0)(app, took=0.05, **more)
        app.now = call.call.started_ns + SECOND // 10
        truth[number].add(call.call.id)
        runs += grouper.add(call)
        if not steps:
            waiting.remove(entry)
    runs += grouper.flush()
    return sorted(sorted(ids_of(run)) for run in runs), sorted(map(sorted, truth))


KINDS = {
    "plain": rag,
    "rerank": lambda q: rag(q, rerank=True),
    "retriever in process": lambda q: rag(q, rerank=True, own_search=True),
    "all in process": lambda q: rag(q, own_search=True),
    "rewrite": lambda q: rag(q, rewrite=f"{q} policy"),
    "ids alone, rewritten": lambda q: rag(q, blind=True, rewrite=f"policy on {q}"),
    "failed tries": lambda q: rag(q, tries=3),
    "refine": refine,
}


# Refined answers to a question are not told from those to one that it begins.
ALIKE = [
    (kind, questions)
    for kind in ("plain", "rerank", "failed tries", "refine")
    for questions in (ONE_WORD, PREFIXES, SHORT, CHINESE)
    if kind != "refine" or questions is not PREFIXES
]


@pytest.mark.parametrize(("kind", "questions"), ALIKE)
def test_parallel_questions_that_find_the_same_are_kept_apart(kind, questions):
    """By the question in the prompt: also where it differs in a word, or begins another."""
    for seed in range(3):
        found, truth = played([KINDS[kind](each) for each in questions], seed)
        assert found == truth


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_pipelines_of_any_kind_are_kept_apart(kind):
    """With a retriever or all but the models in process, with ids alone, with rewriters."""
    for seed in range(3):
        found, truth = played([KINDS[kind](each) for each in ONE_WORD], seed)
        assert found == truth


def test_agents_in_parallel_are_kept_apart():
    """Ten tool calls each, whose results are the same."""
    found, truth = played([agent(each) for each in ONE_WORD], 1)
    assert found == truth


def test_agents_one_after_another_are_kept_apart():
    """Also when both were given the same passage, one of them more than once."""
    app, grouper = Pipeline(), Grouper()
    steps = [agent(each) for each in ONE_WORD[:3]]
    runs = [run for each in steps for step in each for run in grouper.add(step(app))]
    assert sorted(len(run.calls) for run in [*runs, *grouper.flush()]) == [21, 21, 21]


def test_an_answer_that_repeats_the_question_does_not_take_the_next_that_asks_the_same():
    """It stands in the answer, but it was asked before."""
    app, grouper = Pipeline(), Grouper()
    for _ in range(3):
        for step in refine("How much leave is there?"):
            grouper.add(step(app))
    assert [len(run.calls) for run in grouper.flush()] == [5, 5, 5]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_trace_for_each_call_tells_nothing(kind):
    """Clients begin one where the application has none: content tells then."""
    numbers = iter(range(1, 10_000))
    found, truth = played(
        [KINDS[kind](each) for each in ONE_WORD], 1, lambda _: f"{next(numbers):032x}"
    )
    # Before anything was handed on, a second call of a stage might be another question's.
    if kind == "refine":
        assert len(found) < 2 * len(truth)
    else:
        assert found == truth


def test_of_near_vectors_the_nearest_is_meant():
    """Two questions that differ in a comma may have vectors that are nearly one."""
    one, other = tuple(map(float, range(1, 65))), (*map(float, range(1, 64)), 66.0)
    app, grouper = Pipeline(), Grouper()
    grouper.add(app.call(EmbedderReading("m", ("How much leave?",), (one,))))
    grouper.add(app.call(EmbedderReading("m", ("How much, leave?",), (other,))))
    grouper.add(app.call(RetrieverReading((Search(None, one, (Document("1"),)),))))
    assert [ids_of(run) for run in grouper.flush()] == [["c1", "c3"], ["c2"]]


def test_passages_embedded_in_process_are_no_question():
    """A prompt that shows one goes on with the question, or with nothing."""
    app, grouper = Pipeline(), Grouper()
    grouper.add(app.embed(*SAME, *(f"Passage {number} of a book" for number in range(20))))
    grouper.add(app.chat(f"{LEAVE}\nHow much leave?", "27 days"))
    assert [ids_of(run) for run in grouper.flush()] == [["c1"], ["c2"]]

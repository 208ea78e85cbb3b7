"""Calls around the answer that are not it, ids used twice, and thoughts that are no answer."""

from __future__ import annotations

from itertools import permutations

import pytest
from span_trees import llm, oi, retriever, span, spans_of, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Completion, Trace

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
FARES = "A foot passenger pays 18 euros one way and 31 euros for a return ticket."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
PROMPT = [("system", f"Answer from the context.\nContext:\n{FERRY}"), ("user", Q)]
FRAMEWORK = "openinference.instrumentation.langchain"
CLIENT = "openinference.instrumentation.openai"
TOKENS = {"llm.token_count.prompt": 90, "llm.token_count.completion": 9}

HELPERS = {
    "title": llm("chat", f"Write a short title for this talk.\nUser: {Q}\nAI: {A}", "Night ferry"),
    "follow-up": llm(
        "chat",
        [("system", "Suggest three further questions."), ("user", f"{Q}\n{A}")],
        "Where does it land?\nWhat does it cost?\nAre dogs allowed?",
    ),
    "memory": llm("chat", f"Extract facts about the user as JSON.\n{Q}\n{A}", '{"facts": []}'),
    "summary": llm("chat", f"Sum up this talk.\nuser: {Q}\nassistant: {A}", "A talk of ferries."),
    "translation": llm("chat", f"Translate into French: {A}", "Le ferry part à 22 h 15."),
    "grader": llm("chat", f"Does the answer address the question?\n{Q}\n{A}", "yes"),
}


@pytest.mark.parametrize("names", [*((name,) for name in HELPERS), tuple(HELPERS)])
def test_a_call_after_the_answer_is_not_the_answer(names):
    """Where the root says nothing, the one call that was shown the chunks answers."""
    found = retriever("VectorStoreRetriever", Q, ("a", FERRY))
    helpers = [HELPERS[name] for name in names]
    (run,) = map_trace(trace_of(span("POST /chat", found, llm("chat", PROMPT, A), *helpers)))
    assert run.generators[0].answer.value == A
    assert run.answer.value == A
    assert run.question.value == Q


def test_without_chunk_texts_the_last_call_answers():
    """Where no chunk was recorded nothing tells a helper from the answer."""
    (run,) = map_trace(trace_of(span("POST /chat", llm("chat", PROMPT, A), HELPERS["title"])))
    assert run.generators[0].answer.value == "Night ferry"


def test_of_several_calls_with_chunks_the_last_call_answers():
    """Map and reduce: the calls that were shown chunks have not made the answer alone."""
    found = retriever("VectorStoreRetriever", Q, ("a", FERRY), ("b", DOGS))
    calls = [
        llm("chat", f"Is any of this relevant to {Q}\n{FERRY}", "It leaves at 22:15, it says."),
        llm("chat", f"Is any of this relevant to {Q}\n{DOGS}", "Not at all, I am afraid."),
        llm("chat", f"{Q}\nIt leaves at 22:15, it says.\nNot at all, I am afraid.", A),
    ]
    (run,) = map_trace(trace_of(span("POST /chat", found, *calls)))
    assert run.generators[0].answer.value == A


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("ids", [(b"11111111", b"22222222"), (b"22222222", b"11111111")])
def test_two_instrumentations_with_equal_times(order, ids):
    """A call seen twice from the same first to the same last moment is one call, not none."""
    times = {"attributes": TOKENS, "start": 60, "end": 90}
    spans = spans_of(
        span(
            "POST /chat",
            retriever("VectorStoreRetriever", Q, ("a", FERRY), start=10, end=50, scope=FRAMEWORK),
            llm("ChatOpenAI", PROMPT, A, id=ids[0], scope=FRAMEWORK, **times),
            llm("ChatCompletion", PROMPT, A, id=ids[1], scope=CLIENT, **times),
            start=0,
            end=100,
            scope="asgi",
        )
    )
    (run,) = map_trace(
        Trace(spans[0].trace_id, tuple(spans[i] for i in order), Completion.FILE_END)
    )
    assert run.generators[0].answer.value == A
    assert len(run.generators[0].origin.span_ids) == 2
    assert (run.tokens.prompt, run.tokens.completion) == (90, 9)


def test_three_instrumentations_with_equal_times():
    """Each of them is within the one before it."""
    times = {"attributes": TOKENS, "start": 60, "end": 90}
    calls = [
        llm(name, PROMPT, A, scope=scope, **times)
        for name, scope in (("c", "three"), ("b", "two"), ("a", "one"))
    ]
    (run,) = map_trace(trace_of(span("POST /chat", *calls, start=0, end=100, scope="asgi")))
    assert len(run.generators[0].origin.span_ids) == 3
    assert run.tokens.prompt == 90


def numbered(*, reranked=False):
    """Return a run of two searches that both call what they find ``d0``."""
    steps = []
    for query, text in ((Q, FERRY), ("ferry fares", FARES)):
        steps.append(retriever("search", query, ("d0", text)))
        if reranked:
            part = {
                "reranker.input_documents.0.document.id": "d0",
                "reranker.input_documents.0.document.content": text,
                "reranker.output_documents.0.document.id": "d0",
                "reranker.output_documents.0.document.content": text,
            }
            steps.append(oi("RERANKER", "rerank", attributes=part))
    answer = llm("chat", f"Context: {FERRY}\n{FARES}\nQuestion: {Q}", A)
    (run,) = map_trace(trace_of(oi("AGENT", "agent", *steps, answer, given=Q, said=A)))
    return run


@pytest.mark.parametrize("reranked", [False, True])
def test_results_numbered_anew_in_every_search(reranked):
    """Chunks of one id and different texts are two chunks, both of which were selected."""
    selected = numbered(reranked=reranked).assemblies[0].selected.value
    assert [chunk.text for chunk in selected] == [FERRY, FARES]


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "THINK"])
@pytest.mark.parametrize("root", [True, False])
def test_reasoning_is_no_answer(tag, root):
    """What the model thought before it answered is not what it told the user."""
    output = f"<{tag}>\nThey ask of 23:59.\n\nNo, 22:15.\n</{tag}>\n\n{A}"
    found = retriever("VectorStoreRetriever", Q, ("a", FERRY))
    call = llm("chat", PROMPT, output)
    top = oi("CHAIN", "rag", found, call, given=Q, said=output)
    (run,) = map_trace(trace_of(top if root else span("POST /chat", found, call)))
    assert run.answer.value == A
    assert run.generators[0].answer.value == A


def test_reasoning_that_the_program_cut_off():
    """The call whose output is the answer but for its reasoning is the one that answers."""
    output = f"<think>They ask of the ferry, a long and winding thought. {'Hm. ' * 60}</think>{A}"
    found = retriever("VectorStoreRetriever", Q, ("a", FERRY))
    calls = [llm("chat", PROMPT, output), llm("chat", "Name this talk", "A title")]
    (run,) = map_trace(trace_of(oi("CHAIN", "rag", found, *calls, given=Q, said=f"{A} [1]")))
    assert run.generators[0].answer.value == A


def test_reasoning_in_a_record():
    """A record's answer is read in the same way."""
    run = run_from_record({"id": "r", "question": Q, "answer": f"<think>Hm.</think>\n{A}"})
    assert run.answer.value == A

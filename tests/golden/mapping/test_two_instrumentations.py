"""One call seen by two instrumentations counts once; one trace of many questions is many runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from span_trees import embedding, llm, oi, retriever, span, spans_of, summary, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, RewriteKind, Stage, Trace

CHAINS = "openinference.instrumentation.langchain"
CLIENT = "openinference.instrumentation.openai"
Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
Q2 = "Are dogs allowed on the Aurelia?"
A2 = "Yes, on deck 4 of the Aurelia."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
TOKENS = {"llm.token_count.prompt": 90, "llm.token_count.completion": 9}


def prompt_of(chunk, question):
    return f"Context:\n{chunk}\n\nQuestion: {question}\nAnswer:"


def at(start, end, scope=CHAINS, **options):
    return {"start": start, "end": end, "scope": scope, **options}


def chain(start, question=Q, answer=A, chunk=FERRY, *inside):
    """Return a LangChain pipeline that takes 100 ms: 40 for the search, 30 for the answer."""
    return oi(
        "CHAIN",
        "RunnableSequence",
        retriever("VectorStoreRetriever", question, ("d", chunk), **at(start + 10, start + 50)),
        *inside,
        llm(
            "ChatOpenAI",
            prompt_of(chunk, question),
            answer,
            attributes=TOKENS,
            **at(start + 60, start + 90),
        ),
        given=question,
        said=answer,
        **at(start, start + 100),
    )


def client(start, question=Q, answer=A, chunk=FERRY, scope=CLIENT):
    """Return what the client library's instrumentation saw of :func:`chain`, beside it."""
    return [
        embedding("CreateEmbeddings", question, **at(start + 20, start + 30, scope)),
        llm(
            "ChatCompletion",
            prompt_of(chunk, question),
            answer,
            attributes=TOKENS,
            **at(start + 65, start + 85, scope),
        ),
    ]


def runs_of(*roots):
    return map_trace(trace_of(*roots))


@pytest.mark.parametrize("around", ["server", "nothing", "agent"])
def test_one_question(around):
    """The client's spans beside the framework's add the embedding and no second answer."""
    parts = [chain(0), *client(0)]
    if around == "server":
        parts = [span("POST", *parts, start=0, end=120, scope="asgi")]
    elif around == "agent":
        parts = [oi("AGENT", "agent", *parts, given=Q, said=A, **at(0, 120, "manual"))]
    runs = runs_of(*parts)
    assert len(runs) == 1
    assert summary(runs[0]) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": 1,
        "retriever": 1,
        "reranker": "absent",
        "assembly": 1,
        "generator": 1,
    }
    assert (runs[0].tokens.prompt, runs[0].tokens.completion) == (90, 9)


def test_two_questions_of_one_request():
    """Each question gets the embedding that lies in its own time, not the one before it."""
    second = (Q2, A2, DOGS)
    spans = [chain(0), *client(0), chain(200, *second), *client(200, *second)]
    one, two = runs_of(span("POST", *spans, start=0, end=400, scope="asgi"))
    assert [run.question.value for run in (one, two)] == [Q, Q2]
    assert [step.texts.value for step in one.embedders] == [(Q,)]
    assert [step.texts.value for step in two.embedders] == [(Q2,)]
    assert (one.tokens.prompt, two.tokens.prompt) == (90, 90)


def test_two_questions_at_once():
    """Questions answered at the same time keep their own embedding and answer."""
    second = (Q2, A2, DOGS)
    spans = [chain(0), *client(0), chain(1, *second), *client(1, *second)]
    one, two = runs_of(span("POST", *spans, start=0, end=400, scope="asgi"))
    for run, question in ((one, Q), (two, Q2)):
        assert run.question.value == question
        assert [step.texts.value for step in run.embedders] == [(question,)]
        assert run.tokens.prompt == 90


def test_a_span_beside_two_pipelines_goes_with_the_one_in_whose_time_it_lies():
    """A guardrail of the same scope that ran during the first pipeline is the first one's."""
    guard = oi("GUARDRAIL", "check", given=Q, said="fine", **at(70, 80), id=b"guardian")
    trace = trace_of(
        span("POST", chain(0), guard, chain(200, Q2, A2, DOGS), start=0, end=400, scope="asgi")
    )
    one, two = map_trace(trace)
    assert b"guardian" in one.span_ids
    assert b"guardian" not in two.span_ids


def test_a_rewriter_seen_twice():
    """A rewrite inside a retriever, seen by both, is one rewrite."""
    passage = "The night ferry to Sandmouth leaves in the late evening, most often after ten."
    told = f"Please write a passage to answer the question\nQuestion: {Q}\nPassage:"
    (run,) = runs_of(
        span(
            "POST",
            chain(0, Q, A, FERRY, llm("ChatOpenAI", told, passage, **at(12, 18))),
            llm("ChatCompletion", told, passage, **at(13, 17, CLIENT)),
            embedding("CreateEmbeddings", passage, **at(20, 30, CLIENT)),
            client(0)[1],
            start=0,
            end=120,
            scope="asgi",
        )
    )
    assert [step.kind for step in run.rewriters] == [RewriteKind.HYDE]
    assert [step.passage for step in run.embedders] == [True]


def test_the_same_question_asked_twice_is_not_one_call():
    """Calls of one instrumentation that overlap and say the same are two calls."""
    calls = [
        llm("ChatOpenAI", prompt_of(FERRY, Q), A, attributes=TOKENS, **at(60, 90)),
        llm("ChatOpenAI", prompt_of(FERRY, Q), A, attributes=TOKENS, **at(61, 89)),
    ]
    found = retriever("VectorStoreRetriever", Q, ("d", FERRY), **at(10, 50))
    (run,) = runs_of(oi("CHAIN", "vote", found, *calls, given=Q, said=A, **at(0, 100)))
    assert run.tokens.prompt == 180


def test_calls_that_stand_in_their_place_stay_there():
    """Where the client's spans are nested as they ran, one that overlaps another call stays."""
    inner = llm("ChatCompletion", prompt_of(FERRY, Q), A, attributes=TOKENS, **at(62, 88, CLIENT))
    outer = llm("ChatOpenAI", prompt_of(FERRY, Q), A, inner, attributes=TOKENS, **at(60, 90))
    title = llm("ChatCompletion", f"Name this talk: {Q}", "Ferries", **at(64, 80, CLIENT))
    found = retriever("VectorStoreRetriever", Q, ("d", FERRY), **at(10, 50))
    pipeline = oi("CHAIN", "rag", found, outer, given=Q, said=A, **at(0, 100))
    (run,) = runs_of(span("POST", pipeline, title, start=0, end=120, scope="asgi"))
    assert run.generators[0].answer.value == A
    assert run.tokens.prompt == 90


def test_without_scopes():
    """Scopes lost by a collector leave the names to tell two instrumentations apart."""
    parts = spans_of(chain(0), *client(0))
    bare = tuple(replace(part, scope_name="") for part in parts)
    (run,) = map_trace(Trace(bare[0].trace_id, bare, Completion.FILE_END))
    assert run.tokens.prompt == 90


def question(text, answer, chunk):
    return [
        embedding("CreateEmbeddings", text),
        llm("ChatCompletion", [("system", f"Sources:\n{chunk}"), ("user", text)], answer),
    ]


def test_independent_questions_without_a_framework():
    """A worker that answers one question after another: one run each, with its own embedding."""
    runs = runs_of(
        span(
            "worker",
            *question(Q, A, FERRY),
            *question(Q2, A2, DOGS),
            *question("Where are lost things kept?", "In Ellery.", "Lost property is in Ellery."),
        )
    )
    assert [run.question.value for run in runs] == [Q, Q2, "Where are lost things kept?"]
    assert all(len(run.embedders) == len(run.generators) == 1 for run in runs)
    assert [run.stages[Stage.EMBEDDER].steps for run in runs] == [1, 1, 1]


def test_questions_that_begin_alike():
    """A question that is the beginning of another one is still another question."""
    short, long = "What is the hotel limit?", "What is the hotel limit in Zurich?"
    parts = [*question(short, "180 euros.", "Limit: 180."), *question(long, "240.", "Zurich: 240.")]
    runs = runs_of(span("worker", *parts))
    assert [run.question.value for run in runs] == [short, long]


def test_independent_questions_each_rewritten():
    """Rewrites go with the question that they rewrite."""
    parts = []
    for asked, answer, chunk in ((Q, A, FERRY), (Q2, A2, DOGS)):
        told = f"Rewrite as a search query: {asked}"
        short = " ".join(asked.strip("?").split()[-3:])
        parts += [llm("ChatCompletion", told, short), embedding("CreateEmbeddings", short)]
        parts += question(asked, answer, chunk)[1:]
    runs = runs_of(span("worker", *parts))
    assert [run.question.value for run in runs] == [Q, Q2]
    assert [len(run.rewriters) for run in runs] == [1, 1]


def test_hops_of_one_question_are_one_run():
    """A second search for what the first answer said is no question of its own."""
    asked = "When does the ferry that takes dogs leave?"
    runs = runs_of(
        span(
            "worker",
            embedding("CreateEmbeddings", "which ferry takes dogs"),
            llm("ChatCompletion", f"{DOGS}\nwhich ferry takes dogs\nFor: {asked}", "The Aurelia."),
            embedding("CreateEmbeddings", "when does the aurelia leave"),
            llm("ChatCompletion", f"{FERRY}\nwhen does the aurelia leave\nFor: {asked}", A),
            llm("ChatCompletion", f"The Aurelia.\n{A}\n{asked}", A),
        )
    )
    assert len(runs) == 1


def test_questions_that_are_asked_at_once():
    """What one call says while another runs is not handed on to it, even if both have that page."""
    rate = "A foot passenger pays 18 euros one way."
    runs = runs_of(
        span(
            "POST /batch",
            embedding("CreateEmbeddings", "what does it cost?", start=0, end=10),
            embedding("CreateEmbeddings", "when does it leave?", start=1, end=10),
            oi("RETRIEVER", "SELECT", start=11, end=12),
            oi("RETRIEVER", "SELECT", start=11, end=12),
            llm("ChatCompletion", f"{rate}\nwhat does it cost?", A, start=13, end=20),
            llm("ChatCompletion", f"{FERRY}\nwhen does it leave?", rate, start=14, end=20),
            start=0,
            end=30,
        )
    )
    assert [run.question.value for run in runs] == ["what does it cost?", "when does it leave?"]


def test_a_page_in_two_prompts():
    """An answer that is copied from a page, which the next prompt has too, does not join questions."""
    pages = f"{FERRY} {DOGS}"
    said = FERRY.rpartition(" ")[0]
    runs = runs_of(
        span(
            "worker",
            embedding("CreateEmbeddings", "when does the ferry leave?"),
            llm("ChatCompletion", f"{pages}\nQ: when does the ferry leave?", said),
            embedding("CreateEmbeddings", "may dogs come along?"),
            llm("ChatCompletion", f"{pages}\nQ: may dogs come along?", "Yes, on deck 4."),
        )
    )
    assert [run.answer.value for run in runs] == [said, "Yes, on deck 4."]


def test_searches_without_a_text():
    """A database call belongs to the question that was embedded last and is not yet answered."""
    runs = runs_of(
        span(
            "POST /batch",
            embedding("CreateEmbeddings", "what does it cost?", start=0, end=10),
            embedding("CreateEmbeddings", "when does it leave?", start=1, end=13),
            oi("RETRIEVER", "SELECT a", start=11, end=12),
            oi("RETRIEVER", "SELECT b", start=14, end=15),
            llm("ChatCompletion", "x\nQuestion: what does it cost?", "4", start=16, end=20),
            llm("ChatCompletion", "y\nQuestion: when does it leave?", A, start=17, end=20),
            start=0,
            end=30,
        )
    )
    assert [[step.origin.name for step in run.retrievers] for run in runs] == [
        ["SELECT a"], ["SELECT b"],
    ]  # fmt: skip

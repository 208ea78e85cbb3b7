"""Answers that were made in several LLM calls, and the calls beside them that made none of it."""

from __future__ import annotations

import pytest
from span_trees import llm, oi, retriever, summary, trace_of

from otel_raglog.checks.reading import context_of
from otel_raglog.checks.rules.assembly import fates_of
from otel_raglog.mapping.mapping import map_trace

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
FARES = "A foot passenger pays 18 euros one way and 31 euros for a return ticket."
SEARCH = retriever("VectorStoreRetriever", Q, ("a", FERRY), ("b", DOGS), ("c", FARES))


def asked(chunk, question=Q):
    """Return a prompt with one chunk."""
    rule = "---------------------"
    return f"Context information is below.\n{rule}\n{chunk}\n{rule}\nQuery: {question}\nAnswer: "


def refined(chunk, existing):
    """Return the prompt that refines an answer with one more chunk, in LlamaIndex's words."""
    return (
        f"The original query is as follows: {Q}\nWe have provided an existing answer: {existing}\n"
        f"We have the opportunity to refine it with some more context below.\n------------\n"
        f"{chunk}\n------------\nRefined Answer: "
    )


def only(*parts, said=A):
    """Return the one run of a pipeline around ``parts``."""
    (run,) = map_trace(trace_of(oi("CHAIN", "RetrievalQA", *parts, given=Q, said=said)))
    return run


def kept(run):
    """Return the ids of the selected chunks, and how much of each the model was shown."""
    fates = fates_of(run)
    return {c.id: s.kept for c, s in zip(fates.chunks, fates.survivals, strict=True)}


REFINE = [
    llm("ChatOpenAI", asked(FERRY), A),
    llm("ChatOpenAI", refined(DOGS, A), A),
    llm("ChatOpenAI", refined(FARES, A), A),
]
TREE = [
    llm("ChatOpenAI", asked(f"{FERRY}\n\n{DOGS}"), A),
    llm("ChatOpenAI", asked(FARES), "The context does not say."),
    llm("ChatOpenAI", asked(f"{A}\n\nThe context does not say."), A),
]
MAP_REDUCE = [
    llm("ChatOpenAI", [("system", f"Is any of this relevant?\n{FERRY}"), ("user", Q)], A),
    llm(
        "ChatOpenAI", [("system", f"Is any of this relevant?\n{DOGS}"), ("user", Q)], "Not at all."
    ),
    llm(
        "ChatOpenAI", [("system", f"Is any of this relevant?\n{FARES}"), ("user", Q)], "Not at all."
    ),
    llm("ChatOpenAI", [("system", f"Sum up.\n{A}\n\nNot at all.\n\nNot at all."), ("user", Q)], A),
]


@pytest.mark.parametrize("parts", [REFINE, TREE, MAP_REDUCE], ids=["refine", "tree", "map reduce"])
@pytest.mark.parametrize("name", [None, "CompactAndRefine.synthesize", "MapReduceDocumentsChain"])
def test_all_that_was_shown_counts(parts, name):
    """Each chunk was in the prompt of one of the calls: none is lost, however spans are nested."""
    run = only(SEARCH, *([oi("CHAIN", name, *parts, said=A)] if name else parts))
    assert kept(run) == {"a": 1.0, "b": 1.0, "c": 1.0}
    assert FERRY in context_of(run).pieces
    assert run.generators[0].answer.value == A
    assert run.turn is None


@pytest.mark.parametrize("parts", [REFINE[:2], TREE[:1], MAP_REDUCE[:2]])
def test_what_no_call_was_shown_is_dropped(parts):
    """A chunk that is in none of the prompts is dropped, in several calls as in one."""
    run = only(SEARCH, *parts)
    assert kept(run)["c"] == 0.0


def test_what_the_calls_told_one_another_is_no_evidence():
    """A number that the first call made up is not known because the last prompt repeats it."""
    wrong = "The night ferry leaves at 23:59."
    run = only(
        SEARCH,
        llm("ChatOpenAI", asked(FERRY), wrong),
        llm("ChatOpenAI", refined(DOGS, wrong), wrong),
        said=wrong,
    )
    assert "23:59" not in context_of(run).known


def test_refine_in_a_talk():
    """An existing answer among the messages is no earlier turn of a conversation."""
    last = [
        ("user", Q),
        ("assistant", A),
        (
            "user",
            f"Refine the answer with more context.\n------------\n{DOGS}\n------------\nDone.",
        ),
    ]
    run = only(
        SEARCH,
        oi(
            "CHAIN",
            "RefineDocumentsChain",
            llm("ChatOpenAI", [("system", f"Context:\n{FERRY}"), ("user", Q)], A),
            llm("ChatOpenAI", last, A),
            said=A,
        ),
    )
    assert run.turn is None
    assert run.history.value is None
    assert run.question.value == Q


def test_accumulated_answers():
    """Answers of each chunk, one after the other: the step is all calls, the tokens of all."""
    tokens = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2}
    none = "This section does not say when it leaves."
    said = f"Response 1: {A}\n---------------------\nResponse 2: {none}"
    run = only(
        SEARCH,
        oi(
            "CHAIN",
            "Accumulate.get_response",
            llm("ChatOpenAI", asked(FERRY), A, attributes=tokens),
            llm("ChatOpenAI", asked(DOGS), none, attributes=tokens),
            said=said,
        ),
        said=said,
    )
    assert run.generators[0].answer.value == said
    assert run.generators[0].tokens.prompt == 20
    assert len(run.generators[0].origin.span_ids) == 2
    assert kept(run)["a"] == kept(run)["b"] == 1.0


def test_sub_questions():
    """The chunks of all sub-questions reached the answer through the sub-answers."""
    one, two = "When does the night ferry leave Ellery?", "What does a foot passenger pay?"
    answers = ("It leaves at 22:15.", "18 euros.")

    def engine(question, chunk, reply):
        inner = oi(
            "CHAIN", "CompactAndRefine.synthesize", llm("chat", asked(chunk, question), reply)
        )
        found = retriever("r", question, (chunk[:3], chunk))
        return oi("CHAIN", "RetrieverQueryEngine.query", found, inner, given=question, said=reply)

    final = f"Sub question: {one}\nResponse: {answers[0]}\n\nSub question: {two}\nResponse: {answers[1]}"
    run = only(
        llm("chat", f"Decompose into sub-questions: {Q}", f"{one}\n{two}"),
        engine(one, FERRY, answers[0]),
        engine(two, FARES, answers[1]),
        oi("CHAIN", "CompactAndRefine.synthesize", llm("chat", asked(final), A), said=A),
    )
    assert set(kept(run).values()) == {1.0}
    assert summary(run)["rewriter"] == 1
    assert any(answers[0] in piece for piece in context_of(run).pieces)


def corrective(grade, *, both=False):
    """Return a loop that searches again after a grader said no to what the first search found."""
    again = "night ferry departure time"
    return only(
        retriever("r", Q, ("b", DOGS)),
        oi("CHAIN", "check", llm("chat", f"Is this relevant to the question?\n{DOGS}\n{Q}", grade)),
        oi("CHAIN", "rewrite", llm("chat", f"Rewrite the question: {Q}", again)),
        retriever("r", again, ("a", FERRY)),
        oi(
            "CHAIN", "check", llm("chat", f"Is this relevant to the question?\n{FERRY}\n{Q}", "yes")
        ),
        llm("chat", f"Context: {f'{DOGS} ' if both else ''}{FERRY}\nQuestion: {Q}", A),
    )


@pytest.mark.parametrize("grade", ["no", '{"binary_score": "no"}', "No, that is about dogs only."])
def test_graders_are_not_the_generator(grade):
    """What a grader read is not shown to the answering call; what it rejected is not dropped."""
    run = corrective(grade)
    assert kept(run) == {"a": 1.0}
    assert run.assemblies[0].context.value == FERRY
    assert DOGS not in run.assemblies[0].prompt.value
    assert summary(run)["retriever"] == 2


def test_what_was_passed_on_all_the_same_is_selected():
    """Chunks of an earlier search that are in the prompt were not rejected."""
    assert kept(corrective("no", both=True)) == {"a": 1.0, "b": 1.0}


def test_a_lost_hop_is_dropped():
    """Without a grader, chunks of the first of two searches that no prompt has were dropped."""
    again = "night ferry fares"
    run = only(
        retriever("r", Q, ("a", FERRY)),
        llm("chat", f"What else to search for? {Q}\n{FERRY}", again),
        retriever("r", again, ("c", FARES)),
        llm("chat", asked(FARES), A),
    )
    assert kept(run) == {"a": 0.0, "c": 1.0}


def test_searches_within_a_fusion():
    """A fusion that keeps nothing of one of its searches has dropped nothing from the prompt."""
    inner = [
        retriever("VectorIndexRetriever", Q, ("a", FERRY)),
        retriever("VectorIndexRetriever", "deck rules", ("b", DOGS)),
        retriever("VectorIndexRetriever", "tickets", ("c", FARES)),
    ]
    fusion = retriever("QueryFusionRetriever", Q, ("a", FERRY), ("c", FARES), children=inner)
    run = only(fusion, llm("chat", asked(f"{FERRY}\n\n{FARES}"), A))
    assert kept(run) == {"a": 1.0, "c": 1.0}

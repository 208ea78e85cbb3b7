"""Agents: their questions and answers in wrappers, their turns with and without a search."""

from __future__ import annotations

import pytest
from span_trees import llm, oi, retriever, summary, trace_of

from otel_raglog.mapping.mapping import map_trace

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
STOP = (
    "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, "
    f"additional_kwargs={{}}, blocks=[TextBlock(block_type='text', text='{A}"
)
SETUP = {"init_state": {"is_running": False, "config": {"steps": {}}}, "tags": {"id": "x"}}


def runs(*roots):
    """Return the runs of a trace."""
    return map_trace(trace_of(*roots))


def agent(*parts, said=STOP[:-9] + "...", given=SETUP):
    """Return LlamaIndex's workflow around the steps of an agent."""
    (run,) = runs(oi("CHAIN", "FunctionAgent.run", *parts, given=given, said=said))
    return run


def search():
    """Return a tool that searches."""
    return oi("TOOL", "FunctionTool.acall", retriever("r", "night ferry", ("a", FERRY)), said=FERRY)


@pytest.mark.parametrize("said", [STOP[:-9] + "...", STOP + "')])))", "AgentOutput(response=None)"])
def test_the_answer_in_an_object(said):
    """An output that only shows a Python object is no answer: the model's own words are."""
    run = agent(
        llm("chat", Q, ""),
        search(),
        llm("chat", [("user", Q), ("assistant", ""), ("tool", FERRY)], A),
        said=said,
    )
    assert run.question.value == Q
    assert run.answer.value == A
    assert run.generators[0].answer.value == A


@pytest.mark.parametrize(
    "said", ["f(x=1) is the call.", "Ferry(line=3) and Ferry(line=4)", "(a=1)"]
)
def test_answers_with_code_are_answers(said):
    """A text in which an object is mentioned says more than the object."""
    run = agent(search(), llm("chat", f"Context: {FERRY}\nQuestion: {Q}", said), said=said)
    assert run.answer.value == said


def test_reasoning_agent():
    """ReAct: observations are no questions, thoughts no answer, its own steps no conversation."""
    step = 'Thought: I need a tool.\nAction: search\nAction Input: {"input": "night ferry"}'
    talk = [("system", "You have tools."), ("user", Q)]
    run = agent(
        llm("chat", talk, step),
        search(),
        llm(
            "chat",
            [*talk, ("assistant", step), ("user", f"Observation: {FERRY}")],
            f"Thought: I can answer without using any more tools.\nAnswer: {A}",
        ),
    )
    assert run.question.value == Q
    assert run.answer.value == A
    assert run.generators[0].answer.value == A
    assert run.turn is None
    assert run.assemblies[0].context.value == FERRY
    assert summary(run)["rewriter"] == 1


def test_question_among_observations():
    """In a list of messages the question is the last one that asks."""
    talk = [
        {"role": "user", "content": Q},
        {"role": "assistant", "content": "Thought: I need a tool.\nAction: search"},
        {"role": "user", "content": f"Observation: {FERRY}"},
    ]
    run = agent(search(), llm("chat", f"Context: {FERRY}\nQuestion: {Q}", A), given=talk)
    assert run.question.value == Q
    assert run.turn is None


def test_a_turn_without_a_search():
    """What earlier turns found is in the prompt, but a "thank you" is no RAG run."""
    first = [("user", Q), ("assistant", ""), ("tool", FERRY)]
    thanks = [*first, ("assistant", A), ("user", "Thank you!")]
    found = runs(
        oi(
            "CHAIN",
            "session",
            oi("AGENT", "agent", llm("m", Q, ""), search(), llm("m", first, A), given=Q, said=A),
            oi(
                "AGENT",
                "agent",
                llm("m", thanks, "Any time."),
                given="Thank you!",
                said="Any time.",
            ),
        )
    )
    assert [run.skip_reason for run in found] == [None, "no_retrieval"]


def test_sub_agent():
    """What a tool's own model was shown reached the agent through its answer."""
    reply = "It leaves at 22:15 from May on."
    engine = oi(
        "CHAIN",
        "RetrieverQueryEngine.aquery",
        retriever("r", "night ferry", ("a", FERRY)),
        llm("chat", f"Context:\n{FERRY}\nQuery: night ferry\nAnswer:", reply),
        given="night ferry",
        said=reply,
    )
    run = agent(
        llm("chat", Q, ""),
        oi("TOOL", "QueryEngineTool.acall", engine, given={"input": "night ferry"}, said=reply),
        llm("chat", [("user", Q), ("assistant", ""), ("tool", reply)], A),
    )
    assert FERRY in run.assemblies[0].prompt.value
    assert run.generators[0].answer.value == A

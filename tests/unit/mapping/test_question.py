"""Where question, answer and history are found."""

import json

import pytest
from span_trees import oi, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.question import (
    answer_in,
    asks_several,
    before_question,
    history_in,
    is_observed,
    question_in,
    question_in_prompt,
    readable,
    spoken_answer,
    spoken_question,
    this_turn,
    turns_in_text,
)
from otel_raglog.model import FieldStatus, Message, present

Q = "When does it leave?"
USER = {"role": "user", "content": Q}


@pytest.mark.parametrize(
    "data",
    [
        {"question": Q, "chat_history": []},
        {"input": {"question": Q}},
        {"query_bundle": {"query_str": Q}},
        {"str_or_query_bundle": Q},
        {"messages": [{"role": "system", "content": "s"}, USER]},
        {"messages": [["user", Q]]},
        [{"role": "user", "content": json.dumps({"question": Q, "documents": []})}],
        {"messages": [{"type": "human", "content": [{"type": "text", "text": Q}]}]},
        {"messages": [{"id": ["HumanMessage"], "kwargs": {"content": Q, "type": "human"}}]},
        {"data": {"text_embedder": {"text": Q}, "prompt_builder": {"question": Q}}},
        {"retriever": {"query": Q}, "prompt_builder": {"question": Q}},
        {"args": [Q], "kwargs": {}},
        {"topic": Q},
        {"anything": Q},
        [USER],
        [Q],
    ],
)
def test_question(data):
    """The question is found in the inputs of all frameworks."""
    assert question_in(data) == Q


@pytest.mark.parametrize("data", [{}, [], {"a": "x", "b": "y"}, {"n": 1}, None])
def test_no_question(data):
    """Where nothing names a question there is none."""
    assert question_in(data) is None


@pytest.mark.parametrize(
    "data",
    [
        {"question": Q, "context": "c", "answer": "a"},
        {"messages": [USER, {"role": "assistant", "content": "a"}]},
        {"messages": [USER, {"type": "ai", "content": "a"}]},
        {"llm": {"replies": ["a"], "meta": [{}]}},
        {"response": "a", "source_nodes": []},
        {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
        {"type": "ai", "data": {"content": "a"}},
        {"output": {"text": "a"}},
        {"answers": ["GeneratedAnswer(data='a', query='q')"]},
        {"reasoning": "r", "answer": "a"},
    ],
)
def test_answer(data):
    """The answer is found in the outputs of all frameworks."""
    assert answer_in(data) == "a"


def test_what_a_tool_gave_back_is_no_answer():
    """Tracers may list it after what the assistant said (the Vercel AI SDK)."""
    told = {"role": "tool", "content": "x"}
    assert answer_in([{"role": "assistant", "content": "a"}, told]) == "a"
    assert answer_in([told]) == "x"


def test_history():
    """History is the talk before the question, from the input or from messages."""
    talk = [{"type": "human", "content": "q0"}, {"type": "ai", "content": "a0"}]
    expected = (Message("user", "q0"), Message("assistant", "a0"))
    assert history_in({"input": Q, "chat_history": talk}, Q) == expected
    assert history_in({"kwargs": {"messages": [*talk, USER]}}, Q) == expected
    assert (
        before_question([Message("user", Q), Message("assistant", "x"), Message("tool", "y")], Q)
        == ()
    )
    assert history_in("x", Q) == ()


def test_history_in_a_prompt():
    """A prompt's last message may not hold the question: it is still no history."""
    talk = [Message("user", "q0"), Message("assistant", "a0")]
    assert before_question([*talk, Message("user", "Use x. And on Sundays?")], "Sundays, too?") == (
        *talk,
    )
    refine = [Message("user", Q), Message("assistant", "x"), Message("user", "Refine it with y.")]
    assert before_question(refine, Q) == ()
    assert history_in({"chat_history": [USER, {"role": "assistant", "content": "x"}]}, "y") != ()


def test_this_turn():
    """Instructions and what came after the assistant's last word before the question."""
    rules, old = Message("system", "s"), [Message("user", "q0"), Message("assistant", "a0")]
    now = [Message("user", Q), Message("assistant", "I search."), Message("tool", "x")]
    assert this_turn([rules, *old, *now]) == (rules, *now)
    assert this_turn([rules, *now]) == (rules, *now)


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("Observation: x", True),
        ("<tool_response>x", False),
        ("Tool result:\nx", True),
        ("[Search results]\nx", True),
        ("Context matters why?", False),
        ("Result of the last audit?", False),
        (f"Context: x\nQuestion: {Q}", False),
    ],
)
def test_observed(text, observed):
    """A message that only hands a tool's results back asks nothing."""
    assert is_observed(Message("user", text)) is observed
    assert not is_observed(Message("assistant", text))


def test_turns_in_a_prompt():
    """Turns that are written out in a condensing prompt are read."""
    text = "Rewrite.\n\n<Chat History>\nuser: q0\nassistant: a0\nmore\n\n<Follow Up Message>\nx"
    assert turns_in_text(text) == (Message("user", "q0"), Message("assistant", "a0\nmore"))


@pytest.mark.parametrize(
    "text",
    [
        f"Context:\nx\n\nQuestion: {Q}\nAnswer:",
        f"Context information is below.\n---\nx\n---\nanswer the query.\nQuery: {Q}\nAnswer: ",
        f"<context>x</context>\n<question>{Q}</question>",
        f"[[ ## context ## ]]\nx\n\n[[ ## question ## ]]\n{Q}\n\n[[ ## answer ## ]]",
        f"Use this:\nsome context\n\n{Q}",
        Q,
    ],
)
def test_question_in_prompt(text):
    """The question is told from context and instructions."""
    messages = [Message("system", "s"), Message("user", text)]
    assert question_in_prompt(messages, [Q], {}) == Q


def test_question_in_prompt_by_variable():
    """A template variable names the question, if the prompt holds it."""
    messages = [Message("user", f"Tell me: {Q} Use: x")]
    assert question_in_prompt(messages, [], {"query_str": Q}) == Q
    assert question_in_prompt([], [], {"query_str": Q}) is None


def test_several_questions():
    """A list of questions as input is no single question."""

    def facts(given):
        (span,) = spans_of(oi("CHAIN", "x", given=given))
        return read_span(span)

    assert asks_several(facts(["a?", "b?"]), 2)
    assert asks_several(facts([{"question": "a?"}, {"question": "b?"}]), 2)
    assert asks_several(facts({"questions": ["a?", "b?"]}), 2)
    assert not asks_several(facts([USER, {"role": "assistant", "content": "x"}]), 2)
    assert not asks_several(facts({"question": "a?"}), 2)


def test_spoken():
    """A span's question and answer carry the reason where they are missing."""

    def facts(**kw):
        (span,) = spans_of(oi("CHAIN", "x", **kw))
        return read_span(span)

    assert spoken_question(facts(given="{'query': 'x'}")).value == "x"
    assert spoken_question(facts(given="__REDACTED__")).status is FieldStatus.REDACTED
    assert spoken_answer(facts(said={"answer": "a"})).value == "a"
    assert spoken_answer(facts(said="<async_generator object at 0x7f00>")).value is None
    assert readable(present("a < b")).value == "a < b"
    assert readable(present("StopEvent(result=Out(a='b)')")).value is None
    assert readable(present("StopEvent(result='cut he...")).value is None
    assert spoken_question(facts(given="QueryBundle(query_str='x')")).value is None
    assert spoken_answer(facts(said={"result": "AgentOutput(response='x')"})).value is None
    assert spoken_answer(facts(said="Thought: x\nAnswer: y")).value == "y"


def test_what_stands_before_a_cut():
    """Of cut JSON only members that came whole are read; a cut answer is marked as cut."""
    state = '{"question": "When does it leave?", "answer": "At 22:15.", "documents": [{"te'
    facts = read_span(*spans_of(oi("CHAIN", "c", given=state, said=state)))
    assert spoken_question(facts).value == "When does it leave?"
    assert spoken_answer(facts).value == "At 22:15."
    state = '{"messages": [{"type": "human", "content": "When does it lea'
    facts = read_span(*spans_of(oi("CHAIN", "c", given=state, said=state)))
    assert spoken_question(facts).value is None
    assert spoken_question(facts).status is FieldStatus.TRUNCATED
    assert spoken_answer(facts).status is FieldStatus.TRUNCATED
    said = oi("CHAIN", "c", said="It leaves at", truncated=["output.value"])
    assert spoken_answer(read_span(*spans_of(said))).status is FieldStatus.TRUNCATED


def test_a_cut_prompt_asks_nothing():
    """A prompt that is the beginning of JSON is no question."""
    assert (
        question_in_prompt([Message("user", '[{"role": "user", "content": "Con')], (), {}) is None
    )


def test_the_task_of_an_agent():
    """An agent's task is its question (smolagents)."""
    assert question_in({"task": "When?", "stream": False, "max_steps": None}) == "When?"
    assert answer_in({"raw": "At 22:15.", "pydantic": None, "tasks_output": []}) == "At 22:15."


TEMPLATES = {
    "a tag that the instruction names": f"Answer what is in <question> tags.\n<question>{Q}</question>",
    "a model's own marks": f"Context: dogs.\n\nQuestion: {Q}<|eot_id|><|start_header_id|>assistant",
    "the end of an instruction": f"Context: dogs.\n\nQuestion: {Q} [/INST]",
    "a rule below it": f"QUESTION: {Q}\n=========\nContent: dogs.\n=========\nFINAL ANSWER:",
    "quotes around it": f'Context: """dogs"""\n\nQuestion: """{Q}"""',
    "brackets around it": f"CONTEXT: [dogs]\nQUESTION: [{Q}]",
    "answers to choose from": f"Pick the best answer.\nQuestion: {Q}\n1. The aft deck.\n2. Deck 4.",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_puts_around_the_question(name):
    """It is no part of it."""
    prompt = [Message("user", TEMPLATES[name])]
    assert question_in_prompt(prompt, (Q,), {}) == Q

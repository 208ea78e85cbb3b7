"""Which runs of a conversation answer nothing, but help with another run of it."""

import pytest
from span_trees import llm, oi, retriever, span, trace_of

from otel_raglog.mapping.helper_runs import MOST_BESIDE, helper_runs
from otel_raglog.mapping.mapping import map_trace

Q = "When does the ferry to Sandmouth leave?"
A = "The ferry to Sandmouth leaves at six from pier four."
FOUND = "The ferry to Sandmouth leaves pier four at six on every day but Monday."
TALK = f"USER: {Q}\nASSISTANT: {A}"


def run_of(node):
    (run,) = map_trace(trace_of(node))
    return run


def asked(question=Q, answer=A, before=()):
    """Return a run that searches and answers."""
    turns = [("system", f"Answer from the context.\n{FOUND}"), *before, ("user", question)]
    return run_of(
        oi("CHAIN", "app", retriever("r", question, FOUND), llm("m", turns, answer), given=question)
    )


def call(prompt, answer):
    """Return the run that a lone LLM call is."""
    return run_of(llm("m", prompt, answer))


HELPERS = {
    "title of the question": ([("system", "Name this talk."), ("user", Q)], "Ferry times"),
    "title of both": ([("system", "Name this talk."), ("user", f"{Q}\n{A}")], "Ferry times"),
    "title, as one message": (f"Give this conversation a title: {Q}", "Ferry times"),
    "title of the talk in tags": (f"Name it.\n<history>\n{TALK}\n</history>", '{"title": "x"}'),
    "further questions": (
        [("system", "Suggest questions."), ("user", Q), ("assistant", A)],
        '["Is it late?"]',
    ),
    "moderation of the question": (f"Is this safe? yes or no\n{Q}", "yes"),
    "moderation of the answer": ([("system", "Is the text safe?"), ("user", A)], "SAFE"),
    "translation": ([("system", "Translate into German."), ("user", A)], "Um sechs."),
    "judgement": (f"Question: {Q}\nAnswer: {A}\nIs the answer supported? yes or no", "yes"),
    "judgement with the context": (
        [("system", "You are a judge. Judge the answer."), ("user", f"Context: {FOUND}\nQuestion: {Q}\nAnswer: {A}")],
        '{"grounded": true}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HELPERS)
def test_a_call_about_the_question_or_the_answer_of_another_run_helps(name):
    """Before it or after it, in a trace of its own."""
    helper = call(*HELPERS[name])
    assert helper_runs([asked(), helper]) == {1}
    assert helper_runs([helper, asked()]) == {0}


CHAT = {
    "thanks": "Thank you very much!",
    "thanks, with the talk": [("user", Q), ("assistant", A), ("user", "Thank you very much!")],
    "thanks, with the talk written out": f"Talk so far:\nHuman: {Q}\nAI: {A}\nHuman: Thanks!\nAI:",
    "the question with more": "When does the ferry to Sandmouth leave on Mondays?",
    "the question and another": f"{Q} And how much is it?",
    "the question again": [("user", Q), ("assistant", A), ("user", Q)],
}


@pytest.mark.parametrize("name", CHAT)
def test_what_the_user_says_without_need_of_a_search_is_a_turn(name):
    """A talk is more than questions about documents."""
    assert helper_runs([asked(), call(CHAT[name], "Glad to help.")]) == frozenset()


TALKED = [("user", Q), ("assistant", A)]
QUOTING = {
    "as in a mail, with the talk": [*TALKED, ("user", f"> {A}\n\nCould you say that simply?")],
    "in a line, with the talk": [*TALKED, ("user", f'You wrote: "{A}" That is too early for me.')],
    "as in a mail": f"> {A}\n\nCould you say that simply?",
    "in a line": f'You said: "{A}" - is it the same on Mondays?',
    "the question": f'I asked "{Q}" and what about the one to Ellery?',
}


@pytest.mark.parametrize("name", QUOTING)
def test_a_person_who_quotes_and_asks_on_is_no_helper(name):
    """By the turns told before, or by how it is quoted."""
    assert helper_runs([asked(), call(QUOTING[name], "Glad to help.")]) == frozenset()


@pytest.mark.parametrize(
    "prompt",
    [
        f'Is "{A}" a good answer to "{Q}"?',
        f'Translate "{A}" into plain German.',
        f'Title of: "{Q}"',
    ],
)
def test_a_program_that_quotes_within_a_line(prompt):
    """It is about both the question and the answer, or asks nothing on."""
    assert helper_runs([asked(), call(prompt, "Good.")]) == {1}


def test_the_same_question_with_the_same_instructions_is_a_turn():
    """Or with none, or where no model was called: it is answered from memory."""
    again = call([("system", "Answer from the context."), ("user", Q)], "At six, as I said.")
    assert helper_runs([asked(), again]) == frozenset()
    assert helper_runs([asked(), call(Q, "At six, as I said.")]) == frozenset()
    cached = run_of(oi("CHAIN", "app", oi("CHAIN", "cache", given=Q, said=A), given=Q, said=A))
    assert helper_runs([asked(), cached]) == frozenset()


def test_the_same_question_twice_is_two_turns():
    """Where neither searched, as in a plain chat, and where both did."""
    assert helper_runs([call(Q, A), call(Q, A)]) == frozenset()
    assert helper_runs([asked(), asked()]) == frozenset()


def test_a_short_text_is_not_known_again():
    """It may stand in any prompt."""
    assert helper_runs([asked("Why?", "So."), call("Explain this:\nWhy?", "x")]) == frozenset()


def test_a_run_that_searched_answers():
    """Whatever it quotes."""
    assert helper_runs([asked(), asked(f"You were asked:\n{Q}")]) == frozenset()


def test_what_the_next_history_leaves_out_is_no_turn():
    """The application does not count it; what it lists is one."""
    title = call([("user", Q), ("assistant", A), ("user", "Name this talk.")], "Ferry")
    later = asked("And on Mondays?", before=[("user", Q), ("assistant", A)])
    assert helper_runs([asked(), title, later]) == {1}
    said = [("user", Q), ("assistant", A), ("user", "Name this talk."), ("assistant", "Ferry")]
    assert helper_runs([asked(), title, asked("And on Mondays?", before=said)]) == frozenset()


def test_only_the_nearest_runs_are_compared():
    """Each run costs the same, however long the conversation is."""
    far = [asked(f"What is the fare to port number {n}?", "x") for n in range(MOST_BESIDE)]
    helper = call(f"Name this talk:\n{Q}", "Ferry")
    assert helper_runs([asked(), *far, helper]) == frozenset()
    assert helper_runs([asked(), *far[1:], helper]) == {MOST_BESIDE}


def test_runs_without_texts_are_told_nothing():
    """Content was not captured."""
    bare = run_of(span("chat m", attributes={"gen_ai.operation.name": "chat"}))
    assert helper_runs([bare, asked(), bare]) == frozenset()
    assert helper_runs([]) == frozenset()

"""From where question and history are taken, in which order."""

from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.conversation import (
    find_history,
    find_question,
    turn_of,
    unless_rewritten,
)
from otel_raglog.mapping.retrieving import find_search
from otel_raglog.model import (
    FieldStatus,
    Message,
    RewriteKind,
    RewriteStep,
    StepOrigin,
    present,
)

Q = "When does it leave?"


def question(view, spoken=None):
    calls = llm_calls(view)
    return find_question(
        view, spoken, calls[-1] if calls else None, find_search(view).retrievals, ()
    )


def test_order_of_sources(view_of):
    """The topmost input, then the prompt, then inner inputs, then the search text."""
    view = view_of(oi("CHAIN", "app", llm("m", f"Question: {Q}", "a"), given="top"))
    assert question(view, view.facts(0)).value == "top"
    assert question(view).value == Q
    view = view_of(oi("CHAIN", "app", retriever("r", "search", "x"), given="inner"))
    assert question(view).value == "inner"
    assert question(view_of(retriever("r", "search", "x"))).value == "search"


def test_hidden_question_is_not_guessed(view_of):
    """A hidden question stays hidden when the prompt is hidden too."""
    view = view_of(oi("CHAIN", "app", retriever("r", "search", "x"), given="__REDACTED__"))
    assert question(view, view.facts(0)).status is FieldStatus.REDACTED


def test_history_and_turn(view_of):
    """The talk before the last user message is history; its user messages count turns."""
    view = view_of(
        llm("m", [("system", "s"), ("user", "q0"), ("assistant", "a0"), ("user", Q)], "a")
    )
    history = find_history(None, llm_calls(view)[0], (), (), present(Q))
    assert history.value == (Message("user", "q0"), Message("assistant", "a0"))
    assert turn_of(history) == 2
    assert turn_of(find_history(None, None, (), (), present(Q))) is None


def test_a_whole_prompt_at_the_top(view_of):
    """Where the topmost input is a user message of the prompt, the question is looked for in it."""
    prompt = f"Context:\nIt is red.\n\nQuestion: {Q}"
    view = view_of(oi("CHAIN", "app", llm("m", prompt, "a"), given={"prompt": prompt}))
    assert question(view, view.facts(0)).value == Q
    view = view_of(oi("CHAIN", "app", llm("m", "other", "a"), given={"prompt": prompt}))
    assert question(view, view.facts(0)).value == prompt
    view = view_of(oi("CHAIN", "app", retriever("r", "x"), given={"prompt": prompt}))
    assert question(view, view.facts(0)).value == prompt
    several = "Why?\nAnd when?"
    view = view_of(oi("CHAIN", "app", llm("m", several, "a"), given=several))
    assert question(view, view.facts(0)).value == several


def test_a_search_text_that_was_written_is_no_question(view_of):
    """Where only the search tells of the question, and a rewriter wrote that, the question is lost."""
    step = RewriteStep(
        StepOrigin(b"1", (b"1",), "m", "", 0, 1),
        RewriteKind.REWRITE,
        present("fare"),
        present(("fare",)),
    )
    cut = llm_calls(view_of(llm("m", "x", "a", truncated=["llm.input_messages.0.message.content"])))
    found, (lost,) = unless_rewritten(present("fare"), (step,), None, cut[0], ())
    assert (found.value, found.status) == (None, FieldStatus.TRUNCATED)
    assert lost.input == found
    echoed = llm_calls(view_of(llm("m", "Rewrite: fare", "fare")))
    assert unless_rewritten(present("fare"), (step,), None, None, echoed)[0].value == "fare"
    top = view_of(oi("CHAIN", "app", given="fare")).facts(0)
    assert unless_rewritten(present("fare"), (step,), top, None, ())[0].value == "fare"
    assert unless_rewritten(present("q"), (step,), None, None, ())[0].value == "q"


PAGE = "The night ferry leaves Ellery at 22:15 from May to September."
WHOLE = f"Context:\n{PAGE}\n\nQuestion: {Q}"


def test_a_whole_prompt_of_which_the_call_has_no_copy(view_of):
    """Where the call's own messages were lost or cut, the question is still not the context."""
    for messages in ({}, {"llm.input_messages.0.message.content": WHOLE[:40]}):
        said = {"llm.output_messages.0.message.content": "At 22:15.", **messages}
        call = oi("LLM", "doGenerate", attributes=said, truncated=list(messages))
        view = view_of(oi("CHAIN", "generateText", call, given=WHOLE))
        assert question(view, view.facts(0)).value == Q
        assert question(view).value == Q


def test_a_question_behind_the_cut_is_lost(view_of):
    """A prompt that was cut within its context does not tell the question."""
    said = {
        "llm.input_messages.0.message.content": WHOLE[:50],
        "llm.output_messages.0.message.content": "At 22:15.",
    }
    view = view_of(oi("LLM", "m", attributes=said, truncated=list(said)[:1]))
    assert question(view).status is FieldStatus.TRUNCATED


def test_an_instruction_is_no_question(view_of):
    """The input of a span around a call that does not answer is that call's prompt."""
    told = f"Write two search queries for: {Q}"
    view = view_of(
        oi("CHAIN", "generateText", llm("m", told, "ferry times"), given=told),
        retriever("r", "ferry times", PAGE),
        oi("LLM", "answer"),
    )
    assert question(view).value == "ferry times"

"""Which LLM call answers."""

from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.generating import (
    as_told,
    find_generator,
    generate_step,
    total_tokens,
)
from otel_raglog.model import NOT_CAPTURED, Chunk, present


def generator(view, answer=None, after=0):
    said = NOT_CAPTURED if answer is None else present(answer)
    call = find_generator(view, llm_calls(view), said, after)
    return call and generate_step(view, call, said)


def test_the_output_that_is_the_answer(view_of):
    """The call whose output is the answer wins over later ones."""
    view = view_of(
        llm("rewrite", "q", "x"), llm("answer", "q", "It is so."), llm("title", "t", "A title")
    )
    assert generator(view, "It is so.").origin.name == "answer"
    assert generator(view).origin.name == "title"


def test_equal_outputs(view_of):
    """Of several calls with the answer's text the last one counts."""
    view = view_of(llm("one", "q", "same"), llm("two", "q", "same"))
    assert generator(view, "same").origin.name == "two"


def test_a_part_of_the_answer(view_of):
    """A small part of the answer is no answer, the main part is."""
    view = view_of(
        llm("grade", "q", "yes"),
        llm("answer", "q", "yes, the ferry leaves at 22:15"),
        llm("grade", "q", "yes"),
    )
    assert generator(view, "yes, the ferry leaves at 22:15 [1]").origin.name == "answer"


def test_calls_before_the_search(view_of):
    """Without an answer to compare with, a call before the last search is no generator."""
    view = view_of(llm("rewrite", "q", "x"), retriever("r", "x", "c"))
    end = max(node.span.end_unix_nano for node in view.tree.nodes)
    assert generator(view, after=end) is None


def test_tool_calls_are_no_answer(view_of):
    """A call without text does not answer."""
    assert generator(view_of(llm("m", "q", ""))) is None


def test_a_chain_that_generates(view_of):
    """A leaf named as a generator answers when no LLM does."""
    view = view_of(
        oi(
            "CHAIN",
            "app",
            oi("CHAIN", "MyGenerator.run", given={"prompt": "p"}, said={"replies": ["a"]}),
        )
    )
    step = generator(view, "a")
    assert (step.answer.value, step.messages.value[0].content) == ("a", "p")


def test_reasoned_answers(view_of):
    """A reasoned output is the answer's call; the step says what the user was told."""
    view = view_of(
        llm("answer", "q", "Thought: I know.\nAnswer: It is so."),
        llm("title", "t", "It is so, yes"),
    )
    assert generator(view, "It is so.").origin.name == "answer"
    assert generator(view, "It is so.").answer.value == "It is so."


def test_answers_of_several_calls(view_of):
    """The step of several calls has the answer, all messages and tokens, and the first bad end."""

    def part(text, reason):
        found = {"llm.token_count.prompt": 5, "llm.finish_reason": reason}
        return llm("m", f"q {text}", text, attributes=found)

    view = view_of(part("one thing", "length"), part("another thing", "stop"))
    calls = llm_calls(view)
    step = generate_step(view, calls[1], present("one thing\nanother thing"), calls)
    assert step.answer.value == "one thing\nanother thing"
    assert [m.content for m in step.messages.value] == ["q one thing", "q another thing"]
    assert (step.tokens.prompt, step.finish_reason) == (10, "length")
    assert len(step.origin.span_ids) == 2


def test_tokens(view_of):
    """Tokens are summed over calls; nothing recorded stays nothing."""
    view = view_of(
        llm("a", "q", "x", attributes={"llm.token_count.prompt": 3}),
        llm("b", "q", "x", attributes={"llm.token_count.prompt": 4}),
    )
    tokens = total_tokens([call.tokens for call in llm_calls(view)])
    assert (tokens.prompt, tokens.completion) == (7, None)


def test_the_only_call_that_was_shown_the_chunks(view_of):
    """It answers, unless it is a tool's own; of several such calls, or none, the last one does."""
    chunks = (Chunk("The ferry leaves at ten."),)
    answer, title = llm("answer", "The ferry leaves at ten. When?", "At ten."), llm("t", "t", "T")

    def chosen(*parts):
        view = view_of(*parts)
        return find_generator(view, llm_calls(view), NOT_CAPTURED, 0, chunks).output.value

    assert chosen(answer, title) == "At ten."
    assert chosen(oi("TOOL", "ask", answer), title) == "T"
    assert chosen(answer, answer, title) == "T"
    assert chosen(llm("answer", "When?", "At ten."), title) == "T"


def test_an_answer_in_the_arguments_of_a_tool(view_of):
    """A call that answers through a tool (a structured answer, `final_answer`) answers."""
    name = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    called = {f"{name}.name": "final_answer", f"{name}.arguments": '{"answer": "At 22:15."}'}
    view = view_of(retriever("r", "q", "c"), llm("m", "q", "", attributes=called))
    (call,) = llm_calls(view)
    assert as_told(call, present("At 22:15.")).output == present("At 22:15.", call.output.source)
    assert as_told(call, present("At nine.")) is call
    assert as_told(call, NOT_CAPTURED) is call


def test_the_model_of_a_tool_is_not_the_one_that_answers(view_of):
    """Of two calls the one that was handed the other's output as a tool's result answers."""
    talk = [("user", "q"), ("assistant", ""), ("tool", "It costs 4 euro.")]
    view = view_of(
        retriever("r", "q", "A bicycle costs 4 euro each way."),
        llm("inner", "Context: A bicycle costs 4 euro each way.", "It costs 4 euro."),
        llm("outer", talk, "Your bicycle costs 4 euro."),
    )
    chunk = Chunk("A bicycle costs 4 euro each way.", "a")
    calls = llm_calls(view)
    assert find_generator(view, calls, NOT_CAPTURED, 0, [chunk]).leaf == calls[1].leaf


def test_a_judge_is_not_the_one_that_answers(view_of):
    """A last call that checks the answer (Self-RAG) does not give it."""
    view = view_of(
        retriever("r", "q", "c"),
        llm("answer", "Context: c\nq", "At 22:15."),
        llm(
            "check", "Please tell if the answer is supported.\nContext: c\nAnswer: At 22:15.", "yes"
        ),
    )
    assert generator(view).origin.name == "answer"

"""What of a prompt is context, and what was selected for it."""

import pytest
from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.prompting import (
    context_in,
    find_assembly,
    selected_chunks,
    shows_context,
    template_variables,
)
from otel_raglog.mapping.retrieving import Search, find_search
from otel_raglog.model import Chunk, Message, RerankStep, RetrieveStep, StepOrigin, present

Q = "When does it leave?"
CHUNK = Chunk("The night ferry leaves Ellery at 22:15 from May to September.", "a")
OTHER = Chunk("Dogs are welcome on deck 4 of the Aurelia, on a short lead.", "b")


@pytest.mark.parametrize(
    "text",
    [
        f"Context:\n{CHUNK.text}\n\nQuestion: {Q}\nAnswer:",
        f"Context information is below.\n------\n{CHUNK.text}\n------\nAnswer the query.\nQuery: {Q}",
        f"Use this.\n<context>\n{CHUNK.text}\n</context>\n{Q}",
        f"Answer from these passages:\n{CHUNK.text}",
    ],
)
def test_context_between_marks(text):
    """Marks cut the context out."""
    assert context_in([Message("user", text)], {}, [CHUNK], Q) == CHUNK.text


def test_marks_that_would_cut_chunks_are_not_trusted():
    """When a chunk is outside the marks, the whole message without the question is context."""
    text = f"{OTHER.text}\nContext:\n{CHUNK.text}\nQuestion: {Q}"
    found = context_in([Message("user", text)], {}, [CHUNK, OTHER], Q)
    assert CHUNK.text in found
    assert OTHER.text in found
    assert Q not in found


def test_context_by_variable():
    """A context variable of the template is the context, if the prompt holds it."""
    messages = [Message("user", f"Answer.\n{CHUNK.text}\n{Q}")]
    assert context_in(messages, {"context_str": CHUNK.text}, [], Q) == CHUNK.text
    assert context_in(messages, {"context": " "}, [], Q) == ""


def test_context_of_tools():
    """Tool results are the context of an agent."""
    messages = [Message("user", Q), Message("tool", CHUNK.text), Message("tool", "x")]
    assert context_in(messages, {}, [], Q) == f"{CHUNK.text}\n\nx"


def test_context_that_cannot_be_told():
    """A lone message without marks is not split."""
    assert context_in([Message("user", "x y z")], {}, [], Q) is None
    assert context_in([Message("system", "facts"), Message("user", Q)], {}, [], Q) == "facts"


def test_signs_of_context():
    """Marks, numbered sources, tool results and variables show context."""
    assert shows_context([Message("system", "Answer.\n[1] a fact")], {})
    assert shows_context([Message("tool", "x")], {})
    assert shows_context([], {"documents": "x"})
    assert not shows_context([Message("user", "Tell me a joke.")], {})


def step(*chunks, fused=False):
    return RetrieveStep(StepOrigin(), present(Q), present(chunks), fused=fused)


def test_selected_chunks():
    """What the last selecting steps handed on: rerankings over fusions over retrievals."""
    rank = RerankStep(StepOrigin(), present(Q), present((CHUNK, OTHER)), present((CHUNK,)))

    def ids(*args):
        return "".join(chunk.id for chunk in selected_chunks(Search(*args)).value)

    assert ids((step(CHUNK), step(OTHER)), ()) == "ab"
    assert ids((step(CHUNK, OTHER),), (rank,)) == "a"
    assert ids((step(OTHER, fused=True), step(CHUNK, OTHER)), ()) == "b"
    again = RerankStep(StepOrigin(), present(Q), present((CHUNK,)), present((CHUNK,)))
    assert ids((step(CHUNK, OTHER),), (rank, again)) == "a"
    assert ids((step(CHUNK, OTHER), step(Chunk("z", "z"))), (rank,)) == "az"
    assert selected_chunks(Search((), ())).value is None


def test_assembly(view_of):
    """The verdict stands on the prompt span if there is one, else on the generator's."""
    prompt = oi("PROMPT", "ChatPromptTemplate", given={"context": CHUNK.text, "question": Q})
    call = llm("chat", [("system", f"Use: {CHUNK.text}"), ("user", Q)], "a")
    for nodes, name in (([prompt, call], "ChatPromptTemplate"), ([call], "chat")):
        view = view_of(oi("CHAIN", "app", retriever("r", Q, ("a", CHUNK.text)), *nodes))
        calls = llm_calls(view)
        chosen = selected_chunks(find_search(view))
        found = find_assembly(view, calls[-1], calls, chosen, present(Q))
        assert found.origin.name == name
        assert CHUNK.text in found.context.value


def test_variables_of_another_prompt(view_of):
    """A prompt span whose variables are not in the prompt belongs to another call."""
    other = oi("PROMPT", "p", attributes={"llm.prompt_template.variables": '{"question": "else"}'})
    view = view_of(oi("CHAIN", "app", other, llm("chat", Q, "a")))
    assert template_variables(view, llm_calls(view)[0]) == {}

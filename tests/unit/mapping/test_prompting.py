"""How the prompts of an answer are put together."""

from dataclasses import replace

from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.prompting import find_assembly, said_pieces, template_variables
from otel_raglog.mapping.retrieving import find_search
from otel_raglog.mapping.selecting import selected_chunks
from otel_raglog.model import Chunk, Field, FieldStatus, Message, Provenance, present

Q = "When does it leave?"
CHUNK = Chunk("The night ferry leaves Ellery at 22:15 from May to September.", "a")
OTHER = Chunk("Dogs are welcome on deck 4 of the Aurelia, on a short lead.", "b")


def test_assembly(view_of):
    """The verdict stands on the prompt span if there is one, else on the generator's."""
    prompt = oi("PROMPT", "ChatPromptTemplate", given={"context": CHUNK.text, "question": Q})
    call = llm("chat", [("system", f"Use: {CHUNK.text}"), ("user", Q)], "a")
    for nodes, name in (([prompt, call], "ChatPromptTemplate"), ([call], "chat")):
        view = view_of(oi("CHAIN", "app", retriever("r", Q, ("a", CHUNK.text)), *nodes))
        calls = llm_calls(view)
        chosen = selected_chunks(view, find_search(view))
        found = find_assembly(view, calls, chosen, present(Q))
        assert found.origin.name == name
        assert CHUNK.text in found.context.value


def test_context_is_cited_from_where_it_stands(view_of):
    """Instructions that have an attribute of their own may hold it, or the prompt may."""
    view = view_of(oi("CHAIN", "app", retriever("r", Q, ("a", CHUNK.text)), llm("chat", Q, "a")))
    (call,) = llm_calls(view)
    source = Provenance(b"span", "app.prompt", "custom:answer")
    for instructions, prompt, key in (
        (f"Use this context: {CHUNK.text}", Q, "app.system"),
        ("Be brief.", f"Context: {CHUNK.text}\nQuestion: {Q}", "app.prompt"),
    ):
        told = (Message("system", instructions, "app.system"), Message("user", prompt))
        given = replace(call, messages=Field(told, FieldStatus.PRESENT, source))
        found = find_assembly(view, [given], present((CHUNK,)), present(Q))
        assert CHUNK.text in found.context.value
        assert (found.context.source.key, found.prompt.source.key) == (key, "app.prompt")


def test_variables_of_another_prompt(view_of):
    """A prompt span whose variables are not in the prompt belongs to another call."""
    other = oi("PROMPT", "p", attributes={"llm.prompt_template.variables": '{"question": "else"}'})
    view = view_of(oi("CHAIN", "app", other, llm("chat", Q, "a")))
    assert template_variables(view, llm_calls(view)[0]) == {}


def test_prompts_of_several_calls(view_of):
    """The prompts count together, without what the calls told one another."""
    said = "The ferry leaves at 23:59 every night."
    view = view_of(
        llm("one", f"Use: {CHUNK.text}", said),
        llm("two", f"Use: {OTHER.text}\nSo far: {said}", "a"),
    )
    found = find_assembly(view, llm_calls(view), present((CHUNK, OTHER)), present(Q))
    assert CHUNK.text in found.prompt.value
    assert OTHER.text in found.prompt.value
    assert "23:59" not in found.prompt.value


def test_what_a_chunk_says_too_is_not_cut(view_of):
    """An answer that quotes a chunk takes nothing out of a later prompt that has the chunk."""
    view = view_of(
        llm("one", CHUNK.text, "leaves Ellery at 22:15"), llm("two", f"Again: {CHUNK.text}", "a")
    )
    found = find_assembly(view, llm_calls(view), present((CHUNK,)), present(Q))
    assert found.prompt.value.count(CHUNK.text) == 1  # the first prompt is in the second
    assert said_pieces(llm_calls(view)[0]) == ["leaves Ellery at 22:15"]


def test_a_hidden_member(view_of):
    """When the prompt of one of several calls is hidden, what is known is not whole."""
    view = view_of(
        llm("one", "__REDACTED__", "so it is said here"), llm("two", "so it is said here", "a")
    )
    found = find_assembly(view, llm_calls(view), present((CHUNK,)), present(Q))
    assert found.prompt.status is FieldStatus.TRUNCATED


def test_a_word_that_no_chunk_says_is_cut(view_of):
    """What a call made up is no evidence in the next prompt, however short it is."""
    view = view_of(
        llm("one", f"Use: {CHUNK.text}", "23:59"),
        llm("two", f"Use: {OTHER.text}\nSo far: 23:59, 123:59", "a"),
    )
    found = find_assembly(view, llm_calls(view), present((CHUNK, OTHER)), present(Q))
    assert "So far: \u2026, 123:59" in found.prompt.value

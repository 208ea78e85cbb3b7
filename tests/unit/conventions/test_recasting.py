"""A span read as if it were of another kind."""

from span_trees import llm, oi, spans_of

from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.recasting import recast
from otel_raglog.model import FieldStatus, Role


def cast(node, role):
    (one,) = spans_of(node)
    facts = OpenInference().read(one)
    return facts, recast(one, facts, role)


def test_the_same_role_changes_nothing():
    """There is nothing to read anew."""
    facts, again = cast(oi("CHAIN", "x", given="Q"), Role.CHAIN)
    assert again is facts


def test_input_and_output_are_read_by_the_new_role():
    """A chain's list of texts are documents of a search, its text the response of a call."""
    _, search = cast(oi("CHAIN", "x", given="Q", said=["a", "b"]), Role.RETRIEVER)
    assert [chunk.text for chunk in search.documents.value] == ["a", "b"]
    _, call = cast(oi("CHAIN", "x", given="P", said="R"), Role.LLM)
    assert (call.role, call.messages.value[0].content) == (Role.LLM, "P")
    assert call.output_messages.value[0].content == "R"
    _, embedder = cast(oi("TOOL", "x", given="T"), Role.EMBEDDER)
    assert embedder.embedding_texts.value == ("T",)


def test_what_has_keys_of_its_own_stays():
    """Model and messages of a call are those of its keys."""
    facts, rewriter = cast(llm("x", [("system", "s"), ("user", "u")], "R"), Role.REWRITER)
    assert rewriter.messages == facts.messages
    assert (rewriter.role, rewriter.model) == (Role.REWRITER, "m")
    assert rewriter.query.status is FieldStatus.NOT_CAPTURED


def test_a_rewriter_is_read_as_a_call():
    """Also where it was a chain."""
    _, rewriter = cast(oi("CHAIN", "x", given="P", said="R"), Role.REWRITER)
    assert (rewriter.role, rewriter.output_messages.value[0].content) == (Role.REWRITER, "R")

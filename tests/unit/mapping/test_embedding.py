"""Which embeddings are of queries and which of passages."""

from span_trees import embedding, llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.embedding import find_embeddings, is_indexing, mark_hypothetical
from otel_raglog.mapping.retrieving import find_search
from otel_raglog.model import RewriteKind, RewriteStep, StepOrigin, present


def embeddings(view):
    return find_embeddings(view, find_search(view).retrievals)


def test_wrappers_collapse(view_of):
    """An embedding around an embedding is one, with the text of either."""
    view = view_of(oi("EMBEDDING", "a", embedding("b", "q", oi("EMBEDDING", "c"))))
    (step,) = embeddings(view)
    assert (step.texts.value, len(step.origin.span_ids), step.origin.name) == (("q",), 3, "b")


def test_several_below_one_that_says_nothing(view_of):
    """Two embeddings inside a silent wrapper are two."""
    view = view_of(oi("EMBEDDING", "a", embedding("b", "q"), embedding("c", "r")))
    assert [step.texts.value for step in embeddings(view)] == [("q",), ("r",)]


def test_passages(view_of):
    """Retrieved texts and lists of other texts are passages; embeddings in rerankers are none."""
    many = {f"embedding.embeddings.{i}.embedding.text": t for i, t in enumerate(("x", "y"))}
    view = view_of(
        embedding("query", "q"),
        retriever("r", "q", "a chunk"),
        embedding("chunk", "a chunk"),
        oi("EMBEDDING", "many", attributes=many),
        oi("RERANKER", "rerank", embedding("inner", "q")),
    )
    assert [(step.origin.name, step.passage) for step in embeddings(view)] == [
        ("query", False), ("chunk", True), ("many", True),
    ]  # fmt: skip


def test_texts_embedded_at_once(view_of):
    """Of several questions' texts, those are a run's that it searched for."""
    asked = ("When does the pool open?", "What does a towel cost?")
    many = {f"embedding.embeddings.{i}.embedding.text": text for i, text in enumerate(asked)}
    view = view_of(oi("EMBEDDING", "many", attributes=many), retriever("r", asked[0], "a chunk"))
    (step,) = embeddings(view)
    assert step.texts.value == asked[:1]
    assert not step.passage


def test_hypothetical(view_of):
    """The embedding of a hypothetical answer is marked."""
    view = view_of(embedding("e", "The ferry leaves late."), embedding("e", "q"))
    rewrite = RewriteStep(
        StepOrigin(), RewriteKind.HYDE, present("q"), present(("The ferry leaves late.",))
    )
    assert [s.passage for s in mark_hypothetical(embeddings(view), [rewrite])] == [True, False]


def test_what_is_written_to_be_embedded(view_of):
    """A job that writes a context for each passage indexes; HyDE's answer is not embedded."""
    view = view_of(
        llm("m", "Situate this chunk.", "It is about fares."),
        embedding("e", "It is about fares.\n\nA bicycle costs 4 euro."),
        llm("m", "Situate this chunk.", "It is about dogs."),
        embedding("e", "It is about dogs.\n\nDogs stay on deck."),
    )
    first, last = llm_calls(view)
    assert is_indexing(embeddings(view), [first, last], last)
    assert not is_indexing((), [first, last], last)
    view = view_of(
        llm("m", "Write a passage.", "A bicycle costs 9 euro."),
        embedding("e", "A bicycle costs 9 euro."),
        llm("m", "Context: ...", "It costs 4 euro."),
    )
    first, last = llm_calls(view)
    assert not is_indexing(embeddings(view), [first, last], last)

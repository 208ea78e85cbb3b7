"""Which embeddings are of queries and which of passages."""

from span_trees import embedding, oi, retriever

from otel_raglog.mapping.embedding import find_embeddings, mark_hypothetical
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


def test_hypothetical(view_of):
    """The embedding of a hypothetical answer is marked."""
    view = view_of(embedding("e", "The ferry leaves late."), embedding("e", "q"))
    rewrite = RewriteStep(
        StepOrigin(), RewriteKind.HYDE, present("q"), present(("The ferry leaves late.",))
    )
    assert [s.passage for s in mark_hypothetical(embeddings(view), [rewrite])] == [True, False]

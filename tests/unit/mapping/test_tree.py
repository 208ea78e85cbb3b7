"""How spans become a tree, whatever their order, repetition and parents."""

from dataclasses import replace

from span_trees import oi, span, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.tree import NONE, build_tree, unique_spans


def tree_of(spans):
    facts = {s.span_id: f for s in spans if (f := read_span(s))}
    return build_tree(spans, facts)


def parents(tree):
    """Return the names of nodes with their parents' names."""
    names = {node.index: node.span.name for node in tree.nodes} | {NONE: None}
    return {node.span.name: names[node.parent] for node in tree.nodes}


def test_parents_and_subtrees():
    """Nodes are numbered in depth-first order; a subtree is a range."""
    tree = tree_of(spans_of(span("a", span("b", span("c")), span("d"))))
    assert parents(tree) == {"a": None, "b": "a", "c": "b", "d": "a"}
    assert [tree.nodes[i].span.name for i in tree.subtree(1)] == ["b", "c"]
    assert tree.contains(0, 2)
    assert not tree.contains(2, 0)
    assert list(tree.ancestors(2)) == [1, 0]


def test_the_fullest_copy_is_kept():
    """Of several copies of a span the one with the most attributes counts, in either order."""
    (poor,) = spans_of(span("a"))
    rich = replace(poor, attributes={"x": 1})
    assert unique_spans([poor, rich]) == unique_spans([rich, poor]) == [rich]


def test_circles_are_cut():
    """A span that is its own ancestor becomes a top."""
    one, two = (1).to_bytes(8, "big"), (2).to_bytes(8, "big")
    tree = tree_of(
        spans_of(
            span("a", parent=two), span("b", parent=one), span("c", id=b"c" * 8, parent=b"c" * 8)
        )
    )
    assert parents(tree) == {"a": None, "b": "a", "c": None}


def test_orphans_below_the_span_that_encloses_them():
    """A parent that was not sent is replaced by the shortest span around all its children."""
    tree = tree_of(
        spans_of(
            span("POST /ask", start=0, end=100),
            oi("CHAIN", "rag", start=10, end=90, parent=b"gone"),
            oi("LLM", "chat", start=20, end=80, parent=b"lost"),
        )
    )
    assert parents(tree) == {"POST /ask": None, "rag": "POST /ask", "chat": "rag"}


def test_siblings_do_not_swallow_each_other():
    """Two pipelines of one lost parent stay siblings though one lasts longer than the other."""
    tree = tree_of(
        spans_of(
            oi("CHAIN", "one", start=0, end=100, parent=b"gone", given="q", said="a"),
            oi("CHAIN", "two", start=10, end=90, parent=b"gone", given="q", said="a"),
            oi("CHAIN", "three", start=20, end=80, parent=b"lost", given="q", said="a"),
        )
    )
    assert parents(tree) == {"one": None, "two": None, "three": None}


def test_orphans_outside_everything_stay_tops():
    """An orphan that nothing encloses is a top of its own."""
    tree = tree_of(spans_of(span("a", start=0, end=5), span("b", start=7, end=9, parent=b"gone")))
    assert parents(tree) == {"a": None, "b": None}

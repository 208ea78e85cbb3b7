"""Views on small traces."""

import pytest
from span_trees import spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.collapse import View
from otel_raglog.mapping.roles import settle_roles
from otel_raglog.mapping.tree import NONE, build_tree


@pytest.fixture
def view_of():
    """Return a function that makes a view of all spans of nested calls."""

    def make(*roots):
        spans = spans_of(*roots)
        tree = build_tree(spans, {s.span_id: f for s in spans if (f := read_span(s))})
        roles = settle_roles(tree, tree.order, NONE)
        return View(tree, tree.order, roles, 0)

    return make

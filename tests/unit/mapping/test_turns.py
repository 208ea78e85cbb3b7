"""When flat LLM calls are the turns of a conversation."""

from span_trees import llm, span, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.tree import build_tree
from otel_raglog.mapping.turns import split_turns


def turns(*nodes):
    spans = spans_of(span("session", *nodes))
    tree = build_tree(spans, {s.span_id: f for s in spans if (f := read_span(s))})
    return len(split_turns(tree))


def test_a_new_user_message_begins_a_turn():
    """A later call that has the answer and a new user message is a new turn."""
    assert (
        turns(
            llm("m", "q1", "a1"),
            llm("m", [("user", "q1"), ("assistant", "a1"), ("user", "q2")], "a2"),
        )
        == 2
    )


def test_tool_results_do_not():
    """Tool results and observations after an output are steps of the same turn."""
    for role, text in (("tool", "a chunk"), ("user", "Observation: a chunk")):
        talk = [("user", "q1"), ("assistant", "search x"), (role, text)]
        assert turns(llm("m", "q1", "search x"), llm("m", talk, "a1")) == 1


def test_independent_calls_are_one_turn():
    """Calls that do not know one another are not split."""
    assert turns(llm("m", "rewrite q", "x"), llm("m", "answer x", "a")) == 1

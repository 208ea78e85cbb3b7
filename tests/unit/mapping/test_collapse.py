"""How nested spans of one role become logical steps."""

from span_trees import llm, oi, span

from otel_raglog.mapping.collapse import best, chains, error_of, llm_calls, nest, origin_of
from otel_raglog.model import NOT_CAPTURED, Field, FieldStatus, Role, present


def test_nesting_and_chains(view_of):
    """Wrappers with one inner span form a chain; one around two stands alone."""
    view = view_of(oi("LLM", "a", oi("LLM", "b", span("x", oi("LLM", "c")), oi("LLM", "d"))))
    nesting = nest(view.tree, view.of_role(Role.LLM))
    assert nesting.tops == (0,)
    assert nesting.children[1] == (3, 4)
    assert nesting.inside_out == (3, 4, 1, 0)
    assert chains(nesting) == ((3,), (4,))


def test_best():
    """A usable field wins, then an empty one, then the one that tells most of the loss."""
    lost = Field(None, FieldStatus.EVICTED)
    hidden = Field(None, FieldStatus.REDACTED)
    empty = Field("", FieldStatus.EMPTY)
    assert best([lost, empty, present("x")]).value == "x"
    assert best([lost, empty]) is empty
    assert best([NOT_CAPTURED, lost, hidden]) is hidden
    assert best([]) is NOT_CAPTURED


def test_llm_call(view_of):
    """A call takes messages and tokens from the innermost span, variables from any."""
    tokens = {"llm.token_count.prompt": 5}
    view = view_of(
        oi(
            "LLM",
            "predict",
            llm("chat", "the prompt", "answer", attributes=tokens),
            given={"prompt": "PromptTemplate(x)"},
            attributes={**tokens, "llm.prompt_template.variables": '{"a": "b"}'},
        )
    )
    (call,) = llm_calls(view)
    assert (call.leaf, call.nodes, call.prompt, call.output.value) == (
        1,
        (0, 1),
        "the prompt",
        "answer",
    )
    assert call.tokens.prompt == 5
    assert call.variables == {"a": "b"}


def test_origin_and_error(view_of):
    """An origin lists all its spans once; an error without a message still is one."""
    view = view_of(oi("LLM", "a", oi("LLM", "b", error="boom")))
    origin = origin_of(view, 1, [0, 1], "why")
    assert (origin.name, origin.error, len(origin.span_ids)) == ("b", "boom", 2)
    assert error_of(view.node(0)) is None


def test_what_is_under_a_role(view_of):
    """Spans enclosed by a role are found in one pass."""
    view = view_of(oi("RERANKER", "r", oi("LLM", "a")), oi("LLM", "b"))
    assert view.under(Role.RERANKER) == {1}

"""How a trace is split into runs."""

from span_trees import embedding, llm, oi, retriever, span, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.splitting import split
from otel_raglog.mapping.tree import NONE, build_tree


def parts_of(*roots):
    spans = spans_of(*roots)
    tree = build_tree(spans, {s.span_id: f for s in spans if (f := read_span(s))})
    return [
        (
            tree.nodes[part.top].span.name,
            None if part.spoken == NONE else tree.nodes[part.spoken].span.name,
            len(part.indices),
        )
        for part in split(tree)
    ]


def pipeline(name="chain", question="q?", **options):
    return oi(
        "CHAIN",
        name,
        retriever("r", question, "x"),
        llm("m", question, "a"),
        given=question,
        said="a",
        **options,
    )


def test_one_run():
    """The topmost span stands for the run, the topmost one with input for its question."""
    assert parts_of(span("POST", span("handler", pipeline()))) == [("POST", "chain", 5)]


def test_siblings():
    """Pipelines beside one another are runs; what stands between them goes with the next one."""
    parts = parts_of(span("POST", pipeline("one"), embedding("e", "q"), pipeline("two")))
    assert parts == [("one", "one", 3), ("two", "two", 4)]


def test_nested_pipelines_are_one_run():
    """A span with input of its own is one run with all within."""
    agent = oi("AGENT", "agent", pipeline("one"), pipeline("two"), given="q?", said="a")
    assert parts_of(agent) == [("agent", "agent", 7)]


def test_runs_of_a_batch_that_are_nested():
    """Begun together, each became the parent of the next: every one is a run without the others."""

    def begun(question, *inner):
        steps = (retriever("r", question, "x"), llm("m", question, "a"))
        return oi("CHAIN", "chain", *inner, *steps, given=question, said="a")

    parts = parts_of(span("POST", begun("one?", begun("two?", begun("three?")))))
    assert parts == [("chain", "chain", 3)] * 3
    same = oi(
        "CHAIN", "chain", pipeline(question="one?"), llm("m", "x", "a"), given="one?", said="a"
    )
    later = oi(
        "CHAIN", "chain", llm("m", "one?", "x"), pipeline(question="x"), given="one?", said="a"
    )
    assert len(parts_of(same)) == len(parts_of(later)) == 1


def test_an_agent_that_once_needs_no_search():
    """A sibling of the same name that answers without a search is a run as well."""
    chat = oi("AGENT", "agent", llm("m", "hi", "hello"), given="hi", said="hello")
    parts = parts_of(span("session", pipeline("agent"), chat))
    assert [part[0] for part in parts] == ["agent", "agent"]


def test_parts_of_one_pipeline_are_no_runs():
    """Nodes of a graph whose root is lost do not each search and answer: one run."""
    nodes = [
        oi("CHAIN", "rewrite", llm("m", "q", "x"), given="q", said="x"),
        oi("CHAIN", "retrieve", retriever("r", "x", "c"), given="x", said="c"),
        oi("CHAIN", "generate", llm("m", "c", "a"), given="c", said="a"),
    ]
    assert parts_of(*nodes) == [("rewrite", None, 6)]


def test_turns_below_a_plain_span():
    """Calls that continue one another's conversation are split into turns."""
    talk = [("user", "q1"), ("assistant", "a1"), ("user", "q2")]
    parts = parts_of(
        span(
            "session",
            embedding("e1", "q1"),
            llm("m1", "q1", "a1"),
            embedding("e2", "q2"),
            llm("m2", talk, "a2"),
        )
    )
    assert [(top, size) for top, _, size in parts] == [("e1", 2), ("e2", 2)]


def test_a_tool_between_calls_without_content_is_no_run():
    """The only span that says anything is not the run where it works for LLM calls beside it."""
    tool = oi("TOOL", "search_docs", given="q", said="c")
    silent = oi("LLM", "m", attributes={"llm.model_name": "m"})
    assert parts_of(span("POST /ask", silent, tool)) == [("POST /ask", None, 3)]
    assert parts_of(span("POST /ask", tool)) == [("POST /ask", "search_docs", 2)]


def test_a_pipeline_that_works_for_an_agent_is_no_run():
    """A step that searches and answers does not speak for an agent that is handed its answer."""
    inner = oi(
        "CHAIN", "engine", retriever("r", "fare", "x"), llm("m", "fare", "4 euro."), given="fare",
        said="4 euro.",
    )  # fmt: skip
    talk = [("user", "q?"), ("assistant", ""), ("tool", "4 euro.")]
    step = oi("CHAIN", "step", said="{}")
    agent = span("agent", step, inner, llm("m", talk, "It is 4 euro."))
    assert parts_of(agent) == [("agent", None, 6)]
    alone = span("agent", step, inner, llm("m", "Name this chat.", "Fares"))
    assert parts_of(alone) == [("agent", "engine", 6)]


def test_a_batch_without_content():
    """Pipelines side by side are runs though nothing tells their questions; steps are not."""

    def silent(start, *more, name="chain"):
        times = {"start": start, "end": start + 10}
        search = oi("RETRIEVER", "r", start=start, end=start + 4)
        call = oi("LLM", "m", start=start + 5, end=start + 9)
        return oi("CHAIN", name, search, call, *more, **times)

    beside = [silent(10), silent(12)]
    assert parts_of(span("POST", *beside)) == [("chain", "chain", 3)] * 2
    assert parts_of(span("POST", *reversed(beside))) == [("chain", "chain", 3)] * 2
    assert parts_of(*beside) == [("chain", "chain", 3)] * 2
    assert len(parts_of(span("POST", silent(10), silent(30)))) == 1
    assert len(parts_of(span("POST", silent(10), silent(12, name="other")))) == 1
    assert len(parts_of(span("POST", *beside, oi("LLM", "combine", start=40, end=50)))) == 1
    told = silent(12, llm("m", "q", "a", start=18, end=19))
    assert len(parts_of(span("POST", silent(10), told))) == 1

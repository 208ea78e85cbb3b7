"""Which roles count where kinds are missing or wrong."""

import json

import pytest
from span_trees import documents, llm, oi, retriever, span, spans_of

from otel_raglog.conventions.registry import read_span
from otel_raglog.mapping.collapse import origin_of
from otel_raglog.mapping.roles import called, evaluates, has_llm_evidence, is_lexical, name_of
from otel_raglog.model import Role

DOCS = [{"page_content": "x"}, {"page_content": "y"}]


@pytest.mark.parametrize(
    ("node", "role"),
    [
        (oi("TOOL", "search_docs", said="x"), Role.RETRIEVER),
        (oi("TOOL", "run", said="x", attributes={"tool.name": "query_kb"}), Role.RETRIEVER),
        (oi("TOOL", "calculator", said="4"), Role.TOOL),
        (oi("TOOL", "search", llm("chat", "q", "a")), Role.TOOL),
        (oi("TOOL", "search", retriever("r", "q")), Role.TOOL),
        (oi("CHAIN", "rerank_node", said="x"), Role.RERANKER),
        (oi("CHAIN", "Keep._postprocess_nodes", said=DOCS), Role.RERANKER),
        (oi("CHAIN", "postprocess_answer", said="x"), Role.CHAIN),
        (oi("CHAIN", "rag_with_reranker", retriever("r", "q")), Role.CHAIN),
        (
            oi("CHAIN", "grade_documents", given={"documents": DOCS}, said={"documents": DOCS[:1]}),
            Role.RERANKER,
        ),
        (
            oi("CHAIN", "Best.task", given={"query": "q", "nodes": DOCS}, said=DOCS[:1]),
            Role.RERANKER,
        ),
        (oi("CHAIN", "Best.task", given={"nodes": DOCS}, said=DOCS[:1]), Role.CHAIN),
        (oi("CHAIN", "Same.task", given={"query": "q", "nodes": DOCS}, said=DOCS), Role.CHAIN),
        (oi("CHAIN", "filter_input", given="x", said="y"), Role.CHAIN),
        (oi("CHAIN", "DocumentJoiner.run", said={"documents": DOCS}), Role.RETRIEVER),
        (oi("CHAIN", "SentenceTransformersTextEmbedder.run", given={"text": "q"}), Role.EMBEDDER),
        (oi("LLM", "PromptBuilder.run", said={"prompt": "x"}), Role.PROMPT),
        (oi("CHAIN", "retrieve", said={"documents": DOCS}), Role.RETRIEVER),
        (oi("CHAIN", "retrieve", llm("chat", "q", "a"), said="x"), Role.CHAIN),
        (llm("PromptBuilder", "q", "a"), Role.LLM),
    ],
)
def test_settled_roles(view_of, node, role):
    """The role follows from kind, name and what is inside."""
    view = view_of(oi("CHAIN", "app", node, given="q"))
    assert view.roles[1] is role


def test_a_named_search_is_none_beside_a_real_one(view_of):
    """A node called retrieve is no second retriever when a span of retriever kind is there."""
    view = view_of(oi("CHAIN", "app", retriever("r", "q", "x"), oi("CHAIN", "retrieve", said="x")))
    assert view.roles[2] is Role.CHAIN


def test_bare_llm_whose_output_becomes_the_prompt(view_of):
    """A span of kind LLM that renders the next prompt is a prompt builder by any name."""
    prompt = "Answer from the context: the ferry leaves at 22:15. When does it leave?"
    view = view_of(oi("LLM", "render", said=prompt), llm("chat", prompt, "At 22:15."))
    assert view.roles[0] is Role.PROMPT


def test_bare_llm_that_condenses(view_of):
    """A bare LLM whose output is only a small part of the next prompt is an LLM."""
    prompt = "Answer from the context: " + "the ferry leaves at 22:15. " * 5 + "When?"
    view = view_of(oi("LLM", "condense", said="When?"), llm("chat", prompt, "At 22:15."))
    assert view.roles[0] is Role.LLM


def test_evidence_names_and_words(view_of):
    """Evidence is a model, tokens or messages; names include the tool's; BM25 is lexical."""
    view = view_of(
        oi("LLM", "a", given="q", said="x"),
        llm("b", "q", "x"),
        oi(
            "RETRIEVER",
            "run",
            attributes={**documents("x"), "metadata": '{"ls_retriever_name": "bm25"}'},
        ),
        oi("TOOL", "run", attributes={"tool.name": "kb"}),
    )
    assert [has_llm_evidence(view.facts(i)) for i in (0, 1)] == [False, True]
    assert [is_lexical([view.node(i)]) for i in (2, 3)] == [True, False]
    assert name_of(view.node(3)) == "run kb"


def test_components_of_one_span_name(view_of):
    """Where all spans have the same name, the component's counts: it searches by words, joins."""
    found = json.dumps({"documents": [{"id": "a", "content": "one"}]})
    kinds = ("InMemoryBM25Retriever", "DocumentJoiner", "AnswerBuilder")
    view = view_of(
        *(
            span(
                "haystack.component.run",
                attributes={"haystack.component.type": kind, "haystack.component.output": found},
            )
            for kind in kinds
        )
    )
    assert [view.roles[i] for i in (0, 1, 2)] == [Role.RETRIEVER, Role.RETRIEVER, Role.CHAIN]
    assert called(view.node(1)) == "haystack.component.run DocumentJoiner"
    assert [is_lexical([view.node(i)]) for i in (0, 1)] == [True, False]
    assert origin_of(view, 1, [1], "why").name == "DocumentJoiner"


@pytest.mark.parametrize(
    ("node", "evaluating"),
    [
        (oi("EVALUATOR", "any"), True),
        (oi("CHAIN", "FaithfulnessEvaluator.run", said={"results": [{"score": 1.0}]}), True),
        (oi("CHAIN", "FaithfulnessEvaluator.run", said="It is fine."), False),
        (oi("CHAIN", "evaluate_documents", said={"documents": DOCS, "score": 1}), False),
        (oi("RETRIEVER", "PageEvaluator", said={"score": 1}), False),
    ],
)
def test_evaluators(node, evaluating):
    """Those of their kind, and classes named so that give back scores; no step of a graph."""
    (read,) = spans_of(node)
    assert evaluates(read, read_span(read)) is evaluating

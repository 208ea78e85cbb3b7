"""What spans of Haystack's own tracing say."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.haystack import Haystack
from otel_raglog.model import FieldStatus, Message, Role

RUN = "haystack.component.run"


def read(kind=None, given=None, back=None, name=RUN, **attributes):
    found = {"haystack.component.type": kind, "haystack.component.name": "part"} if kind else {}
    for key, value in (("input", given), ("output", back)):
        if value is not None:
            found[f"haystack.component.{key}"] = json.dumps(value)
    (one,) = spans_of(span(name, attributes={**found, **attributes}))
    return Haystack().read(one)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("OpenAITextEmbedder", Role.EMBEDDER),
        ("SentenceTransformersDocumentEmbedder", Role.EMBEDDER),
        ("InMemoryBM25Retriever", Role.RETRIEVER),
        ("MultiQueryEmbeddingRetriever", Role.RETRIEVER),
        ("SerperDevWebSearch", Role.RETRIEVER),
        ("CohereRanker", Role.RERANKER),
        ("ChatPromptBuilder", Role.PROMPT),
        ("PromptBuilder", Role.PROMPT),
        ("AnswerBuilder", Role.CHAIN),
        ("OpenAIChatGenerator", Role.LLM),
        ("OpenAIImageGenerator", Role.CHAIN),
        ("QueryExpander", Role.CHAIN),
        ("DocumentJoiner", Role.CHAIN),
        ("Agent", Role.AGENT),
        ("FaithfulnessEvaluator", Role.EVALUATOR),
    ],
)
def test_roles_of_components(kind, role):
    """All spans have one name: the class of the component tells what it does."""
    facts = read(kind)
    assert facts.role is role
    assert facts.component == f"{kind} part"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("haystack.pipeline.run", Role.CHAIN),
        ("haystack.agent.run", Role.AGENT),
        ("haystack.agent.step", Role.CHAIN),
        ("haystack.agent.step.llm", Role.LLM),
        ("haystack.agent.step.tool", Role.TOOL),
    ],
)
def test_roles_of_other_spans(name, role):
    """Pipelines and agents have names of their own, and no component."""
    facts = read(name=name)
    assert (facts.role, facts.component) == (role, None)


def test_other_spans_are_not_read():
    """A span is Haystack's by its name or a key."""
    assert read(name="GET /haystack") is None
    assert read(name="x", **{"haystack.component.visits": 1}) is not None


def test_a_pipeline():
    """What a pipeline was given is recorded even without content tracing."""
    facts = read(
        name="haystack.pipeline.run",
        **{
            "haystack.pipeline.input_data": '{"prompt": {"query": "Why?"}}',
            "haystack.pipeline.output_data": '{"llm": {"replies": ["So."]}}',
        },
    )
    assert facts.input_data == {"prompt": {"query": "Why?"}}
    assert facts.output_data == {"llm": {"replies": ["So."]}}


def test_an_embedder():
    """Text and model; the documents of an indexing pipeline are texts, too."""
    facts = read("TextEmbedder", {"text": "why?"}, {"meta": {"model": "e", "usage": {}}})
    assert (facts.embedding_texts.value, facts.model) == (("why?",), "e")
    documents = [{"id": "a", "content": "one", "blob": None}, {"id": "b", "content": None}]
    assert read("DocumentEmbedder", {"documents": documents}).embedding_texts.value == ("one",)
    nothing = read("DocumentEmbedder", {"documents": []})
    assert nothing.embedding_texts.status is FieldStatus.NOT_CAPTURED


def test_a_retriever():
    """Metadata stand among the fields of a document and are told apart."""
    document = {"page": 3, "title": "One", "id": "a", "content": "one", "blob": None, "score": 0.5}
    facts = read("InMemoryBM25Retriever", {"query": "why?", "top_k": 4}, {"documents": [document]})
    assert (facts.query.value, facts.top_k) == ("why?", 4)
    (chunk,) = facts.documents.value
    assert (chunk.id, chunk.text, chunk.score, chunk.title) == ("a", "one", 0.5, "One")
    assert chunk.metadata == {"page": 3, "title": "One"}
    written = {"id": "a", "content": "one", "blob": None, "meta": {"page": 1}}
    facts = read("InMemoryBM25Retriever", {"query": "why?"}, {"documents": [written]})
    assert facts.documents.value[0].metadata == {"page": 1}


def test_a_search_by_vector():
    """What the vector is of is not told on this span."""
    facts = read("InMemoryEmbeddingRetriever", {"query_embedding": [0.1, 0.2], "top_k": None})
    assert facts.query.status is FieldStatus.NOT_CAPTURED
    assert facts.documents.status is FieldStatus.NOT_CAPTURED


def test_a_ranker():
    """A ranker is given a query and documents, and hands on some."""
    documents = [{"id": "a", "content": "one"}, {"id": "b", "content": "two"}]
    facts = read(
        "CohereRanker", {"query": "why?", "documents": documents}, {"documents": documents[:1]}
    )
    assert facts.query.value == "why?"
    assert (len(facts.input_documents.value), len(facts.documents.value)) == (2, 1)


REPLY = {
    "role": "assistant",
    "meta": {
        "model": "m",
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
    "content": [{"text": "So."}],
}


def test_a_chat_generator():
    """Messages in parts; model, reason and tokens stand in the first reply."""
    talk = [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": "Why?"},
        {"role": "tool", "content": [{"tool_call_result": {"result": "found"}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": [{"text": "more"}]}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": {"n": 1}}}]},
    ]
    facts = read("OpenAIChatGenerator", {"messages": talk}, {"replies": [REPLY]})
    assert facts.messages.value == (
        Message("system", "Be brief."),
        Message("user", "Why?"),
        Message("tool", "found"),
        Message("tool", "more"),
        Message("tool", '{"n": 1}'),
    )
    assert facts.output_messages.value == (Message("assistant", "So."),)
    assert (facts.model, facts.finish_reason) == ("m", "stop")
    assert (facts.tokens.prompt, facts.tokens.completion) == (3, 2)


def test_generators_of_texts():
    """Generators of Haystack 2 take and give texts; what they tell of the call is beside these."""
    usage = {"input_tokens": 3, "output_tokens": 2}
    facts = read(
        "OpenAIGenerator",
        {"prompt": "Why?"},
        {"replies": ["So."], "meta": [{"model": "m", "finish_reason": "length", "usage": usage}]},
    )
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)
    assert (facts.model, facts.finish_reason, facts.tokens.prompt) == ("m", "length", 3)
    assert read("OpenAIChatGenerator", {"messages": "Why?"}).messages.value[0].content == "Why?"
    assert read("OpenAIGenerator", {}, {"replies": "x"}).model is None


def test_a_generator_that_asks_for_tools():
    """What the model asks a tool for is data."""
    call = {"tool_call": {"tool_name": "find", "arguments": {"query": "q"}, "id": "1"}}
    facts = read("OpenAIChatGenerator", {}, {"replies": [{"role": "assistant", "content": [call]}]})
    assert facts.output_data == {"tool_calls": [{"name": "find", "arguments": {"query": "q"}}]}
    assert facts.output_messages.value == (Message("assistant", ""),)


def test_hidden_messages():
    """A placeholder is not a prompt."""
    facts = read("OpenAIChatGenerator", **{"haystack.component.input": "__REDACTED__"})
    assert facts.messages.status is FieldStatus.REDACTED


def test_a_tool_of_an_agent():
    """Name, arguments and result of a tool that an agent called."""
    facts = read(
        name="haystack.agent.step.tool",
        **{
            "haystack.tool.name": "find",
            "haystack.agent.step.tool.input": '{"query": "why?"}',
            "haystack.agent.step.tool.output": "found",
        },
    )
    assert (facts.tool_name, facts.query.value, facts.output.value) == ("find", "why?", "found")


def test_without_content_tracing():
    """Then only which component ran is told."""
    facts = read("OpenAIChatGenerator")
    assert facts.messages.status is FieldStatus.NOT_CAPTURED
    assert facts.output_messages.status is FieldStatus.NOT_CAPTURED
    assert facts.model is None
    assert "HAYSTACK_CONTENT_TRACING_ENABLED" in Haystack().remedy

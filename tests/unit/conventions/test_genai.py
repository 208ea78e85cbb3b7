"""What spans of the OpenTelemetry GenAI conventions say."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.genai import WANTED, GenAi, GenAiDialect, GenAiReader
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind, SpanEvent, TokenUsage

OPERATION = "gen_ai.operation.name"


def read(attributes, name="x", events=(), **options):
    (one,) = spans_of(span(name, attributes=attributes, events=tuple(events), **options))
    return GenAi().read(one)


def talk(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("chat", Role.LLM),
        ("generate_content", Role.LLM),
        ("text_completion", Role.LLM),
        ("text_completions", Role.LLM),
        ("llm_request", Role.LLM),
        ("response", Role.LLM),
        ("Completion", Role.LLM),
        ("generate", Role.LLM),
        ("embeddings", Role.EMBEDDER),
        ("retrieval", Role.RETRIEVER),
        ("retrieve", Role.RETRIEVER),
        ("vector_db_retrieve", Role.RETRIEVER),
        ("RETRIEVER", Role.RETRIEVER),
        ("RERANKER", Role.RERANKER),
        ("CHAIN", Role.CHAIN),
        ("search_memory", Role.RETRIEVER),
        ("rerank", Role.RERANKER),
        ("execute_tool", Role.TOOL),
        ("invoke_agent", Role.AGENT),
        ("invoke_workflow", Role.CHAIN),
        ("execute_task", Role.CHAIN),
        ("agent_step", Role.CHAIN),
        ("plan", Role.CHAIN),
        ("create_agent", Role.UNKNOWN),
        ("update_memory", Role.UNKNOWN),
        ("delete_memory_store", Role.UNKNOWN),
        ("no such", Role.UNKNOWN),
    ],
)
def test_roles_by_operation(operation, role):
    """The operation tells the role, with the values that are seen beside the conventions."""
    assert read({OPERATION: operation}).role is role


@pytest.mark.parametrize(
    ("attributes", "name", "role"),
    [
        ({"gen_ai.tool.name": "find"}, "x", Role.TOOL),
        ({"gen_ai.tool.call.id": "1"}, "x", Role.TOOL),
        ({"gen_ai.retrieval.query.text": "q"}, "x", Role.RETRIEVER),
        ({"gen_ai.memory.query.text": "q"}, "x", Role.RETRIEVER),
        ({"gen_ai.rerank.top_n": 3}, "x", Role.RERANKER),
        ({"gen_ai.embeddings.dimension.count": 16, "gen_ai.request.model": "m"}, "x", "embedder"),
        ({"gen_ai.request.model": "m"}, "x", Role.LLM),
        ({"gen_ai.request.model": "m"}, "embeddings m", Role.EMBEDDER),
        ({"gen_ai.input.messages": "[]"}, "x", Role.LLM),
        ({"gen_ai.prompt.0.content": "q"}, "x", Role.LLM),
        ({"gen_ai.agent.name": "a"}, "x", Role.AGENT),
        ({"gen_ai.agent.name": "a", "gen_ai.request.model": "m"}, "x", Role.LLM),
        ({"gen_ai.workflow.name": "w", "gen_ai.input.messages": "[]"}, "x", Role.CHAIN),
        ({"gen_ai.system": "openai"}, "invoke_agent a", Role.AGENT),
        ({"gen_ai.system": "openai"}, "chat m", Role.UNKNOWN),
        ({"gen_ai.conversation.id": "c"}, "GET /", Role.UNKNOWN),
        ({"gen_ai.evaluation.name": "relevance", "gen_ai.input.messages": "[]"}, "x", "evaluator"),
        ({"gen_ai.evaluation.name": "relevance", OPERATION: "chat"}, "x", Role.LLM),
    ],
)
def test_roles_without_an_operation(attributes, name, role):
    """Without an operation the keys tell that only one kind of work has, then the name."""
    assert read(attributes, name).role == role


def test_old_events_are_of_a_model():
    """Events of messages make a span one of a model."""
    assert read({}, events=[SpanEvent("gen_ai.user.message", 0, {"content": "q"})]).role is Role.LLM


def test_judgements_are_no_content():
    """A span that only bears an evaluation says nothing; beside content it changes nothing."""
    judged = SpanEvent("gen_ai.evaluation.result", 0, {"gen_ai.evaluation.explanation": "bad"})
    assert read({}, events=[judged]) is None
    with_call = read({OPERATION: "chat", "gen_ai.output.messages": "ok"}, events=[judged])
    assert with_call.output.value == "ok"


def test_a_call():
    """Messages, system instructions, model, tokens, finish reason, conversation and user."""
    facts = read(
        {
            OPERATION: "chat",
            "gen_ai.request.model": "asked",
            "gen_ai.response.model": "answered",
            "gen_ai.system_instructions": "Be brief.",
            "gen_ai.input.messages": talk("user", "Why?"),
            "gen_ai.output.messages": talk("assistant", "Because."),
            "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 2,
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.conversation.id": "c1",
            "gen_ai.prompt.variable.topic": "ferries",
            "gen_ai.request.top_k": 40,
            "enduser.id": "u1",
        }
    )
    assert facts.messages.value == (Message("system", "Be brief."), Message("user", "Why?"))
    assert facts.output_messages.value == (Message("assistant", "Because."),)
    assert (facts.input.value, facts.output.value) == ("Be brief.\n\nWhy?", "Because.")
    assert (facts.model, facts.finish_reason) == ("answered", "stop")
    assert facts.tokens == TokenUsage(5, 2)
    assert (facts.session_id, facts.user_id, facts.top_k) == ("c1", "u1", None)
    assert facts.prompt_variables == {"topic": "ferries"}


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"gen_ai.response.finish_reasons": '["length"]'}, "length"),
        ({"gen_ai.response.finish_reasons": "length"}, "length"),
        ({"gen_ai.response.finish_reason": "FinishReason.LENGTH"}, "length"),
        ({"gen_ai.response.finish_reasons": (), "gen_ai.completion.0.finish_reason": "x"}, "x"),
        ({}, None),
    ],
)
def test_finish_reasons(attributes, reason):
    """A list, a JSON list, one word or an enum's name; else that of the message."""
    assert read({OPERATION: "chat", **attributes}).finish_reason == reason


def test_older_names_of_tokens():
    """Prompt and completion tokens are the older names, and there may be a total."""
    usage = {"gen_ai.usage.prompt_tokens": "5", "gen_ai.usage.completion_tokens": 2}
    total = {"llm.usage.total_tokens": 7}
    assert read({OPERATION: "chat", **usage, **total}).tokens == TokenUsage(5, 2, 7)


def test_calls_of_tools_are_data():
    """What a model asks tools for is kept, since it may be a rewritten question."""
    call = {"type": "tool_call", "name": "find", "arguments": '{"query": "q"}'}
    said = json.dumps([{"role": "assistant", "parts": [call]}])
    facts = read({OPERATION: "chat", "gen_ai.output.messages": said})
    assert facts.output_data == {"tool_calls": [{"name": "find", "arguments": '{"query": "q"}'}]}


@pytest.mark.parametrize("top_k", ["gen_ai.request.top_k", "gen_ai.retrieval.top_k"])
def test_a_retrieval(top_k):
    """Query, number of results, and documents with texts as extras, structured or as JSON."""
    documents = (
        {"id": "a", "score": 0.9, "content": "one", "metadata": {"page": 1}},
        {"id": "b", "score": 0.5, "content": "two"},
    )
    for written in (documents, json.dumps(documents)):
        facts = read(
            {
                OPERATION: "retrieval",
                "gen_ai.retrieval.query.text": "why?",
                "gen_ai.retrieval.documents": written,
                top_k: 2,
            }
        )
        assert (facts.query.value, facts.top_k, facts.structured_documents) == ("why?", 2, True)
        assert [(c.id, c.text, c.score, c.score_kind) for c in facts.documents.value] == [
            ("a", "one", 0.9, ScoreKind.SIMILARITY),
            ("b", "two", 0.5, ScoreKind.SIMILARITY),
        ]
        assert facts.documents.value[0].metadata == {"page": 1}


def test_documents_of_ids_alone():
    """Ids without texts and scores are documents whose texts were not captured."""
    written = '[{"id": "id1", "score": null}, {"id": "id0", "score": null}]'
    facts = read({OPERATION: "retrieval", "gen_ai.retrieval.documents": written})
    assert [(c.id, c.score, c.text_status) for c in facts.documents.value] == [
        ("id1", None, FieldStatus.NOT_CAPTURED),
        ("id0", None, FieldStatus.NOT_CAPTURED),
    ]


@pytest.mark.parametrize(
    ("attributes", "options", "status"),
    [
        ({}, {}, FieldStatus.NOT_CAPTURED),
        ({}, {"dropped": 2}, FieldStatus.EVICTED),
        ({"gen_ai.retrieval.documents": "[]"}, {}, FieldStatus.EMPTY),
        ({"gen_ai.retrieval.documents": "__REDACTED__"}, {}, FieldStatus.REDACTED),
        ({"gen_ai.retrieval.documents": '[{"id": "a", "con'}, {}, FieldStatus.TRUNCATED),
        ({"gen_ai.retrieval.documents": "[7]"}, {}, FieldStatus.NOT_CAPTURED),
    ],
)
def test_why_there_are_no_documents(attributes, options, status):
    """Nothing found is not the same as nothing recorded."""
    facts = read({OPERATION: "retrieval", **attributes}, **options)
    assert facts.documents.status is status


def test_a_memory():
    """A search of memories is a retrieval: its records are documents."""
    facts = read(
        {
            OPERATION: "search_memory",
            "gen_ai.memory.query.text": "why?",
            "gen_ai.memory.records": '[{"id": "m", "content": "one", "score": 0.4}]',
        }
    )
    assert (facts.role, facts.query.value) == (Role.RETRIEVER, "why?")
    assert facts.documents.value[0].text == "one"


@pytest.mark.parametrize("mark", ["input_documents", "input.documents"])
def test_a_reranking(mark):
    """The proposed operation: query, candidates, selection with scores, and how many."""
    facts = read(
        {
            OPERATION: "rerank",
            "gen_ai.rerank.query.text": "why?",
            f"gen_ai.rerank.{mark}": '[{"id": "a", "content": "one"}, {"id": "b", "content": "two"}]',
            "gen_ai.rerank.output_documents": '[{"id": "b", "content": "two", "score": 0.9}]',
            "gen_ai.rerank.top_n": 1,
            "gen_ai.request.model": "m",
        }
    )
    assert (facts.query.value, facts.top_k, facts.model) == ("why?", 1, "m")
    assert [chunk.id for chunk in facts.input_documents.value] == ["a", "b"]
    (kept,) = facts.documents.value
    assert (kept.text, kept.score, kept.score_kind) == ("two", 0.9, ScoreKind.SIMILARITY)


def test_a_reranking_by_messages():
    """Without keys of its own, the query of a reranking is what was said to it."""
    facts = read({OPERATION: "rerank", "gen_ai.input.messages": talk("user", "why?")})
    assert facts.query.value == "why?"
    assert facts.input_documents.status is FieldStatus.NOT_CAPTURED


def test_an_embedding():
    """The text is not captured, unless it is written as a message."""
    facts = read({OPERATION: "embeddings", "gen_ai.request.model": "m"})
    assert (facts.embedding_texts.status, facts.model) == (FieldStatus.NOT_CAPTURED, "m")
    told = read({OPERATION: "embeddings", "gen_ai.input.messages": talk("user", "why?")})
    assert told.embedding_texts.value == ("why?",)
    empty = read({OPERATION: "embeddings", "gen_ai.input.messages": talk("user", "")})
    assert empty.embedding_texts.value is None


@pytest.mark.parametrize("arguments", ['{"query": "why?"}', {"query": "why?"}])
def test_a_tool(arguments):
    """Arguments and result of a tool, as JSON or structured."""
    facts = read(
        {
            OPERATION: "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": '[{"id": "a", "text": "one"}]',
        }
    )
    assert (facts.role, facts.tool_name, facts.query.value) == (Role.TOOL, "find", "why?")
    assert facts.documents.value[0].text == "one"
    assert not facts.structured_documents


def test_an_agent():
    """Messages of an agent or a workflow are its input and output."""
    facts = read(
        {
            OPERATION: "invoke_agent",
            "gen_ai.input.messages": talk("user", "Why?"),
            "gen_ai.output.messages": talk("assistant", "Because."),
        }
    )
    assert facts.input_data == {"messages": [{"role": "user", "content": "Why?"}]}
    assert (facts.output.value, facts.output_data) == ("Because.", None)
    assert facts.messages.status is FieldStatus.NOT_CAPTURED
    several = json.dumps(
        [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    )
    state = read({OPERATION: "invoke_workflow", "gen_ai.output.messages": several})
    assert len(state.output_data["messages"]) == 2
    shaped = read(
        {OPERATION: "invoke_agent", "gen_ai.output.messages": talk("x", '{"answer": "a"}')}
    )
    assert shaped.output_data == {"answer": "a"}


def test_foreign_spans():
    """A span without a key of these conventions is not read."""
    assert read({"http.method": "GET"}) is None


class Dialect(GenAiDialect):
    """A sender with a key of its own, which is not on all of its spans."""

    name = "dialect"
    title = "Dialect"
    wanted = WANTED
    remedy = ""
    reader = GenAiReader
    marker_prefixes = ("dialect.",)
    sender_scopes = ("dialect.tracer",)


@pytest.mark.parametrize(
    ("attributes", "scope", "its"),
    [
        ({"gen_ai.operation.name": "chat"}, "dialect.tracer", True),
        ({"gen_ai.operation.name": "chat"}, "dialect.tracer.openai", True),
        ({"gen_ai.operation.name": "chat"}, "dialect.tracers", False),
        ({"gen_ai.operation.name": "chat"}, "other", False),
        ({"dialect.kind": "chat"}, "other", True),
        ({"http.route": "/"}, "dialect.tracer", False),
    ],
)
def test_a_dialect_is_told_by_its_keys_or_by_who_sent_the_span(attributes, scope, its):
    """A GenAI span of its scope is its own; an ordinary span of that scope is not."""
    (one,) = spans_of(span("x", attributes=attributes, scope=scope))
    facts = Dialect().read(one)
    assert (facts is not None) is its
    assert facts is None or facts.convention == "dialect"

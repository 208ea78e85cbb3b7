"""What is held for the conventions, and which one reads a span."""

import pytest
from span_trees import oi, span, spans_of

from otel_raglog.conventions import registry
from otel_raglog.conventions.registry import (
    BUILT_IN,
    marker_prefixes,
    read_span,
    recognise,
    unread_keys,
)
from otel_raglog.conventions.vocabularies import Vocabulary
from otel_raglog.model import Role


@pytest.mark.parametrize(
    "key",
    [
        "openinference.span.kind",
        "input.value",
        "retrieval.documents.0.document.id",
        "llm.token_count.prompt",
        "gen_ai.operation.name",
        "traceloop.span.kind",
        "llm.request.type",
        "db.vector.query.top_k",
        "db.chroma.query.n_results",
        "pinecone.query.top_k",
        "langfuse.observation.type",
        "ai.operationId",
        "ai.toolCall.result",
        "haystack.component.type",
        "RetrievalEndEvent",
        "genkit:name",
    ],
)
def test_what_is_held(key):
    """Keys of read and of unread vocabularies mark a span as one to hold."""
    assert key.startswith(marker_prefixes())


@pytest.mark.parametrize("key", ["http.request.method", "db.statement", "db.system", "rpc.service"])
def test_what_leaves_at_once(key):
    """Keys of ordinary spans do not."""
    assert not key.startswith(marker_prefixes())
    assert not any(
        name.startswith(BUILT_IN.marker_names()) for name in ("GET /search", "query", "chat m")
    )


def test_what_is_held_by_its_statement():
    """Spans of databases are held when their statement searches for vectors."""
    assert BUILT_IN.value_keys() == ("db.query.text", "db.statement")
    assert {"<=>", "knn"} <= set(BUILT_IN.value_parts())
    assert {"insert", "update", "copy"} <= set(BUILT_IN.value_exclusions())


def test_what_is_held_by_its_scope():
    """All spans of LlamaIndex's own integration are: half of them have nothing but a name."""
    assert BUILT_IN.marker_scopes() == ("llamaindex.opentelemetry.tracer",)


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        ("opentelemetry.instrumentation.openai.v1", "traceloop"),
        ("mlflow.tracing.provider", "mlflow"),
        ("gen_ai", "vercel_ai"),
        ("pydantic-ai", "pydantic_ai"),
        ("org.springframework.boot", "spring_ai"),
        ("semantic_kernel.functions.kernel_function", "semantic_kernel"),
        ("litellm", "litellm"),
        ("openlit.instrumentation.chroma", "openlit"),
        ("opentelemetry.instrumentation.genai.openai", "genai"),
        ("opentelemetry.instrumentation.openai_v2", "genai"),
        ("a.tracer.of.ours", "genai"),
    ],
)
def test_a_span_with_genai_keys_alone_is_its_senders(scope, name):
    """With the sender's name and remedy; what it says stays the same."""
    talk = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"content": "yes"}]'}
    (one,) = spans_of(span("chat m", attributes=talk, scope=scope))
    facts = read_span(one)
    assert facts.convention == name
    assert facts.role is Role.LLM
    assert [message.content for message in facts.output_messages.value] == ["yes"]


def test_dual_emission_is_read_once():
    """A span that speaks OpenInference and GenAI is read as OpenInference."""
    (both,) = spans_of(oi("LLM", "chat", attributes={"gen_ai.operation.name": "chat"}))
    assert read_span(both).convention == "openinference"


def test_recognise(monkeypatch):
    """The more specific of two unread vocabularies is named, with all unread keys."""
    unread = (Vocabulary("narrow", ("zz.narrow.",)), Vocabulary("wide", ("zz.",)))
    monkeypatch.setattr(registry, "UNREAD", unread)
    (read,) = spans_of(span("x", attributes={"zz.narrow.a": "task", "zz.b": "o"}))
    assert read_span(read) is None
    assert recognise(read) == "narrow"
    assert unread_keys(read) == ("zz.b", "zz.narrow.a")
    (plain,) = spans_of(span("GET /"))
    assert recognise(plain) is None

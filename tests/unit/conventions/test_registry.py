"""What is held for the conventions, and which one reads a span."""

import pytest
from span_trees import oi, span, spans_of

from otel_raglog.conventions.registry import (
    marker_names,
    marker_prefixes,
    read_span,
    recognise,
    unread_keys,
)


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
    ],
)
def test_what_is_held(key):
    """Keys of read and of unread vocabularies mark a span as one to hold."""
    assert key.startswith(marker_prefixes())


@pytest.mark.parametrize("key", ["http.request.method", "db.statement", "db.system", "rpc.service"])
def test_what_leaves_at_once(key):
    """Keys of ordinary spans do not."""
    assert not key.startswith(marker_prefixes())
    assert marker_names() == ()


def test_dual_emission_is_read_once():
    """A span that speaks OpenInference and GenAI is read as OpenInference."""
    (both,) = spans_of(oi("LLM", "chat", attributes={"gen_ai.operation.name": "chat"}))
    assert read_span(both).convention == "openinference"


def test_recognise():
    """The more specific of two unread vocabularies is named, with all unread keys."""
    (read,) = spans_of(span("x", attributes={"traceloop.span.kind": "task", "gen_ai.system": "o"}))
    assert read_span(read) is None
    assert recognise(read) == "OpenLLMetry"
    assert unread_keys(read) == ("gen_ai.system", "traceloop.span.kind")
    (plain,) = spans_of(span("GET /"))
    assert recognise(plain) is None

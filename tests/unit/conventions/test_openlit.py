"""What spans of OpenLIT say beside the GenAI conventions."""

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.openlit import OpenLit
from otel_raglog.model import FieldStatus, Role

OPERATION = "gen_ai.operation.name"


def read(attributes, name="x"):
    (one,) = spans_of(span(name, attributes=attributes))
    return OpenLit().read(one)


@pytest.mark.parametrize(
    ("attributes", "name", "role"),
    [
        ({OPERATION: "chat", "openlit.agent.version_hash": "1"}, "chat m", Role.LLM),
        (
            {OPERATION: "vectordb", "db.sdk.version": "1", "db.operation.name": "QUERY"},
            "x",
            "retriever",
        ),
        (
            {OPERATION: "vectordb", "db.sdk.version": "1", "db.operation.name": "ADD"},
            "x",
            "unknown",
        ),
        ({OPERATION: "memory", "gen_ai.memory.search.query": "q"}, "x", Role.RETRIEVER),
        ({OPERATION: "retrieval", "gen_ai.retrieval.source": "s"}, "x", Role.RETRIEVER),
        ({OPERATION: "retrieval", "gen_ai.sdk.version": "1"}, "graph_get_state", Role.CHAIN),
        ({OPERATION: "retrieval", "gen_ai.sdk.version": "1"}, "query_engine_query", Role.CHAIN),
    ],
)
def test_roles(attributes, name, role):
    """A query of a vector database retrieves; query engines and graph states do not."""
    assert read(attributes, name).role == role


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("texts=['why?']", "why?"),
        ("texts=['a', 'b']", None),
        ("texts=oops", None),
        ("embeddings=1 vectors", None),
    ],
)
def test_queries_of_vector_databases(written, query):
    """The text of a query stands in a description, if the database was asked with texts."""
    facts = read(
        {
            OPERATION: "vectordb",
            "db.sdk.version": "1",
            "db.operation.name": "GET",
            "db.vector.query.top_k": 3,
            "db.query.text": written,
        }
    )
    assert (facts.query.value, facts.top_k) == (query, 3)
    assert facts.documents.status is FieldStatus.NOT_CAPTURED


def test_searches_of_memories():
    """What is looked for in a memory, and how much of it."""
    facts = read(
        {
            OPERATION: "memory",
            "gen_ai.memory.search.query": "why?",
            "gen_ai.memory.search.limit": 5,
        }
    )
    assert (facts.query.value, facts.top_k) == ("why?", 5)
    named = {OPERATION: "vectordb", "gen_ai.vectordb.search.query": "why?"}
    assert read(named).query.value == "why?"


def test_without_a_query():
    """A search of which nothing was written has no query."""
    attributes = {OPERATION: "vectordb", "db.sdk.version": "1", "db.n_results": 2}
    assert read(attributes).query.status is FieldStatus.NOT_CAPTURED


def test_foreign_spans():
    """Spans that OpenLIT did not write are not read."""
    assert read({OPERATION: "chat"}) is None
    assert read({"db.sdk.version": "1"}) is None


def test_genai_keys_alone_are_known_by_the_scope():
    """Versions differ in the keys that they add."""
    scope = "openlit.instrumentation.openai"
    (one,) = spans_of(span("chat m", attributes={OPERATION: "chat"}, scope=scope))
    assert OpenLit().read(one).role is Role.LLM

"""What spans of Spring AI say beside the GenAI conventions."""

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.spring_ai import SpringAi
from otel_raglog.model import FieldStatus, Role

KIND = "spring.ai.kind"


def read(attributes, name="x"):
    (one,) = spans_of(span(name, attributes=attributes))
    return SpringAi().read(one)


@pytest.mark.parametrize(
    ("attributes", "name", "role"),
    [
        ({KIND: "chat_client"}, "x", Role.CHAIN),
        ({"gen_ai.operation.name": "framework"}, "spring_ai chat_client", Role.CHAIN),
        ({KIND: "advisor"}, "question_answer", Role.CHAIN),
        ({KIND: "tool_call"}, "x", Role.TOOL),
        ({KIND: "vector_store", "db.operation.name": "query"}, "x", Role.RETRIEVER),
        ({KIND: "vector_store", "db.operation.name": "add"}, "x", Role.UNKNOWN),
        ({"spring.ai.model.request.tool.names": "[]", "gen_ai.operation.name": "chat"}, "x", "llm"),
    ],
)
def test_roles(attributes, name, role):
    """The kind tells the role; of a vector store only the query retrieves."""
    assert read(attributes, name).role == role


def test_a_vector_store():
    """The query and how many were asked for are written as texts, what was found is not."""
    facts = read(
        {KIND: "vector_store", "db.vector.query.content": "why?", "db.vector.query.top_k": "4"}
    )
    assert (facts.query.value, facts.top_k) == ("why?", 4)
    assert facts.documents.status is FieldStatus.NOT_CAPTURED
    written = read(
        {KIND: "vector_store", "db.vector.query.response.documents": '[{"id": "a", "text": "one"}]'}
    )
    assert written.documents.value[0].text == "one"


def test_a_client_of_the_milestones():
    """Texts of the user and the system were on the client's span, the session in parameters."""
    facts = read(
        {
            KIND: "chat_client",
            "spring.ai.chat.client.user.text": "Why?",
            "spring.ai.chat.client.system.text": "Be brief.",
            "spring.ai.chat.client.advisor.params": '["chat_memory_conversation_id":"123"]',
        }
    )
    assert [m["content"] for m in facts.input_data["messages"]] == ["Be brief.", "Why?"]
    assert facts.session_id == "123"
    hidden = read({KIND: "chat_client", "spring.ai.chat.client.user.text": "__REDACTED__"})
    assert hidden.input.status is FieldStatus.REDACTED


def test_the_session():
    """The conversation has a key of its own since 1.0."""
    facts = read({KIND: "chat_client", "spring.ai.chat.client.conversation.id": "c1"})
    assert facts.session_id == "c1"
    assert read({KIND: "chat_client"}).session_id is None


def test_a_tool():
    """Tools have their own names for arguments and results."""
    facts = read(
        {
            KIND: "tool_call",
            "spring.ai.tool.definition.name": "find",
            "spring.ai.tool.call.arguments": '{"query": "why?"}',
            "spring.ai.tool.call.result": "found",
        }
    )
    assert (facts.tool_name, facts.query.value) == ("find", "why?")
    assert facts.documents.value[0].text == "found"


def test_foreign_spans():
    """Spans of models alone, which only have keys of the GenAI conventions, are not read here."""
    assert read({"gen_ai.operation.name": "chat"}) is None


def test_calls_of_models_are_known_by_the_scope():
    """They follow the GenAI conventions, with no key of Spring's."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    for attributes, role in ((chat, Role.LLM), ({"http.route": "/ask"}, None)):
        (one,) = spans_of(span("x", attributes=attributes, scope="org.springframework.boot"))
        facts = SpringAi().read(one)
        assert (facts.role if facts else None) is role

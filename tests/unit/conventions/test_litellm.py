"""What spans of LiteLLM's own tracing say."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.litellm import RAW, LiteLlm
from otel_raglog.model import FieldStatus, Message, Role


def read(attributes, name="chat m"):
    (one,) = spans_of(span(name, attributes=attributes))
    return LiteLlm().read(one)


@pytest.mark.parametrize(
    ("attributes", "name", "role"),
    [
        ({"litellm.call_type": "acompletion"}, "x", Role.LLM),
        ({"litellm.call_type": "arerank", "gen_ai.operation.name": "chat"}, "x", Role.RERANKER),
        ({"litellm.call_type": "avector_store_search"}, "x", Role.RETRIEVER),
        ({"litellm.call_type": "anthropic_messages"}, "x", Role.LLM),
        ({"litellm.call_type": "aspeech", "gen_ai.operation.name": "y"}, "x", Role.UNKNOWN),
        ({"litellm.call_id": "1", "llm.request.type": "aembedding"}, "x", Role.EMBEDDER),
        ({"gen_ai.operation.name": "arerank"}, "litellm_request", Role.RERANKER),
        ({"litellm.call_id": "1"}, "execute_guardrail pii", Role.GUARDRAIL),
        ({"litellm.call_id": "1"}, "auth /chat", Role.UNKNOWN),
    ],
)
def test_roles(attributes, name, role):
    """The type of the call tells the role, and is asked before the operation."""
    assert read(attributes, name).role is role


def test_a_reranking():
    """The result is one text of places and scores, with the texts where these were returned."""
    said = "[2] 0.9\nTwo lines\n\nof text\n\n[0] -1.5"
    facts = read(
        {
            "litellm.call_type": "rerank",
            "gen_ai.input.messages": '[{"role": "user", "content": "why?"}]',
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": said}]),
        }
    )
    assert facts.query.value == "why?"
    assert [(c.text, c.score, c.metadata["index"]) for c in facts.documents.value] == [
        ("Two lines\n\nof text", 0.9, 2),
        ("", -1.5, 0),
    ]
    assert facts.documents.value[1].text_status is FieldStatus.NOT_CAPTURED
    assert read({"litellm.call_type": "rerank"}).documents.status is FieldStatus.NOT_CAPTURED
    other = {"litellm.call_type": "rerank", "gen_ai.output.messages": "no list"}
    assert read(other).documents.status is FieldStatus.NOT_CAPTURED


def test_raw_chats():
    """A raw request holds what was sent and got, as Python writes it."""
    facts = read(
        {
            "llm.openai.model": "m",
            "llm.openai.messages": "[{'role': 'user', 'content': 'Why?'}]",
            "llm.openai.choices": "[{'finish_reason': 'stop', 'message': {'content': 'So.'}}]",
        },
        RAW,
    )
    assert (facts.role, facts.model, facts.finish_reason) == (Role.LLM, "m", "stop")
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)
    plain = read({"llm.x.prompt": "Why?"}, RAW)
    assert plain.messages.value == (Message("user", "Why?"),)
    assert plain.output_messages.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize(
    ("written", "texts"), [("['a', 'b']", ("a", "b")), ("a", ("a",)), ("[[1, 2]]", None)]
)
def test_raw_embeddings(written, texts):
    """One text or a list of them; token ids are no texts."""
    facts = read({"llm.None.input": written, "llm.None.data": "[]"}, RAW)
    assert (facts.role, facts.embedding_texts.value) == (Role.EMBEDDER, texts)


def test_raw_rerankings():
    """Query and candidates are in the request; the response may name places alone."""
    facts = read(
        {
            "llm.cohere.query": "why?",
            "llm.cohere.documents": "['one', {'text': 'two'}]",
            "llm.cohere.top_n": 1,
            "llm.cohere.results": "[{'index': 1, 'relevance_score': 0.8}]",
        },
        RAW,
    )
    assert (facts.role, facts.query.value, facts.top_k) == (Role.RERANKER, "why?", 1)
    assert [chunk.text for chunk in facts.input_documents.value] == ["one", "two"]
    assert [(c.text, c.score) for c in facts.documents.value] == [("two", 0.8)]


@pytest.mark.parametrize(
    ("results", "status"),
    [
        (None, FieldStatus.NOT_CAPTURED),
        ("[]", FieldStatus.EMPTY),
        ("[7]", FieldStatus.NOT_CAPTURED),
        ("text", FieldStatus.NOT_CAPTURED),
    ],
)
def test_raw_rerankings_without_results(results, status):
    """Nothing selected is not the same as nothing recorded."""
    attributes = {"llm.c.query": "q", "llm.c.documents": "['one']"}
    if results is not None:
        attributes["llm.c.results"] = results
    assert read(attributes, RAW).documents.status is status


@pytest.mark.parametrize(
    ("documents", "status"),
    [
        ("[]", FieldStatus.EMPTY),
        ("[7]", FieldStatus.NOT_CAPTURED),
        ("text", FieldStatus.NOT_CAPTURED),
        ("__REDACTED__", FieldStatus.REDACTED),
    ],
)
def test_raw_candidates_that_are_none(documents, status):
    """Candidates may be none, hidden, or no list."""
    facts = read({"llm.c.query": "q", "llm.c.documents": documents}, RAW)
    assert facts.input_documents.status is status


def test_other_raw_requests():
    """The responses API has an input as well; other requests are of no known kind."""
    responses = {"llm.openai.input": "Why?", "llm.openai.output": "[{'content': 'So.'}]"}
    facts = read(responses, RAW)
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)
    unknown = read({"llm.x.file": "f"}, RAW)
    assert (unknown.role, unknown.top_k) == (Role.UNKNOWN, None)


def test_foreign_spans():
    """Spans on which LiteLLM did not write are not read."""
    assert read({"gen_ai.operation.name": "chat"}) is None


def test_genai_keys_alone_are_known_by_the_scope():
    """The span of a call need not have a key of LiteLLM's own."""
    chat = {"gen_ai.operation.name": "chat"}
    (one,) = spans_of(span("chat m", attributes=chat, scope="litellm"))
    assert LiteLlm().read(one).role is Role.LLM

"""What an OpenInference span says of models, prompts, embeddings, tokens and sessions."""

import pytest
from span_trees import embedding, llm, messages, oi, span, spans_of

from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.model import FieldStatus, Message, Role, TokenUsage


def read(node):
    (found,) = spans_of(node)
    return OpenInference().read(found)


def test_spans_of_others_are_not_read():
    """A span without an OpenInference key is left to other conventions."""
    assert read(span("x", attributes={"llm.request.type": "chat", "gen_ai.system": "x"})) is None


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("LLM", Role.LLM),
        ("embedding", Role.EMBEDDER),
        ("Retriever", Role.RETRIEVER),
        ("DECISION", Role.UNKNOWN),
    ],
)
def test_kinds_in_any_case(kind, role):
    """Kinds are read in any case; unknown ones are unknown."""
    assert read(oi(kind, "x")).role is role


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("retrieval.documents.0.document.id", Role.RETRIEVER),
        ("reranker.query", Role.RERANKER),
        ("embedding.embeddings.0.embedding.text", Role.EMBEDDER),
        ("llm.model_name", Role.LLM),
        ("input.value", Role.UNKNOWN),
    ],
)
def test_role_without_a_kind(key, role):
    """An evicted kind is told by the other keys."""
    assert read(span("x", attributes={key: "x"})).role is role


def test_llm():
    """Model, messages, answer, tokens, finish reason and session of a chat call."""
    facts = read(
        llm(
            "chat",
            [("system", "s"), ("user", "u")],
            "a",
            attributes={
                "llm.response.model_name": "m-2026",
                "llm.token_count.prompt": 5,
                "llm.token_count.completion": "2",
                "llm.finish_reason": "length",
                "session.id": "s1",
                "user.id": 7,
            },
        )
    )
    assert facts.model == "m-2026"
    assert facts.messages.value == (Message("system", "s"), Message("user", "u"))
    assert facts.output_messages.value == (Message("assistant", "a"),)
    assert facts.tokens == TokenUsage(5, 2, None)
    assert (facts.finish_reason, facts.session_id, facts.user_id) == ("length", "s1", "7")


@pytest.mark.parametrize(
    "attributes",
    [
        {"llm.prompts": ("the prompt",)},
        {"llm.prompts": '["the prompt"]'},
        {"llm.prompts": "the prompt"},
        {"llm.prompts.0.prompt.text": "the prompt"},
        {"input.value": '{"args": ["the prompt"], "kwargs": {}}'},
        {"input.value": "the prompt"},
    ],
)
def test_prompts_in_old_and_plain_forms(attributes):
    """Completion prompts are read in every form."""
    facts = read(oi("LLM", "x", attributes=attributes))
    assert facts.messages.value == (Message("user", "the prompt"),)


@pytest.mark.parametrize(
    "attributes",
    [
        {"llm.choices.0.completion.text": "the answer"},
        {"output.value": "assistant: the answer"},
        {"output.value": '{"choices": [{"message": {"content": "the answer"}}]}'},
    ],
)
def test_answers_in_old_and_plain_forms(attributes):
    """Answers are read in every form."""
    facts = read(oi("LLM", "x", attributes=attributes))
    assert facts.output_messages.value[0].content == "the answer"


def test_tool_calls_become_output_data():
    """A response that only calls tools has empty text, and the calls as data."""
    key = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    facts = read(
        oi(
            "LLM",
            "x",
            attributes={
                "llm.output_messages.0.message.role": "assistant",
                f"{key}.name": "s",
                f"{key}.arguments": "{}",
            },
        )
    )
    assert facts.output_data == {"tool_calls": [{"name": "s", "arguments": "{}"}]}
    assert facts.output_messages.value[0].content == ""


def test_prompt_template():
    """Template variables are texts, others are written as JSON, hidden ones are left out."""
    facts = read(
        oi(
            "PROMPT",
            "x",
            attributes={
                "llm.prompt_template.template": "{a}",
                "llm.prompt_template.variables": '{"a": "x", "b": ["y"], "c": "__REDACTED__"}',
            },
        )
    )
    assert facts.prompt_variables == {"a": "x", "b": '["y"]'}


def test_embedding():
    """Embedded texts come from their keys, else from the input; token ids are no text."""
    assert read(embedding("e", "x")).embedding_texts.value == ("x",)
    assert read(oi("EMBEDDING", "e", given={"query": "x"})).embedding_texts.value == ("x",)
    ids = read(
        oi("EMBEDDING", "e", attributes={"embedding.embeddings.0.embedding.text": "[[1, 2]]"})
    )
    assert ids.embedding_texts.status is FieldStatus.NOT_CAPTURED


def test_unknown_is_no_model():
    """LlamaIndex writes "unknown" where it knows no model."""
    assert read(oi("LLM", "x", attributes={"llm.model_name": "unknown"})).model is None


def test_dropped_messages():
    """Messages beside a hidden input are redacted; on a span that lost attributes, evicted."""
    assert read(oi("LLM", "x", given="__REDACTED__")).messages.status is FieldStatus.REDACTED
    assert read(oi("LLM", "x", dropped=3)).messages.status is FieldStatus.EVICTED
    assert read(oi("LLM", "x")).messages.status is FieldStatus.NOT_CAPTURED


def test_gaps_in_messages():
    """Messages of which some were evicted are cut."""
    kept = {
        key.replace(".1.", ".3."): value
        for key, value in messages(("user", "a"), ("user", "b")).items()
    }
    facts = read(oi("LLM", "x", attributes=kept))
    assert facts.messages.status is FieldStatus.TRUNCATED
    assert facts.loss.gaps == ("llm.input_messages",)
